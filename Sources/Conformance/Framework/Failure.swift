/// An error of an SDK, translated from its code alone.
public struct Failure<Code: Hashable & Sendable>: Error, Sendable, Hashable, CustomStringConvertible {
  /// The code; nil when it's none of the documented ones.
  public var code: Code?
  /// The group of the code; nil when the SDK has none.
  public var category: String?
  /// The message.
  public var message: String

  /// Makes a failure.
  public init(_ code: Code?, category: String? = nil, message: String = "") {
    self.code = code
    self.category = category
    self.message = message
  }

  /// The code and the message.
  public var description: String { "\(code.map { "\($0)" } ?? "an undocumented code"): \(message)" }
}

/// An error of an SDK in RunAnywhere's shape.
public typealias SDKFailure = Failure<ErrorCode>

/// The codes of RunAnywhere's documentation, and those that it leaves open; an SDK's own ones are `other`.
public enum ErrorCode: Sendable, Hashable, CustomStringConvertible {
  case notInitialized, modelNotFound, modelLoadFailed, invalidInput, notSupported, busy, cancelled, outOfMemory,
    processingFailed
  case other(String)

  /// The code of a name.
  public init(_ name: String) {
    let documented: [ErrorCode] = [
      .notInitialized, .modelNotFound, .modelLoadFailed, .invalidInput, .notSupported, .busy, .cancelled, .outOfMemory,
      .processingFailed,
    ]
    self = documented.first { $0.description == name } ?? .other(name)
  }

  /// The name.
  public var description: String {
    switch self {
    case .notInitialized: "notInitialized"
    case .modelNotFound: "modelNotFound"
    case .modelLoadFailed: "modelLoadFailed"
    case .invalidInput: "invalidInput"
    case .notSupported: "notSupported"
    case .busy: "busy"
    case .cancelled: "cancelled"
    case .outOfMemory: "outOfMemory"
    case .processingFailed: "processingFailed"
    case .other(let name): name
    }
  }
}
