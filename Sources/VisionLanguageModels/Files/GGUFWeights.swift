import Checkpoints
import KernelContract
import Tensors

/// Hands out the weights of a GGUF file and checks their shapes.
struct GGUFWeights {
  let source: any WeightSource
  let kernels: any KernelSet

  /// A weight as it lies in the file.
  func view(_ name: String, _ shape: Shape) throws(CheckpointError) -> WeightView {
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
