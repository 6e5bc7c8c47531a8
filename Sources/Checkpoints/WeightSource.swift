public import Tensors

/// Weights by name, from whatever file holds them.
public protocol WeightSource: Sendable {
  /// What messages call it: a path as a rule.
  var location: String { get }

  /// The names of all weights, sorted.
  var weightNames: [String] { get }

  /// The weight of a name, or nil.
  func weight(named name: String) -> WeightView?
}

extension WeightSource {
  /// The weight of a name and shape.
  ///
  /// - Throws: ``CheckpointError`` `.invalid` when it's absent or has another shape.
  public func requireWeight(named name: String, shape: Shape) throws(CheckpointError) -> WeightView {
    guard let view = weight(named: name) else {
      throw CheckpointError(
        .invalid, file: location,
        "tensor '\(name)' is missing (expected shape \(shape)); is the file complete and of this model family?")
    }
    guard view.shape == shape else {
      throw CheckpointError(
        .invalid, file: location,
        "tensor '\(name)': expected shape \(shape), found \(view.shape); the weights don't belong to this configuration")
    }
    return view
  }
}
