public import Tensors

/// An engine that also computes single operators and blocks on given tensors, so that they can be judged apart.
public protocol OperatorBackend: GenBackend {
  /// The operators and blocks that it knows.
  ///
  /// - Throws: ``BackendError`` when the engine can't be reached.
  var operators: [String] { get async throws }

  /// Computes one of them.
  ///
  /// - Parameters:
  ///   - operation: A name of ``operators``.
  ///   - attributes: The operator's settings as the text of a JSON object.
  ///   - inputs: By name.
  /// - Returns: The outputs by name, and what the computation alone took in ns; nil when the engine doesn't tell.
  /// - Throws: ``BackendError``: `notSupported`, `invalidInput`, `processingFailed`.
  func compute(_ operation: String, attributes: String, inputs: [String: Tensor]) async throws -> OperatorResult
}

/// What an operator computed.
public struct OperatorResult: Sendable {
  /// The outputs by name.
  public var outputs: [String: Tensor]
  /// The computation alone, in ns; nil when it isn't known.
  public var elapsedNs: UInt64?

  /// Makes a result.
  public init(outputs: [String: Tensor], elapsedNs: UInt64?) {
    self.outputs = outputs
    self.elapsedNs = elapsedNs
  }
}
