public import Tensors

/// An engine's inner parts, for goldens of operators, blocks and stages; the owner of an engine writes the adapter.
public protocol NumericsImplementation: Sendable {
  /// What reports call it.
  var name: String { get }

  /// Computes what a golden case asks for.
  ///
  /// - Returns: The results in the order in which they're computed, under the names of the case's own tensors; nil when the
  ///   engine doesn't have the operator on its own, which skips the case.
  func outputs(of golden: GoldenCase) async throws -> [NumericOutput]?
}

/// One tensor that was computed for a golden case.
public struct NumericOutput: Sendable {
  /// The name of the golden's tensor: `output.sample`, `block.down_blocks.0.resnets.0`.
  public var name: String
  /// What was computed; its shape may differ from the golden's where only the layout of the same elements does.
  public var tensor: Tensor
  /// The row of the golden's slowest axis that it's the whole of; nil is all rows.
  ///
  /// Trajectories are compared step by step, so that small late samples aren't hidden by large early ones.
  public var row: Int?
  /// A tolerance of its own; nil is the case's.
  public var tolerance: GoldenCase.Tolerance?

  /// Makes an output.
  public init(_ name: String, _ tensor: Tensor, row: Int? = nil, tolerance: GoldenCase.Tolerance? = nil) {
    self.name = name
    self.tensor = tensor
    self.row = row
    self.tolerance = tolerance
  }
}
