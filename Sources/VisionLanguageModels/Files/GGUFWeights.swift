import Checkpoints
import KernelContract
import Tensors

/// Hands out the weights of a GGUF file and checks their shapes.
struct GGUFWeights {
  let source: any WeightSource
  let kernels: any KernelSet
  private let asked = AskedNames()

  /// The names that were asked for, shared by the copies of a ``GGUFWeights``.
  private final class AskedNames { var names: Set<String> = [] }

  init(source: any WeightSource, kernels: any KernelSet) {
    self.source = source
    self.kernels = kernels
  }

  /// Refuses tensors that the network didn't ask for: without them it would be another one than the file's.
  func requireAllUsed() throws(CheckpointError) {
    let surplus = source.weightNames.filter { !asked.names.contains($0) }
    guard !surplus.isEmpty else { return }
    let shown = surplus.prefix(3).map { "'\($0)'" }.joined(separator: ", ")
    throw CheckpointError(
      .unsupported, file: source.location,
      "\(surplus.count) tensor(s) that the network run here has no place for, \(shown)\(surplus.count > 3 ? " and others" : ""); "
        + "without them it would answer wrongly")
  }

  /// A weight as it lies in the file.
  func view(_ name: String, _ shape: Shape) throws(CheckpointError) -> WeightView {
    asked.names.insert(name)
    let view = try source.requireWeight(named: name, shape: shape)
    guard view.dtype.isFloatingPoint else {
      throw CheckpointError(
        .invalid, file: source.location, "tensor '\(name)': expected real numbers, found \(view.dtype.rawValue)")
    }
    return view
  }

  /// A small weight as `Float`s; must be finite.
  func tensor(_ name: String, _ shape: Shape) throws(CheckpointError) -> Tensor {
    let tensor = try view(name, shape).float32()
    guard !tensor.hasNonFinite else {
      throw CheckpointError(.invalid, file: source.location, "tensor '\(name)' holds NaN or infinite values; the file is damaged")
    }
    return tensor
  }

  /// A linear layer `name.weight`, with `name.bias` where there is one.
  ///
  /// - Parameter bias: Whether the layer must have a bias; nil takes it when it's there.
  func linear(_ name: String, from inFeatures: Int, to outFeatures: Int, bias: Bool? = nil) throws(CheckpointError) -> Linear {
    let weight = kernels.prepareLinear(try view(name + ".weight", [outFeatures, inFeatures]))
    let hasBias = bias ?? (source.weight(named: name + ".bias") != nil)
    return Linear(weight: weight, bias: hasBias ? try tensor(name + ".bias", [outFeatures]) : nil)
  }

  /// A layer norm `name.weight`, `name.bias`.
  func layerNorm(_ name: String, width: Int, epsilon: Float) throws(CheckpointError) -> LayerNorm {
    LayerNorm(
      weight: try tensor(name + ".weight", [width]), bias: try tensor(name + ".bias", [width]), epsilon: epsilon)
  }
}

/// A linear layer; equals `torch.nn.Linear`.
struct Linear: Sendable {
  let weight: LinearWeight
  let bias: Tensor?

  var parameters: LinearParameters { LinearParameters(weight: weight, bias: bias) }

  func callAsFunction(
    _ input: Tensor, _ context: ExecutionContext, activation: Activation = .none, residual: Tensor? = nil
  ) -> Tensor {
    context.kernels.linear(input, weight: weight, bias: bias, activation: activation, residual: residual)
  }
}

/// Layer normalisation of the last axis; equals `torch.nn.LayerNorm`.
struct LayerNorm: Sendable {
  let weight: Tensor
  let bias: Tensor
  let epsilon: Float

  func callAsFunction(_ input: Tensor, _ context: ExecutionContext) -> Tensor {
    context.kernels.layerNorm(input, weight: weight, bias: bias, epsilon: epsilon)
  }
}
