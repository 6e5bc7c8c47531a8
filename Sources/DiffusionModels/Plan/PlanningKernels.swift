public import KernelContract
import Synchronization
public import Tensors

/// Operators that compute nothing: they count floating-point operations and traffic, and return tensors of the right shape.
///
/// The results are never written, so they take address space only; the buffer pool still sees when each is born and dies,
/// which gives the peak of the activations of a real run.
public final class PlanningKernels: KernelSet {
  private let operations = Mutex(0.0)
  private let traffic = Mutex(0.0)

  /// Makes a set with its count at zero.
  public init() {}

  /// `plan`.
  public var name: String { "plan" }
  /// One.
  public var threadCount: Int { 1 }
  /// Floating-point operations so far: two for each multiplication-addition of products, convolutions and attention.
  public var floatingPointOperations: Double { operations.withLock { $0 } }

  /// Bytes that the operators read and write so far: each one its operands, its weights as stored, and its result, once.
  public var bytesMoved: Double { traffic.withLock { $0 } }

  private func move(_ elements: Int, weightBytes: Int = 0) {
    traffic.withLock { $0 += 4 * Double(elements) + Double(weightBytes) }
  }

  private func count(_ terms: Int...) {
    operations.withLock { $0 += 2 * terms.reduce(1.0) { $0 * Double($1) } }
  }

  private func blank(_ shape: Shape) -> Tensor { Tensor(shape: shape) { _ in } }

  /// Counts a product.
  public func linear(
    _ input: Tensor, weight: LinearWeight, bias: Tensor?, activation: Activation, residual: Tensor?
  ) -> Tensor {
    count(input.count, weight.outFeatures)
    let rows = input.count / max(1, weight.inFeatures)
    move(input.count + rows * weight.outFeatures + (residual?.count ?? 0), weightBytes: weight.view.bytes.count)
    return blank(Shape(Array(input.shape.dimensions.dropLast()) + [weight.outFeatures]))
  }

  /// Counts both products.
  public func gatedLinear(_ input: Tensor, gate: LinearParameters, up: LinearParameters, activation: Activation) -> Tensor {
    count(input.count, gate.weight.outFeatures + up.weight.outFeatures)
    move(
      input.count + input.count / max(1, up.weight.inFeatures) * up.weight.outFeatures,
      weightBytes: gate.weight.view.bytes.count + up.weight.view.bytes.count)
    return blank(Shape(Array(input.shape.dimensions.dropLast()) + [gate.weight.outFeatures]))
  }

  /// Counts a convolution.
  public func conv2d(
    _ input: Tensor, weight: ConvWeight, options: ConvOptions, bias: Tensor?, imageBias: Tensor?, residual: Tensor?
  ) -> Tensor {
    conv2d(
      input, after: ConvInputStage(), weight: weight, options: options, bias: bias, imageBias: imageBias, residual: residual)
  }

  /// Counts nothing: its cost is memory traffic.
  public func groupNorm(
    _ input: Tensor, groupCount: Int, weight: Tensor, bias: Tensor, epsilon: Float, activation: Activation
  ) -> Tensor { through(input) }

  /// A tensor read.
  public func channelStatistics(_ input: Tensor) -> ChannelStatistics {
    move(input.count)
    let (images, channels) = (input.shape[0], input.shape[-1])
    let zeros = [Double](repeating: 0, count: images * channels)
    return ChannelStatistics(
      images: images, channels: channels, count: input.count / max(1, images * channels), means: zeros, squares: zeros)
  }

  /// Counts no operations.
  public func normalize(_ input: Tensor, by factors: ChannelFactors, activation: Activation) -> Tensor { through(input) }

  /// Counts a convolution, which reads its input as it is before the stage.
  public func conv2d(
    _ input: Tensor, after stage: ConvInputStage, weight: ConvWeight, options: ConvOptions, bias: Tensor?, imageBias: Tensor?,
    residual: Tensor?
  ) -> Tensor {
    let map = stage.outputShape(input.shape)
    let height = options.outputHeight(map[1], kernel: weight.kernelHeight)
    let width = options.outputWidth(map[2], kernel: weight.kernelWidth)
    count(map[0], height, width, weight.view.shape.elementCount)
    move(
      input.count + map[0] * height * width * weight.outChannels + (residual?.count ?? 0), weightBytes: weight.view.bytes.count)
    let result = blank([map[0], height, width, weight.outChannels])
    // The fast set's Winograd convolution transforms the inputs of up to 128 tiles of 4 × 4 pixels at a time.
    if weight.kernelHeight == 3, weight.kernelWidth == 3, options.stride == 1, weight.inChannels >= 16 {
      let tiles = map[0] * ((height + 3) / 4) * ((width + 3) / 4)
      _ = blank([36, min(128, tiles), weight.inChannels])
    }
    return result
  }

  /// Counts no operations.
  public func joinRows(_ parts: [Tensor], range: Range<Int>) -> Tensor {
    let shape = parts[0].shape
    let result = blank([shape[0], range.count, shape[2], shape[3]])
    move(2 * result.count)
    return result
  }

  /// Counts no operations.
  public func layerNorm(_ input: Tensor, weight: Tensor, bias: Tensor, epsilon: Float) -> Tensor { through(input) }

  /// Counts no operations.
  public func rmsNorm(_ input: Tensor, weight: Tensor, epsilon: Float) -> Tensor { through(input) }

  /// A tensor read and one of its shape written.
  private func through(_ input: Tensor) -> Tensor {
    move(2 * input.count)
    return blank(input.shape)
  }

  /// Counts both products, without regard to a mask.
  public func attention(query: Tensor, key: Tensor, value: Tensor, options: AttentionOptions) -> Tensor {
    count(2, query.count, key.shape[1])
    move(2 * query.count + key.count + value.count)
    return blank(query.shape)
  }

  /// Counts no operations.
  public func geglu(_ input: Tensor) -> Tensor {
    move(input.count + input.count / 2)
    return blank(Shape(Array(input.shape.dimensions.dropLast()) + [input.shape[-1] / 2]))
  }

  /// Counts no operations.
  public func activate(_ input: Tensor, _ activation: Activation) -> Tensor { through(input) }

  /// Counts no operations.
  public func add(_ left: Tensor, _ right: Tensor) -> Tensor {
    move(right.count)
    return through(left)
  }

  /// Counts no operations.
  public func concatenateChannels(_ parts: [Tensor]) -> Tensor {
    move(2 * parts.reduce(0) { $0 + $1.count })
    return blank(Shape(Array(parts[0].shape.dimensions.dropLast()) + [parts.reduce(0) { $0 + $1.shape[-1] }]))
  }

  /// Counts no operations.
  public func upsampleNearest2x(_ input: Tensor) -> Tensor {
    move(5 * input.count)
    return blank([input.shape[0], 2 * input.shape[1], 2 * input.shape[2], input.shape[3]])
  }
}
