public import GenBackend
import Running

/// The options and arguments of one command, by name.
public struct ParsedValues: Sendable {
  let command: CommandDescription
  /// Arguments without a name, in order.
  public var positionals: [String] = []
  private var texts: [String: [String]] = [:]
  private var flags: [String: Bool] = [:]

  init(command: CommandDescription) { self.command = command }

  mutating func set(_ option: CommandOption, _ value: Bool) { flags[option.name] = value }

  mutating func add(_ option: CommandOption, _ value: String) throws(UsageError) {
    if let allowed = option.values, !allowed.contains(value) {
      throw UsageError(
        "The value '\(value)' is invalid for '\(option.usage)'. Please provide one of \(allowed.joined(separator: ", "))"
          + (Suggestion.nearest(to: value, among: allowed).map { ". Did you mean '\($0)'?" } ?? ""))
    }
    if option.isRepeatable { texts[option.name, default: []].append(value) } else { texts[option.name] = [value] }
  }

  func checkCounts() throws(UsageError) {
    for option in command.options where option.isRequired && texts[option.name] == nil {
      throw UsageError("Missing expected argument '\(option.usage)'")
    }
    let required = command.arguments.filter { !$0.isOptional }
    if positionals.count < required.count {
      throw UsageError("Missing expected argument '<\(required[positionals.count].name)>'")
    }
    if !command.arguments.contains(where: \.isRepeatable), positionals.count > command.arguments.count {
      let extra = positionals.dropFirst(command.arguments.count).map { "'\($0)'" }
      throw UsageError(
        extra.count == 1
          ? "Unexpected argument \(extra[0])" : "\(extra.count) unexpected arguments: \(extra.joined(separator: ", "))")
    }
  }

  private func option(_ name: String) -> CommandOption {
    guard let option = command.options.first(where: { $0.name == name }) else {
      preconditionFailure("command \(command.name) has no option --\(name)")
    }
    return option
  }

  private func invalid(_ name: String, _ value: String, _ expected: String) -> UsageError {
    UsageError("The value '\(value)' is invalid for '\(option(name).usage)': expected \(expected)")
  }

  /// Whether a flag was given; nil when neither it nor its opposite was.
  public func flag(_ name: String) -> Bool? {
    assert(option(name).name == name)
    return flags[name]
  }

  /// Whether an option was given in any form.
  func isSet(_ name: String) -> Bool { texts[name] != nil || flags[name] != nil }

  /// The text of an option; nil when absent.
  public func string(_ name: String) -> String? {
    assert(option(name).name == name)
    return texts[name]?.last
  }

  /// The texts of an option, once for each time that it was given.
  public func strings(_ name: String) -> [String] { texts[name] ?? [] }

  /// The texts of an option: repeated, and cut at commas.
  public func list(_ name: String) -> [String] {
    (texts[name] ?? []).flatMap { $0.split(separator: ",").map { $0.trimmingSpaces() } }.filter { !$0.isEmpty }
  }

  /// A whole number within limits; nil when absent.
  public func int(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
    guard let text = string(name) else { return nil }
    return try int(text, name, in: range)
  }

  /// Whole numbers within limits, separated by commas.
  public func ints(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> [Int] {
    var numbers: [Int] = []
    for text in list(name) { numbers.append(try int(text, name, in: range)) }
    return numbers
  }

  private func int(_ text: String, _ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int {
    guard let value = Int(text), range.contains(value) else {
      throw invalid(
        name, text,
        range.upperBound == .max
          ? "a whole number of at least \(range.lowerBound)" : "a whole number in \(range.lowerBound)...\(range.upperBound)")
    }
    return value
  }

  /// A finite number within limits; nil when absent.
  public func double(_ name: String, in range: ClosedRange<Double>) throws(UsageError) -> Double? {
    guard let text = string(name) else { return nil }
    guard let value = Double(text), value.isFinite, range.contains(value) else {
      let isOpen = range.upperBound == .greatestFiniteMagnitude
      throw invalid(
        name, text, isOpen ? "a number of at least \(range.lowerBound)" : "a number in \(range.lowerBound)...\(range.upperBound)")
    }
    return value
  }

  /// A seed: 0...2^64-1, or a negative number as its two's complement; nil when absent.
  public func seed(_ name: String) throws(UsageError) -> UInt64? {
    guard let text = string(name) else { return nil }
    if let value = UInt64(text) { return value }
    if let value = Int64(text) { return UInt64(bitPattern: value) }
    throw invalid(name, text, "a whole number of 64 bits")
  }

  /// Sizes such as `512x768`, or `512` for both, separated by commas.
  public func sizes(_ name: String) throws(UsageError) -> [ImageSize] {
    var sizes: [ImageSize] = []
    for text in list(name) {
      let parts = text.lowercased().split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
      guard let width = parts.first ?? nil, let height = parts.last ?? nil, parts.count <= 2, width > 0, height > 0,
        width <= 16_384, height <= 16_384
      else { throw invalid(name, text, "WIDTHxHEIGHT of 1...16384 pixels, such as 512x768") }
      sizes.append(ImageSize(width: width, height: height))
    }
    return sizes
  }
}
