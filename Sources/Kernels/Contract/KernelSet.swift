public import Tensors

/// The operators that the networks are built from.
///
/// `KernelsReference` is the plain scalar set, the `KernelsFast…` targets the SIMD and threaded one; they share this
/// signature and agree within the tolerance of each operator's test.
///
/// Activations of images are channels-last inside the networks, `[N, H, W, C]`: a 1×1 convolution, a linear layer and an
/// attention projection are then the same matrix product on rows of `C` elements, and no transpose is needed between
/// convolutions and transformer blocks. Sequences are `[B, T, D]`.
///
/// Shapes are checked where data comes in (when a model is loaded and when a request is accepted); here they are
/// invariants, and a violation traps.
public protocol KernelSet: Sendable {
  /// How the set calls itself in reports: `reference`, `fast-x86-64-v3`.
  var name: String { get }

  /// How many threads it uses.
  var threadCount: Int { get }

  /// The set with other arithmetic in its matrix products; nil where it doesn't have it.
  func with(_ precision: Precision) -> (any KernelSet)?

  /// The set with operators that may return early, with meaningless results, once the token is cancelled.
  ///
  /// Whoever runs them checks the token before using results.
  func stopping(at token: CancellationToken) -> any KernelSet

  /// Wraps the weight of a linear layer, `[outFeatures, inFeatures]`; a set may add a packed form.
  func prepareLinear(_ weight: WeightView) -> LinearWeight

  /// Wraps the weight of a convolution, `[Cout, Cin, kH, kW]`; a set may add a packed or transformed form.
  func prepareConv2d(_ weight: WeightView) -> ConvWeight

  /// `activation(input · weightᵀ + bias) + residual`; equals `torch.nn.functional.linear`.
  ///
  /// - Parameters:
  ///   - input: `[..., K]`.
  ///   - weight: `[N, K]`.
  ///   - bias: `[N]`.
  ///   - residual: `[..., N]`, added after the activation.
  /// - Returns: `[..., N]`.
  func linear(_ input: Tensor, weight: LinearWeight, bias: Tensor?, activation: Activation, residual: Tensor?) -> Tensor

  /// Several linear layers of one input, `[..., K]`, as queries, keys and values are; each result is `[..., N]`.
  func linears(_ input: Tensor, _ layers: [LinearParameters]) -> [Tensor]

  /// `activation(gate(input)) · up(input)`, element by element: a gated feed-forward's first half.
  ///
  /// Shazeer 2020, arXiv:2002.05202: SwiGLU with SiLU, GEGLU with GELU.
  ///
  /// - Parameters:
  ///   - input: `[..., K]`.
  ///   - gate: `[N, K]`.
  ///   - up: `[N, K]`.
  /// - Returns: `[..., N]`.
  func gatedLinear(_ input: Tensor, gate: LinearParameters, up: LinearParameters, activation: Activation) -> Tensor

  /// 2-D cross-correlation; equals `torch.nn.functional.conv2d` (groups 1, dilation 1).
  ///
  /// - Parameters:
  ///   - input: `[N, H, W, Cin]`.
  ///   - weight: `[Cout, Cin, kH, kW]`.
  ///   - options: Stride and padding.
  ///   - bias: `[Cout]`.
  ///   - imageBias: `[N, Cout]`, added to every pixel of its image: the time embedding of a resnet block.
  ///   - residual: `[N, H', W', Cout]`, added last.
  /// - Returns: `[N, H', W', Cout]`.
  func conv2d(
    _ input: Tensor, weight: ConvWeight, options: ConvOptions, bias: Tensor?, imageBias: Tensor?, residual: Tensor?
  ) -> Tensor

  /// Normalises each group of channels of each image: `activation((x - mean) / sqrt(variance + epsilon) * weight + bias)`.
  ///
  /// Wu & He 2018, arXiv:1803.08494, eq. 1; equals `torch.nn.GroupNorm`, followed by the activation.
  ///
  /// - Parameters:
  ///   - input: `[N, ..., C]`.
  ///   - groupCount: Divides C.
  ///   - weight: Scale per channel, `[C]`.
  ///   - bias: Shift per channel, `[C]`.
  func groupNorm(
    _ input: Tensor, groupCount: Int, weight: Tensor, bias: Tensor, epsilon: Float, activation: Activation
  ) -> Tensor

  /// Mean and spread of each channel of each image of `[N, ..., C]`; the first half of a group norm.
  func channelStatistics(_ input: Tensor) -> ChannelStatistics

  /// `activation((x - center) · scale + shift)` for each channel of `[N, ..., C]`; the second half of a group norm.
  func normalize(_ input: Tensor, by factors: ChannelFactors, activation: Activation) -> Tensor

  /// A convolution of a map that is normalised, activated and enlarged as it is read, so that no such map is ever in memory.
  ///
  /// - Parameters:
  ///   - input: `[N, H, W, Cin]`.
  ///   - stage: What happens to the input first; zero padding stays zero.
  ///   - weight: `[Cout, Cin, kH, kW]`.
  ///   - options: Stride and padding of the map that the stage makes.
  ///   - bias: `[Cout]`.
  ///   - imageBias: `[N, Cout]`, added to every pixel of its image.
  ///   - residual: `[N, H', W', Cout]`, added last.
  /// - Returns: `[N, H', W', Cout]`.
  func conv2d(
    _ input: Tensor, after stage: ConvInputStage, weight: ConvWeight, options: ConvOptions, bias: Tensor?, imageBias: Tensor?,
    residual: Tensor?
  ) -> Tensor

  /// Normalises the last axis, `[..., C]`; equals `torch.nn.LayerNorm`.
  func layerNorm(_ input: Tensor, weight: Tensor, bias: Tensor, epsilon: Float) -> Tensor

  /// `x / sqrt(mean(x²) + epsilon) * weight` over the last axis; Zhang & Sennrich 2019, arXiv:1910.07467.
  func rmsNorm(_ input: Tensor, weight: Tensor, epsilon: Float) -> Tensor

  /// Scaled dot-product attention; equals `torch.nn.functional.scaled_dot_product_attention`.
  ///
  /// - Parameters:
  ///   - query: `[B, Tq, heads · D]`.
  ///   - key: `[B, Tk, keyValueHeads · D]`.
  ///   - value: `[B, Tk, keyValueHeads · D]`.
  ///   - options: Head counts, scale, mask.
  /// - Returns: `[B, Tq, heads · D]`.
  func attention(query: Tensor, key: Tensor, value: Tensor, options: AttentionOptions) -> Tensor

  /// `value * gelu(gate)` of `[..., 2D]`, the value in the first half; exact (erf) GELU. Shazeer 2020, arXiv:2002.05202.
  func geglu(_ input: Tensor) -> Tensor

  /// An activation, element by element.
  func activate(_ input: Tensor, _ activation: Activation) -> Tensor

  /// The sum of two equally shaped tensors.
  func add(_ left: Tensor, _ right: Tensor) -> Tensor

  /// Tensors joined along their last axis: the skip connections of a UNet.
  func concatenateChannels(_ parts: [Tensor]) -> Tensor

  /// Rows `range` of maps, `[N, …, W, C]`, that lie one below the other.
  ///
  /// - Parameters:
  ///   - parts: Maps of equal images, width and channels; at least one.
  ///   - range: Rows of all parts together.
  /// - Returns: `[N, range.count, W, C]`.
  func joinRows(_ parts: [Tensor], range: Range<Int>) -> Tensor

  /// `[N, H, W, C]` enlarged to `[N, 2H, 2W, C]`, each pixel repeated; equals `interpolate(scale_factor=2, mode="nearest")`.
  func upsampleNearest2x(_ input: Tensor) -> Tensor
}

extension KernelSet {
  /// A set that always finishes.
  public func stopping(at token: CancellationToken) -> any KernelSet { self }

  /// Single precision only.
  public func with(_ precision: Precision) -> (any KernelSet)? { precision == .f32 ? self : nil }

  /// ``linear(_:weight:bias:activation:residual:)`` without the parts that are seldom used.
  public func linear(_ input: Tensor, weight: LinearWeight, bias: Tensor? = nil, activation: Activation = .none) -> Tensor {
    linear(input, weight: weight, bias: bias, activation: activation, residual: nil)
  }

  /// ``conv2d(_:weight:options:bias:imageBias:residual:)`` without the parts that are seldom used.
  public func conv2d(_ input: Tensor, weight: ConvWeight, options: ConvOptions, bias: Tensor? = nil) -> Tensor {
    conv2d(input, weight: weight, options: options, bias: bias, imageBias: nil, residual: nil)
  }

  /// The stage's operators, then the convolution.
  public func conv2d(
    _ input: Tensor, after stage: ConvInputStage, weight: ConvWeight, options: ConvOptions, bias: Tensor?, imageBias: Tensor?,
    residual: Tensor?
  ) -> Tensor {
    conv2d(applied(stage, to: input), weight: weight, options: options, bias: bias, imageBias: imageBias, residual: residual)
  }

  /// The map that a stage makes, by operators of its own.
  public func applied(_ stage: ConvInputStage, to input: Tensor) -> Tensor {
    var map = input
    if let factors = stage.factors {
      map = normalize(map, by: factors, activation: stage.activation)
    } else if stage.activation != .none {
      map = activate(map, stage.activation)
    }
    return stage.enlarges ? upsampleNearest2x(map) : map
  }

  /// The layers one after the other.
  public func linears(_ input: Tensor, _ layers: [LinearParameters]) -> [Tensor] {
    layers.map { linear(input, weight: $0.weight, bias: $0.bias, activation: .none, residual: nil) }
  }

  /// The two layers, and their product.
  public func gatedLinear(_ input: Tensor, gate: LinearParameters, up: LinearParameters, activation: Activation) -> Tensor {
    var result = linear(input, weight: gate.weight, bias: gate.bias, activation: activation, residual: nil)
    result.multiply(by: linear(input, weight: up.weight, bias: up.bias, activation: .none, residual: nil))
    return result
  }

  /// Tensors joined along their last axis.
  public func concatenateChannels(_ parts: [Tensor]) -> Tensor { Tensor.concatenatedLastAxis(parts) }

  /// Rows `range` of maps that lie one below the other.
  public func joinRows(_ parts: [Tensor], range: Range<Int>) -> Tensor { Tensor.joinedRows(parts, range: range) }

  /// A prepared weight that is just the view.
  public func prepareLinear(_ weight: WeightView) -> LinearWeight { LinearWeight(view: weight) }

  /// A prepared weight that is just the view.
  public func prepareConv2d(_ weight: WeightView) -> ConvWeight { ConvWeight(view: weight) }
}

/// Kernels that can tell what their arithmetic units reach when nothing else holds them up.
public protocol PeakMeasurable {
  /// Floating-point operations a nanosecond (1e9 a second) of single-precision multiplication-additions on all threads; takes
  /// some tens of milliseconds.
  func floatingPointPeak() -> Double
}
