import Checkpoints
import KernelContract
import Tensors

/// A linear layer; equals `torch.nn.Linear`.
struct Linear: Sendable {
  let weight: LinearWeight
  let bias: Tensor?

  init(_ loader: ParameterLoader, inFeatures: Int, outFeatures: Int, hasBias: Bool = true) throws(CheckpointError) {
    weight = loader.kernels.prepareLinear(try loader.weight("weight", [outFeatures, inFeatures]))
    bias = hasBias ? try loader.tensor("bias", [outFeatures]) : nil
  }

  func callAsFunction(
    _ input: Tensor, _ context: ExecutionContext, activation: Activation = .none, residual: Tensor? = nil
  ) -> Tensor {
    context.kernels.linear(input, weight: weight, bias: bias, activation: activation, residual: residual)
  }
}

/// Two linear layers in one weight, values first, then gates: `value · gelu(gate)`; equals diffusers' `GEGLU`.
struct GatedLinear: Sendable {
  private let value: LinearParameters
  private let gate: LinearParameters

  init(_ loader: ParameterLoader, inFeatures: Int, outFeatures: Int) throws(CheckpointError) {
    let weight = try loader.weight("weight", [2 * outFeatures, inFeatures])
    let bias = try loader.tensor("bias", [2 * outFeatures])
    func half(_ first: Int) -> LinearParameters {
      let range = first..<(first + outFeatures)
      return LinearParameters(
        weight: loader.kernels.prepareLinear(weight.rows(range)),
        bias: Tensor(shape: [outFeatures]) { target in
          bias.withUnsafeBuffer { _ = target.initialize(from: $0[range]) }
        })
    }
    value = half(0)
    gate = half(outFeatures)
  }

  func callAsFunction(_ input: Tensor, _ context: ExecutionContext) -> Tensor {
    context.kernels.gatedLinear(input, gate: gate, up: value, activation: .gelu)
  }
}

/// A convolution on `[N, H, W, C]`; equals `torch.nn.Conv2d`.
struct Conv2d: Sendable {
  let weight: ConvWeight
  let bias: Tensor?
  let options: ConvOptions

  init(
    _ loader: ParameterLoader, inChannels: Int, outChannels: Int, kernel: Int, options: ConvOptions, hasBias: Bool = true
  ) throws(CheckpointError) {
    weight = loader.kernels.prepareConv2d(try loader.weight("weight", [outChannels, inChannels, kernel, kernel]))
    bias = hasBias ? try loader.tensor("bias", [outChannels]) : nil
    self.options = options
  }

  func callAsFunction(
    _ input: Tensor, _ context: ExecutionContext, imageBias: Tensor? = nil, residual: Tensor? = nil
  ) -> Tensor {
    context.kernels.conv2d(input, weight: weight, options: options, bias: bias, imageBias: imageBias, residual: residual)
  }

  /// The convolution of a normalised and activated map, which is never made.
  func callAsFunction(
    _ input: Tensor, _ context: ExecutionContext, after norm: GroupNorm, imageBias: Tensor? = nil, residual: Tensor? = nil
  ) -> Tensor {
    let factors = norm.factors(context.kernels.channelStatistics(input))
    return context.kernels.conv2d(
      input, after: ConvInputStage(factors: factors, activation: .silu), weight: weight, options: options, bias: bias,
      imageBias: imageBias, residual: residual)
  }
}

/// Group normalisation over `[N, ..., C]`; equals `torch.nn.GroupNorm`.
struct GroupNorm: Sendable {
  let weight: Tensor
  let bias: Tensor
  let groupCount: Int
  let epsilon: Float

  init(_ loader: ParameterLoader, channels: Int, groupCount: Int, epsilon: Float) throws(CheckpointError) {
    weight = try loader.tensor("weight", [channels])
    bias = try loader.tensor("bias", [channels])
    self.groupCount = groupCount
    self.epsilon = epsilon
  }

  func callAsFunction(_ input: Tensor, _ context: ExecutionContext) -> Tensor {
    context.kernels.groupNorm(
      input, groupCount: groupCount, weight: weight, bias: bias, epsilon: epsilon, activation: .none)
  }

  /// What the norm does to each channel of a map with these statistics.
  func factors(_ statistics: ChannelStatistics) -> ChannelFactors {
    ChannelFactors(statistics, groupCount: groupCount, weight: weight, bias: bias, epsilon: epsilon)
  }
}

/// Layer normalisation of the last axis; equals `torch.nn.LayerNorm`.
struct LayerNorm: Sendable {
  let weight: Tensor
  let bias: Tensor
  let epsilon: Float

  init(_ loader: ParameterLoader, features: Int, epsilon: Float) throws(CheckpointError) {
    weight = try loader.tensor("weight", [features])
    bias = try loader.tensor("bias", [features])
    self.epsilon = epsilon
  }

  func callAsFunction(_ input: Tensor, _ context: ExecutionContext) -> Tensor {
    context.kernels.layerNorm(input, weight: weight, bias: bias, epsilon: epsilon)
  }
}

extension ExecutionContext {
  /// Runs one block: looks at the cancellation first, shows the output to the observer afterwards.
  ///
  /// - Throws: `CancelledError`.
  func block(_ name: String, _ body: () throws -> Tensor) throws -> Tensor {
    try cancellation.check()
    let output = try body()
    // A cancelled operator's result means nothing.
    try cancellation.check()
    observe(name, output)
    return output
  }

  /// Shows a block's output to the observer, images as `[N, C, H, W]`.
  func observe(_ name: String, _ output: Tensor) {
    observeBlock?(name) { output.shape.rank == 4 ? output.channelsFirst() : output }
  }
}
