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

  /// Writes a panel, `[count, panelWidth]`, straight from the file: column j is row `rows.lowerBound + j`, zeros beyond the rows.
  ///
  /// Returns false, and writes nothing, where the type or the instruction set needs the way through single rows.
  ///
  /// - Parameters:
  ///   - rows: Up to `panelWidth` rows.
  ///   - start: The first element of each row.
  ///   - count: Elements of each row.
  ///   - panel: Room for `count · panelWidth` floats.
  ///   - places: Where element k of the rows goes, in rows of the panel; nil for in order.
  @inline(__always)
  func packPanel(
    rows: Range<Int>, from start: Int, count: Int, into panel: UnsafeMutablePointer<Float>, places: UnsafePointer<Int32>? = nil
  ) -> Bool {
    guard packsGroups else { return false }
    for group in Swift.stride(from: 0, to: panelWidth, by: lanes) {
      if group < rows.count {
        packGroup(
          rows: (rows.lowerBound + group)..<min(rows.upperBound, rows.lowerBound + group + lanes), from: start, count: count,
          into: panel + group, stride: panelWidth, places: places)
      } else {
        for k in 0..<count { store(Vector(), panel + k * panelWidth + group) }
      }
    }
    return true
  }

  /// Whether ``packGroup(rows:from:count:into:stride:places:)`` knows the type.
  var packsGroups: Bool {
    #if GENBENCH_ISA_V4
      (dtype == .f16 || dtype == .bf16) && base != nil
    #else
      false
    #endif
  }

  /// Writes up to a vector of rows as columns, `stride` floats between two elements of a row; zeros beyond the rows.
  @inline(__always)
  func packGroup(
    rows: Range<Int>, from start: Int, count: Int, into target: UnsafeMutablePointer<Float>, stride: Int,
    places: UnsafePointer<Int32>? = nil
  ) {
    #if GENBENCH_ISA_V4
      guard let base else { return }
      genbench_pack_rows(
        base + (rows.lowerBound * rowLength + start) * 2, rowLength * 2, Int32(rows.count), count, dtype == .bf16 ? 1 : 0,
        target, stride, places)
    #endif
  }

  /// As ``packPanel(rows:from:count:into:places:)``, as pairs of bfloat16: `[(count + 1) / 2, panelWidth, 2]`.
  @inline(__always)
  func packPairs(rows: Range<Int>, from start: Int, count: Int, into panel: UnsafeMutablePointer<Float>) -> Bool {
    #if GENBENCH_ISA_V4BF16
      guard dtype == .f16 || dtype == .bf16, let base else { return false }
      for group in Swift.stride(from: 0, to: panelWidth, by: 16) {
        let here = min(16, rows.count - group)
        if here > 0 {
          genbench_pack_row_pairs(
            base + ((rows.lowerBound + group) * rowLength + start) * 2, rowLength * 2, Int32(here), count,
            dtype == .bf16 ? 1 : 0, panel + group, panelWidth)
        } else {
          for pair in 0..<((count + 1) / 2) { store(Vector(), panel + pair * panelWidth + group) }
        }
      }
      return true
    #else
      return false
    #endif
  }

  /// Asks for a stretch of some rows that will be read soon; none where weights aren't plain 16-bit numbers.
  @inline(__always)
  func prefetch(rows: Range<Int>, from start: Int, count: Int) {
    guard let base, dtype == .f16 || dtype == .bf16 else { return }
    for row in rows {
      let first = base + (row * rowLength + start) * 2
      var byte = 0
      while byte < 2 * count {
        genbench_prefetch(first + byte)
        byte += 64
      }
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
