public import KernelContract
import Synchronization
public import Tensors

/// An operator at one shape: enough to run it alone.
public enum OperatorShape: Sendable, Hashable {
  /// `[rows, depth] · [columns, depth]ᵀ`.
  case linear(rows: Int, depth: Int, columns: Int)
  /// `activation([rows, depth] · [columns, depth]ᵀ) ⊙ ([rows, depth] · [columns, depth]ᵀ)`.
  case gatedLinear(rows: Int, depth: Int, columns: Int, activation: Activation)
  /// A convolution of `[images, height, width, channels]`.
  case conv2d(
    images: Int, height: Int, width: Int, channels: Int, outChannels: Int, kernelHeight: Int, kernelWidth: Int,
    options: ConvOptions)
  /// A convolution of `[images, height, width, channels]` after a stage that normalises, activates or enlarges what is read.
  case stagedConv2d(
    images: Int, height: Int, width: Int, channels: Int, outChannels: Int, kernelHeight: Int, kernelWidth: Int,
    options: ConvOptions, normalizes: Bool, activation: Activation, enlarges: Bool)
  /// Mean and spread of the channels of `[images, pixels, channels]`.
  case channelStatistics(images: Int, pixels: Int, channels: Int)
  /// So many rows of `[images, rows, width, channels]` joined.
  case joinRows(images: Int, rows: Int, width: Int, channels: Int)
  /// Group normalisation of `[images, pixels, channels]`.
  case groupNorm(images: Int, pixels: Int, channels: Int, groups: Int, activation: Activation)
  /// Layer normalisation of `[rows, width]`.
  case layerNorm(rows: Int, width: Int)
  /// Attention of `[batch, queries, heads · headWidth]` over `keys` keys.
  case attention(batch: Int, queries: Int, keys: Int, heads: Int, headWidth: Int, isCausal: Bool)
  /// `value · gelu(gate)` of `[rows, 2 · width]`.
  case geglu(rows: Int, width: Int)
  /// An activation of so many elements.
  case activate(Activation, count: Int)
  /// A sum of so many elements.
  case add(count: Int)
  /// Rows of the given widths joined.
  case concatenate(rows: Int, widths: [Int])
  /// `[images, height, width, channels]` enlarged twofold.
  case upsample(images: Int, height: Int, width: Int, channels: Int)

  /// The operator's name.
  public var kind: String {
    switch self {
    case .linear: "linear"
    case .gatedLinear: "gatedLinear"
    case .conv2d, .stagedConv2d: "conv2d"
    case .channelStatistics: "channelStatistics"
    case .joinRows: "joinRows"
    case .groupNorm: "groupNorm"
    case .layerNorm: "layerNorm"
    case .attention: "attention"
    case .geglu: "geglu"
    case .activate: "activate"
    case .add: "add"
    case .concatenate: "concatenate"
    case .upsample: "upsample"
    }
  }

  /// The shape in a few characters.
  public var summary: String {
    switch self {
    case .linear(let rows, let depth, let columns): "\(rows)×\(depth) → \(columns)"
    case .gatedLinear(let rows, let depth, let columns, let activation):
      "\(rows)×\(depth) → \(columns) ⊙ \(activation.rawValue) of \(columns)"
    case .conv2d(let images, let height, let width, let channels, let out, let kernelHeight, let kernelWidth, let options):
      "\(images)×\(height)×\(width)×\(channels) → \(out), \(kernelHeight)×\(kernelWidth)"
        + (options.stride == 1 ? "" : " / \(options.stride)")
    case .stagedConv2d(
      let images, let height, let width, let channels, let out, let kernelHeight, let kernelWidth, let options, let normalizes,
      let activation, let enlarges):
      (normalizes ? "norm + " : "") + (activation == .none ? "" : "\(activation.rawValue) + ") + (enlarges ? "2 × " : "")
        + OperatorShape.conv2d(
          images: images, height: height, width: width, channels: channels, outChannels: out, kernelHeight: kernelHeight,
          kernelWidth: kernelWidth, options: options
        ).summary
    case .channelStatistics(let images, let pixels, let channels): "\(images)×\(pixels)×\(channels)"
    case .joinRows(let images, let rows, let width, let channels): "\(images)×\(rows)×\(width)×\(channels)"
    case .groupNorm(let images, let pixels, let channels, let groups, let activation):
      "\(images)×\(pixels)×\(channels), \(groups) groups" + (activation == .none ? "" : " + \(activation.rawValue)")
    case .layerNorm(let rows, let width): "\(rows)×\(width)"
    case .attention(let batch, let queries, let keys, let heads, let width, let isCausal):
      "\(batch)×\(queries) over \(keys), \(heads) heads of \(width)" + (isCausal ? ", causal" : "")
    case .geglu(let rows, let width): "\(rows)×\(width)"
    case .activate(let activation, let count): "\(activation.rawValue) of \(count)"
    case .add(let count): "\(count)"
    case .concatenate(let rows, let widths): "\(rows)×(\(widths.map(String.init).joined(separator: " + ")))"
    case .upsample(let images, let height, let width, let channels): "\(images)×\(height)×\(width)×\(channels)"
    }
  }

  /// Floating-point operations: two for each multiplication-addition of the plain algorithm; 0 where memory traffic is all.
  public var floatingPointOperations: Double {
    switch self {
    case .linear(let rows, let depth, let columns): 2 * Double(rows) * Double(depth) * Double(columns)
    case .gatedLinear(let rows, let depth, let columns, _): 4 * Double(rows) * Double(depth) * Double(columns)
    case .conv2d(let images, let height, let width, let channels, let out, let kernelHeight, let kernelWidth, let options):
      2 * Double(images * options.outputHeight(height, kernel: kernelHeight) * options.outputWidth(width, kernel: kernelWidth))
        * Double(channels * out * kernelHeight * kernelWidth)
    case .stagedConv2d(
      let images, let height, let width, let channels, let out, let kernelHeight, let kernelWidth, let options, _, _,
      let enlarges):
      OperatorShape.conv2d(
        images: images, height: enlarges ? 2 * height : height, width: enlarges ? 2 * width : width, channels: channels,
        outChannels: out, kernelHeight: kernelHeight, kernelWidth: kernelWidth, options: options
      ).floatingPointOperations
    case .attention(let batch, let queries, let keys, let heads, let width, _):
      4 * Double(batch * queries) * Double(keys) * Double(heads * width)
    default: 0
    }
  }

  /// Bytes that must be read and written once: operands in single precision, weights in half.
  public var bytesMoved: Double {
    switch self {
    case .linear(let rows, let depth, let columns):
      4 * Double(rows) * Double(depth + columns) + 2 * Double(depth) * Double(columns)
    case .gatedLinear(let rows, let depth, let columns, _):
      4 * Double(rows) * Double(depth + columns) + 4 * Double(depth) * Double(columns)
    case .conv2d(let images, let height, let width, let channels, let out, let kernelHeight, let kernelWidth, let options):
      4 * Double(images * height * width * channels)
        + 4
        * Double(
          images * options.outputHeight(height, kernel: kernelHeight) * options.outputWidth(width, kernel: kernelWidth) * out)
        + 2 * Double(channels * out * kernelHeight * kernelWidth)
    case .stagedConv2d(
      let images, let height, let width, let channels, let out, let kernelHeight, let kernelWidth, let options, _, _,
      let enlarges):
      OperatorShape.conv2d(
        images: images, height: enlarges ? 2 * height : height, width: enlarges ? 2 * width : width, channels: channels,
        outChannels: out, kernelHeight: kernelHeight, kernelWidth: kernelWidth, options: options
      ).bytesMoved - (enlarges ? 12 * Double(images * height * width * channels) : 0)
    case .channelStatistics(let images, let pixels, let channels): 4 * Double(images * pixels * channels)
    case .joinRows(let images, let rows, let width, let channels): 8 * Double(images * rows * width * channels)
    case .groupNorm(let images, let pixels, let channels, _, _): 8 * Double(images * pixels * channels)
    case .layerNorm(let rows, let width): 8 * Double(rows * width)
    case .attention(let batch, let queries, let keys, let heads, let width, _):
      8 * Double(batch * heads * width) * Double(queries + keys)
    case .geglu(let rows, let width): 12 * Double(rows * width)
    case .activate(_, let count): 8 * Double(count)
    case .add(let count): 12 * Double(count)
    case .concatenate(let rows, let widths): 8 * Double(rows * widths.reduce(0, +))
    case .upsample(let images, let height, let width, let channels): 20 * Double(images * height * width * channels)
    }
  }
}

/// Operators that compute nothing but note at which shapes they are called, and how often.
public final class OperatorInventory: KernelSet {
  private let calls = Mutex<(order: [OperatorShape], counts: [OperatorShape: Int])>(([], [:]))
  private let planning = PlanningKernels()

  /// Makes an empty inventory.
  public init() {}

  /// `inventory`.
  public var name: String { "inventory" }
  /// One.
  public var threadCount: Int { 1 }

  /// The shapes in the order of their first calls, with their counts.
  public var operators: [(shape: OperatorShape, count: Int)] {
    calls.withLock { calls in calls.order.map { ($0, calls.counts[$0] ?? 0) } }
  }

  private func note(_ shape: OperatorShape) {
    calls.withLock { calls in
      if calls.counts[shape] == nil { calls.order.append(shape) }
      calls.counts[shape, default: 0] += 1
    }
  }

  private func rows(_ input: Tensor) -> Int { input.count / max(1, input.shape[-1]) }

  /// Notes a product.
  public func linear(
    _ input: Tensor, weight: LinearWeight, bias: Tensor?, activation: Activation, residual: Tensor?
  ) -> Tensor {
    note(.linear(rows: rows(input), depth: weight.inFeatures, columns: weight.outFeatures))
    return planning.linear(input, weight: weight, bias: bias, activation: activation, residual: residual)
  }

  /// Notes both products as one operator.
  public func gatedLinear(_ input: Tensor, gate: LinearParameters, up: LinearParameters, activation: Activation) -> Tensor {
    note(
      .gatedLinear(
        rows: rows(input), depth: up.weight.inFeatures, columns: up.weight.outFeatures, activation: activation))
    return planning.gatedLinear(input, gate: gate, up: up, activation: activation)
  }

  /// Notes a convolution.
  public func conv2d(
    _ input: Tensor, weight: ConvWeight, options: ConvOptions, bias: Tensor?, imageBias: Tensor?, residual: Tensor?
  ) -> Tensor {
    note(
      .conv2d(
        images: input.shape[0], height: input.shape[1], width: input.shape[2], channels: weight.inChannels,
        outChannels: weight.outChannels, kernelHeight: weight.kernelHeight, kernelWidth: weight.kernelWidth, options: options))
    return planning.conv2d(input, weight: weight, options: options, bias: bias, imageBias: imageBias, residual: residual)
  }

  /// Notes a convolution with its stage.
  public func conv2d(
    _ input: Tensor, after stage: ConvInputStage, weight: ConvWeight, options: ConvOptions, bias: Tensor?, imageBias: Tensor?,
    residual: Tensor?
  ) -> Tensor {
    guard stage.factors != nil || stage.activation != .none || stage.enlarges else {
      return conv2d(input, weight: weight, options: options, bias: bias, imageBias: imageBias, residual: residual)
    }
    note(
      .stagedConv2d(
        images: input.shape[0], height: input.shape[1], width: input.shape[2], channels: weight.inChannels,
        outChannels: weight.outChannels, kernelHeight: weight.kernelHeight, kernelWidth: weight.kernelWidth, options: options,
        normalizes: stage.factors != nil, activation: stage.activation, enlarges: stage.enlarges))
    return planning.conv2d(
      input, after: stage, weight: weight, options: options, bias: bias, imageBias: imageBias, residual: residual)
  }

  /// Notes statistics.
  public func channelStatistics(_ input: Tensor) -> ChannelStatistics {
    let (images, channels) = (input.shape[0], input.shape[-1])
    note(.channelStatistics(images: images, pixels: input.count / max(1, images * channels), channels: channels))
    return planning.channelStatistics(input)
  }

  /// Notes nothing: networks normalise by ``groupNorm(_:groupCount:weight:bias:epsilon:activation:)`` or within a convolution.
  public func normalize(_ input: Tensor, by factors: ChannelFactors, activation: Activation) -> Tensor {
    planning.normalize(input, by: factors, activation: activation)
  }

  /// Notes a join.
  public func joinRows(_ parts: [Tensor], range: Range<Int>) -> Tensor {
    note(.joinRows(images: parts[0].shape[0], rows: range.count, width: parts[0].shape[2], channels: parts[0].shape[3]))
    return planning.joinRows(parts, range: range)
  }

  /// Notes a normalisation.
  public func groupNorm(
    _ input: Tensor, groupCount: Int, weight: Tensor, bias: Tensor, epsilon: Float, activation: Activation
  ) -> Tensor {
    let (images, channels) = (input.shape[0], input.shape[-1])
    note(
      .groupNorm(
        images: images, pixels: input.count / max(1, images * channels), channels: channels, groups: groupCount,
        activation: activation))
    return planning.groupNorm(
      input, groupCount: groupCount, weight: weight, bias: bias, epsilon: epsilon, activation: activation)
  }

  /// Notes a normalisation.
  public func layerNorm(_ input: Tensor, weight: Tensor, bias: Tensor, epsilon: Float) -> Tensor {
    note(.layerNorm(rows: rows(input), width: input.shape[-1]))
    return planning.layerNorm(input, weight: weight, bias: bias, epsilon: epsilon)
  }

  /// Notes nothing: no diffusion model has it.
  public func rmsNorm(_ input: Tensor, weight: Tensor, epsilon: Float) -> Tensor {
    planning.rmsNorm(input, weight: weight, epsilon: epsilon)
  }

  /// Notes an attention.
  public func attention(query: Tensor, key: Tensor, value: Tensor, options: AttentionOptions) -> Tensor {
    note(
      .attention(
        batch: query.shape[0], queries: query.shape[1], keys: key.shape[1], heads: options.headCount,
        headWidth: query.shape[2] / options.headCount, isCausal: options.causalOffset != nil))
    return planning.attention(query: query, key: key, value: value, options: options)
  }

  /// Notes a gate.
  public func geglu(_ input: Tensor) -> Tensor {
    note(.geglu(rows: rows(input), width: input.shape[-1] / 2))
    return planning.geglu(input)
  }

  /// Notes an activation.
  public func activate(_ input: Tensor, _ activation: Activation) -> Tensor {
    note(.activate(activation, count: input.count))
    return planning.activate(input, activation)
  }

  /// Notes a sum.
  public func add(_ left: Tensor, _ right: Tensor) -> Tensor {
    note(.add(count: left.count))
    return planning.add(left, right)
  }

  /// Notes a concatenation.
  public func concatenateChannels(_ parts: [Tensor]) -> Tensor {
    note(.concatenate(rows: rows(parts[0]), widths: parts.map { $0.shape[-1] }))
    return planning.concatenateChannels(parts)
  }

  /// Notes an enlargement.
  public func upsampleNearest2x(_ input: Tensor) -> Tensor {
    note(.upsample(images: input.shape[0], height: input.shape[1], width: input.shape[2], channels: input.shape[3]))
    return planning.upsampleNearest2x(input)
  }
}
