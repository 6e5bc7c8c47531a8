extension WeightView {
  /// Writes the elements of a row-major range as `Float`.
  ///
  /// Exact for the plain types; for block types equal to `gguf.quants.dequantize` of the `gguf` Python package.
  ///
  /// - Parameters:
  ///   - range: Row-major positions; for block types both ends are multiples of `dtype.blockLength`.
  ///   - target: Room for `range.count` elements.
  public func dequantize(elements range: Range<Int>, into target: UnsafeMutablePointer<Float>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= shape.elementCount)
    precondition(range.lowerBound % dtype.blockLength == 0 && range.count % dtype.blockLength == 0)
    guard range.count > 0, let base = bytes.baseAddress else { return }
    let source = base + range.lowerBound / dtype.blockLength * dtype.blockBytes
    switch dtype {
    case .f32: convert(source, range.count, target, Float.self) { $0 }
    case .f16: convert(source, range.count, target, Float16.self) { Float($0) }
    case .bf16: convert(source, range.count, target, UInt16.self) { Float(bitPattern: UInt32($0) << 16) }
    case .f64: convert(source, range.count, target, Double.self) { Float($0) }
    case .i64: convert(source, range.count, target, Int64.self) { Float($0) }
    case .i32: convert(source, range.count, target, Int32.self) { Float($0) }
    case .i16: convert(source, range.count, target, Int16.self) { Float($0) }
    case .i8: convert(source, range.count, target, Int8.self) { Float($0) }
    case .u8, .bool: convert(source, range.count, target, UInt8.self) { Float($0) }
    default: preconditionFailure("block types come with the GGUF reader")
    }
  }
}

@inline(__always)
private func convert<Stored>(
  _ source: UnsafeRawPointer, _ count: Int, _ target: UnsafeMutablePointer<Float>, _ type: Stored.Type, _ body: (Stored) -> Float
) {
  for index in 0..<count {
    target[index] = body(source.loadUnaligned(fromByteOffset: index * MemoryLayout<Stored>.stride, as: Stored.self))
  }
}
