internal import Foundation

/// A fault that is put into the operators on purpose, so that harnesses can show that they find it.
///
/// Written `slow:conv2d:2ms` (each call takes so much longer), `wrong:groupnorm` (results are 2 % too large),
/// `crash:linear:50` (the process dies in the 50th call) or `hang:attention:10` (the 10th call never returns).
public struct KernelFault: Sendable, Hashable, CustomStringConvertible {
  /// The environment variable that holds a list of faults, separated by commas.
  public static let variable = "GENBENCH_FAULT"

  /// What goes wrong.
  public enum Kind: Sendable, Hashable {
    /// Each call takes so many nanoseconds longer.
    case slow(nanoseconds: UInt64)
    /// Results are multiplied by this factor.
    case wrong(factor: Float)
    /// The process ends by a trap in the call of this number, from 1.
    case crash(call: Int)
    /// The call of this number, from 1, never returns.
    case hang(call: Int)
  }

  /// The operators that can have one.
  public enum Operator: String, Sendable, Hashable, CaseIterable {
    case linear, conv2d, groupnorm, layernorm, rmsnorm, attention, geglu, activate, add, concatenate, upsample
  }

  /// What goes wrong.
  public var kind: Kind
  /// Where.
  public var target: Operator

  /// Makes a fault.
  public init(_ kind: Kind, in target: Operator) {
    self.kind = kind
    self.target = target
  }

  /// Reads a list of faults; an empty text is none.
  ///
  /// - Throws: ``KernelSelectionError`` when a fault isn't written as above.
  public static func parse(_ text: String) throws(KernelSelectionError) -> [KernelFault] {
    var faults: [KernelFault] = []
    for item in text.split(separator: ",") { faults.append(try KernelFault(parsing: String(item))) }
    return faults
  }

  private init(parsing text: String) throws(KernelSelectionError) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { $0.lowercased() }
    func refuse(_ expected: String) -> KernelSelectionError {
      KernelSelectionError(
        code: .invalidFault,
        description: "\(Self.variable): expected \(expected), found '\(text)'; unset it to measure the engine as it is")
    }
    let name = parts.count > 1 ? parts[1].replacingOccurrences(of: "_", with: "") : ""
    guard (2...3).contains(parts.count), let target = Operator(rawValue: name) else {
      throw refuse(
        "slow:OPERATOR:2ms, wrong:OPERATOR, crash:OPERATOR:N or hang:OPERATOR:N with one of "
          + Operator.allCases.map(\.rawValue).joined(separator: ", "))
    }
    let value = parts.count == 3 ? parts[2] : nil
    self.target = target
    switch parts[0] {
    case "slow":
      guard let nanoseconds = value.flatMap(Self.duration) else { throw refuse("a duration such as 2ms, 500us or 1s") }
      kind = .slow(nanoseconds: nanoseconds)
    case "wrong":
      guard let factor = value == nil ? 1.02 : value.flatMap({ Float($0) }), factor.isFinite else { throw refuse("a factor") }
      kind = .wrong(factor: factor)
    case "crash", "hang":
      guard let call = value == nil ? 1 : value.flatMap({ Int($0) }), call >= 1 else {
        throw refuse("the number of a call, from 1")
      }
      kind = parts[0] == "crash" ? .crash(call: call) : .hang(call: call)
    default: throw refuse("slow, wrong, crash or hang")
    }
  }

  /// `2ms` in nanoseconds; nil for anything else, and for more than an hour.
  private static func duration(_ text: String) -> UInt64? {
    for (unit, scale) in [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)] where text.hasSuffix(unit) {
      guard let number = Double(text.dropLast(unit.count)), number > 0, number * scale <= 3.6e12 else { return nil }
      return UInt64(number * scale)
    }
    return nil
  }

  /// As it's written.
  public var description: String {
    switch kind {
    case .slow(let nanoseconds):
      "slow:\(target.rawValue):\(nanoseconds % 1_000_000 == 0 ? "\(nanoseconds / 1_000_000)ms" : "\(nanoseconds)ns")"
    case .wrong(let factor): "wrong:\(target.rawValue)\(factor == 1.02 ? "" : ":\(factor)")"
    case .crash(let call): "crash:\(target.rawValue):\(call)"
    case .hang(let call): "hang:\(target.rawValue):\(call)"
    }
  }
}
