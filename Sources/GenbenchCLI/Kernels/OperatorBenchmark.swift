import DiffusionModels
import KernelContract
import Tensors

/// Runs one operator on made-up data and times it.
struct OperatorBenchmark {
  let kernels: any KernelSet
  /// Calls are repeated until this much time is spent, in ns, but at least twice after a first one that doesn't count.
  var leastTimeNs: UInt64 = 120_000_000
  /// A call that takes longer isn't made a third time, in ns.
  var longNs: UInt64 = 1_500_000_000

  /// The times of the calls after the first, in ns.
  func measure(_ shape: OperatorShape) -> [Double] {
    let call = prepare(shape)
    call()
    var times: [Double] = []
    var spent: UInt64 = 0
    while times.count < 2 || (spent < leastTimeNs && times.count < 1000) {
      let start = MonotonicTime.nanoseconds()
      call()
      let elapsed = MonotonicTime.nanoseconds() - start
      times.append(Double(elapsed))
      spent += elapsed
      if elapsed > longNs { break }
    }
    return times
  }

  private func tensor(_ shape: Shape) -> Tensor {
    var state: UInt32 = 12345
    return Tensor(shape: shape) { buffer in
      for index in buffer.indices {
        state = state &* 1_664_525 &+ 1_013_904_223
        buffer.initializeElement(at: index, to: Float(Int32(bitPattern: state) >> 8) * 0x1p-23)
      }
    }
  }

  private func weight(_ shape: Shape) -> WeightView { HalfWeights(shape).view }

  /// Factors that leave a map as it is.
  private static func unitFactors(images: Int, channels: Int) -> ChannelFactors {
    let statistics = ChannelStatistics(
      images: images, channels: channels, count: 1, means: [Double](repeating: 0, count: images * channels),
      squares: [Double](repeating: 1, count: images * channels))
    return ChannelFactors(
      statistics, groupCount: 1, weight: Tensor(repeating: 1, shape: [channels]), bias: Tensor(zeros: [channels]), epsilon: 0)
  }

  private func prepare(_ shape: OperatorShape) -> () -> Void {
    let kernels = kernels
    switch shape {
    case .linear(let rows, let depth, let columns):
      let (input, matrix) = (tensor([rows, depth]), kernels.prepareLinear(weight([columns, depth])))
      let bias = tensor([columns])
      return { _ = kernels.linear(input, weight: matrix, bias: bias, activation: .none, residual: nil) }
    case .gatedLinear(let rows, let depth, let columns, let activation):
      let input = tensor([rows, depth])
      let (gate, up) = (weight([columns, depth]), weight([columns, depth]))
      func layer(_ view: WeightView) -> LinearParameters {
        LinearParameters(weight: kernels.prepareLinear(view), bias: tensor([columns]))
      }
      let (first, second) = (layer(gate), layer(up))
      return { _ = kernels.gatedLinear(input, gate: first, up: second, activation: activation) }
    case .conv2d(let images, let height, let width, let channels, let out, let kernelHeight, let kernelWidth, let options):
      let input = tensor([images, height, width, channels])
      let filter = kernels.prepareConv2d(weight([out, channels, kernelHeight, kernelWidth]))
      let bias = tensor([out])
      return { _ = kernels.conv2d(input, weight: filter, options: options, bias: bias, imageBias: nil, residual: nil) }
    case .stagedConv2d(
      let images, let height, let width, let channels, let out, let kernelHeight, let kernelWidth, let options, let normalizes,
      let activation, let enlarges):
      let input = tensor([images, height, width, channels])
      let filter = kernels.prepareConv2d(weight([out, channels, kernelHeight, kernelWidth]))
      let bias = tensor([out])
      let factors = normalizes ? Self.unitFactors(images: images, channels: channels) : nil
      let stage = ConvInputStage(factors: factors, activation: activation, enlarges: enlarges)
      return {
        _ = kernels.conv2d(
          input, after: stage, weight: filter, options: options, bias: bias, imageBias: nil, residual: nil)
      }
    case .channelStatistics(let images, let pixels, let channels):
      let input = tensor([images, pixels, channels])
      return { _ = kernels.channelStatistics(input) }
    case .joinRows(let images, let rows, let width, let channels):
      let parts = [tensor([images, (rows + 1) / 2, width, channels]), tensor([images, rows / 2 + 1, width, channels])]
      return { _ = kernels.joinRows(parts, range: 0..<rows) }
    case .groupNorm(let images, let pixels, let channels, let groups, let activation):
      let (input, scale, shift) = (tensor([images, pixels, channels]), tensor([channels]), tensor([channels]))
      return {
        _ = kernels.groupNorm(input, groupCount: groups, weight: scale, bias: shift, epsilon: 1e-5, activation: activation)
      }
    case .layerNorm(let rows, let width):
      let (input, scale, shift) = (tensor([rows, width]), tensor([width]), tensor([width]))
      return { _ = kernels.layerNorm(input, weight: scale, bias: shift, epsilon: 1e-5) }
    case .attention(let batch, let queries, let keys, let heads, let width, let isCausal):
      let (query, key) = (tensor([batch, queries, heads * width]), tensor([batch, keys, heads * width]))
      let options = AttentionOptions(
        headCount: heads, scale: 1 / Float(width).squareRoot(), causalOffset: isCausal ? keys - queries : nil)
      return { _ = kernels.attention(query: query, key: key, value: key, options: options) }
    case .geglu(let rows, let width):
      let input = tensor([rows, 2 * width])
      return { _ = kernels.geglu(input) }
    case .activate(let activation, let count):
      let input = tensor([count])
      return { _ = kernels.activate(input, activation) }
    case .add(let count):
      let (left, right) = (tensor([count]), tensor([count]))
      return { _ = kernels.add(left, right) }
    case .concatenate(let rows, let widths):
      let parts = widths.map { tensor([rows, $0]) }
      return { _ = kernels.concatenateChannels(parts) }
    case .upsample(let images, let height, let width, let channels):
      let input = tensor([images, height, width, channels])
      return { _ = kernels.upsampleNearest2x(input) }
    }
  }
}

/// Made-up half-precision weights: what files hold, in memory of their own.
private final class HalfWeights: WeightOwner, @unchecked Sendable {
  // Written only here, before anybody else has it.
  private let memory: UnsafeMutableRawBufferPointer
  private let shape: Shape

  init(_ shape: Shape) {
    self.shape = shape
    memory = .allocate(byteCount: max(2, shape.elementCount * 2), alignment: 64)
    var state: UInt32 = 54321
    for index in 0..<shape.elementCount {
      state = state &* 1_664_525 &+ 1_013_904_223
      // Between 2⁻⁵ and 2⁻⁴, of either sign.
      let bits = UInt16(truncatingIfNeeded: (state >> 31) << 15 | 10 << 10 | (state >> 12) & 0x3FF)
      memory.storeBytes(of: bits, toByteOffset: 2 * index, as: UInt16.self)
    }
  }

  deinit { memory.deallocate() }

  var view: WeightView {
    WeightView(
      name: "made-up", dtype: .f16, shape: shape,
      bytes: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[0..<(shape.elementCount * 2)]), owner: self)
  }
}
