extension WeightView {
  /// Writes the elements of a row-major range as `Float`.
  ///
  /// Exact for the plain types; for block types equal to `gguf.quants.dequantize` of the `gguf` Python package, bit for bit.
  ///
  /// - Parameters:
  ///   - range: Row-major positions; for block types both ends are multiples of `dtype.blockLength`.
  ///   - target: Room for `range.count` elements.
  public func dequantize(elements range: Range<Int>, into target: UnsafeMutablePointer<Float>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= shape.elementCount)
    precondition(range.lowerBound % dtype.blockLength == 0 && range.count % dtype.blockLength == 0)
    guard range.count > 0, let base = bytes.baseAddress else { return }
    let source = base + range.lowerBound / dtype.blockLength * dtype.blockBytes
    let blocks = range.count / dtype.blockLength
    switch dtype {
    case .f32: target.withMemoryRebound(to: UInt8.self, capacity: range.count * 4) { copy(source, range.count * 4, $0) }
    case .f16: convert(source, range.count, target, UInt16.self) { Float(halfBits: $0) }
    case .bf16: convert(source, range.count, target, UInt16.self) { Float(bitPattern: UInt32($0) << 16) }
    case .f64: convert(source, range.count, target, Double.self) { Float($0) }
    case .i64: convert(source, range.count, target, Int64.self) { Float($0) }
    case .i32: convert(source, range.count, target, Int32.self) { Float($0) }
    case .i16: convert(source, range.count, target, Int16.self) { Float($0) }
    case .i8: convert(source, range.count, target, Int8.self) { Float($0) }
    case .u8, .bool: convert(source, range.count, target, UInt8.self) { Float($0) }
    case .q4_0: BlockDequantization.q4(source, blocks, target, hasMinimum: false)
    case .q4_1: BlockDequantization.q4(source, blocks, target, hasMinimum: true)
    case .q5_0: BlockDequantization.q5(source, blocks, target, hasMinimum: false)
    case .q5_1: BlockDequantization.q5(source, blocks, target, hasMinimum: true)
    case .q8_0: BlockDequantization.q8(source, blocks, target)
    case .q2K: BlockDequantization.q2K(source, blocks, target)
    case .q3K: BlockDequantization.q3K(source, blocks, target)
    case .q4K: BlockDequantization.q4K(source, blocks, target)
    case .q5K: BlockDequantization.q5K(source, blocks, target)
    case .q6K: BlockDequantization.q6K(source, blocks, target)
    }
  }
}

@inline(__always)
private func copy(_ source: UnsafeRawPointer, _ byteCount: Int, _ target: UnsafeMutablePointer<UInt8>) {
  UnsafeMutableRawPointer(target).copyMemory(from: source, byteCount: byteCount)
}

@inline(__always)
private func convert<Stored>(
  _ source: UnsafeRawPointer, _ count: Int, _ target: UnsafeMutablePointer<Float>, _ type: Stored.Type, _ body: (Stored) -> Float
) {
  for index in 0..<count {
    target[index] = body(source.loadUnaligned(fromByteOffset: index * MemoryLayout<Stored>.stride, as: Stored.self))
  }
}

// In this file, as debug builds inline within a file only.
extension Float {
  /// The value of IEEE half-precision bits, exactly.
  ///
  /// Written so that it becomes vector instructions on processors without a conversion of their own, and so that subnormal
  /// halves never go through subnormal floats, which are slow.
  @inlinable
  @inline(__always)
  public init(halfBits: UInt16) {
    let magnitude = UInt32(halfBits & 0x7FFF)
    let normal = magnitude << 13 &+ 0x3800_0000
    let subnormal = (Float(Int32(bitPattern: magnitude)) * 0x1p-24).bitPattern
    let finite = magnitude < 0x0400 ? subnormal : normal
    let bits = magnitude >= 0x7C00 ? normal | 0x7F80_0000 : finite
    self = Float(bitPattern: bits | UInt32(halfBits & 0x8000) << 16)
  }
}
