internal import CPUFeatures
internal import Tensors

/// Reads a weight out of its file's memory as `Float`, a stretch at a time.
struct WeightReader {
  private let view: WeightView
  private let dtype: DType
  private let base: UnsafeRawPointer?
  /// Elements of one row: all axes but the first.
  let rowLength: Int
  /// Extent of the first axis.
  let rowCount: Int

  init(_ view: WeightView) {
    self.view = view
    dtype = view.dtype
    base = view.bytes.baseAddress
    rowCount = view.shape[0]
    rowLength = rowCount == 0 ? 0 : view.shape.elementCount / rowCount
  }

  /// The row itself, where it can be used without conversion.
  func row(_ index: Int) -> UnsafePointer<Float>? {
    guard dtype == .f32, let base, UInt(bitPattern: base) % 4 == 0 else { return nil }
    return (base + index * rowLength * 4).assumingMemoryBound(to: Float.self)
  }

  /// Writes the elements `start..<start + count` of a row.
  func read(row: Int, from start: Int, count: Int, into target: UnsafeMutablePointer<Float>) {
    guard let base, count > 0 else { return }
    let first = row * rowLength + start
    switch dtype {
    case .f32: UnsafeMutableRawPointer(target).copyMemory(from: base + first * 4, byteCount: count * 4)
    case .f16: convert16(base + first * 2, count, target, genbench_f16_to_f32_8)
    case .bf16: convert16(base + first * 2, count, target, genbench_bf16_to_f32_8)
    default: readBlocks(first..<(first + count), into: target)
    }
  }

  /// Asks for elements that will be read soon; ones beyond the end are allowed.
  @inline(__always)
  func prefetch(row: Int, from start: Int, count: Int) {
    guard let base, dtype.blockLength == 1 else { return }
    let first = base + (row * rowLength + start) * dtype.blockBytes
    for line in stride(from: 0, to: count * dtype.blockBytes, by: 64) { genbench_prefetch(first + line) }
  }

  /// Converts 16-bit elements eight at a time; the rest through a padded group.
  @inline(__always)
  private func convert16(
    _ source: UnsafeRawPointer, _ count: Int, _ target: UnsafeMutablePointer<Float>,
    _ convert8: (UnsafeRawPointer?, UnsafeMutablePointer<Float>?) -> Void
  ) {
    var index = 0
    while index + 8 <= count {
      convert8(source + 2 * index, target + index)
      index += 8
    }
    let rest = count - index
    guard rest > 0 else { return }
    withUnsafeTemporaryAllocation(byteCount: 48, alignment: 16) { buffer in
      guard let padded = buffer.baseAddress else { return }
      let floats = (padded + 16).assumingMemoryBound(to: Float.self)
      padded.initializeMemory(as: UInt8.self, repeating: 0, count: 16)
      padded.copyMemory(from: source + 2 * index, byteCount: 2 * rest)
      convert8(padded, floats)
      for offset in 0..<rest { target[index + offset] = floats[offset] }
    }
  }

  /// Reads whole blocks straight, and cut ones through a block of scratch.
  private func readBlocks(_ range: Range<Int>, into target: UnsafeMutablePointer<Float>) {
    let block = dtype.blockLength
    let whole = (range.lowerBound + block - 1) / block * block
    let wholeEnd = range.upperBound / block * block
    if whole == range.lowerBound, wholeEnd == range.upperBound {
      view.dequantize(elements: range, into: target)
      return
    }
    withUnsafeTemporaryAllocation(of: Float.self, capacity: block) { scratch in
      guard let scratch = scratch.baseAddress else { return }
      var position = range.lowerBound
      while position < range.upperBound {
        let blockStart = position / block * block
        let end = min(range.upperBound, blockStart + block)
        view.dequantize(elements: blockStart..<(blockStart + block), into: scratch)
        (target + (position - range.lowerBound)).update(from: scratch + (position - blockStart), count: end - position)
        position = end
      }
    }
  }
}
