public import Tensors

extension WeightView {
  /// The row-major position of the first NaN or infinity, or nil; whole numbers have none.
  ///
  /// - Complexity: O(n); reads every byte of the weight.
  public var firstNonFinite: Int? {
    switch dtype {
    case .f32: firstMatch(UInt32.self, mask: 0x7F80_0000)
    case .f16: firstMatch(UInt16.self, mask: 0x7C00)
    case .bf16: firstMatch(UInt16.self, mask: 0x7F80)
    case .f64: firstMatch(UInt64.self, mask: 0x7FF0_0000_0000_0000)
    default: dtype.isFloatingPoint ? firstNonFiniteInBlocks() : nil
    }
  }

  // An IEEE number isn't finite exactly when all bits of its exponent are set.
  private func firstMatch<Bits: FixedWidthInteger>(_ type: Bits.Type, mask: Bits) -> Int? {
    let width = MemoryLayout<Bits>.stride
    let chunk = 1024
    for start in stride(from: 0, to: shape.elementCount, by: chunk) {
      let end = min(start + chunk, shape.elementCount)
      // No early exit inside a chunk, so that it becomes vector instructions.
      var found = Bits.zero
      for position in start..<end {
        let bits = bytes.loadUnaligned(fromByteOffset: position * width, as: Bits.self)
        found |= bits & mask == mask ? 1 : 0
      }
      if found == 0 { continue }
      for position in start..<end
      where bytes.loadUnaligned(fromByteOffset: position * width, as: Bits.self) & mask == mask {
        return position
      }
    }
    return nil
  }

  private func firstNonFiniteInBlocks() -> Int? {
    let chunk = dtype.blockLength * 64
    return withUnsafeTemporaryAllocation(of: Float.self, capacity: chunk) { buffer in
      guard let base = buffer.baseAddress else { return nil }
      for start in stride(from: 0, to: shape.elementCount, by: chunk) {
        let range = start..<min(start + chunk, shape.elementCount)
        dequantize(elements: range, into: base)
        for offset in 0..<range.count where !base[offset].isFinite { return start + offset }
      }
      return nil
    }
  }
}

extension WeightSource {
  /// The first weight, by name, that holds a NaN or an infinity, and its row-major position there; nil when all are finite.
  ///
  /// - Complexity: reads every byte of every weight.
  public func firstNonFinite() -> (name: String, position: Int)? {
    for name in weightNames {
      if let position = weight(named: name)?.firstNonFinite { return (name, position) }
    }
    return nil
  }

  /// Refuses weights with a NaN or an infinity in them.
  ///
  /// - Throws: ``CheckpointError`` `.invalid`.
  public func requireFinite() throws(CheckpointError) {
    guard let found = firstNonFinite() else { return }
    throw CheckpointError(
      .invalid, file: location,
      "tensor '\(found.name)': expected finite values, found NaN or infinity at position \(found.position); the file is damaged"
        + " or was trained to divergence: get another copy")
  }
}
