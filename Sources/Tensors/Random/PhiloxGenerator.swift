#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// CUDA's counter-based normals as AUTOMATIC1111 and stable-diffusion.cpp emulate them on the CPU.
///
/// Element i of call k comes from Philox4x32-10 on the counter [k, 0, i, 0] under the key (seed low, seed high): the
/// first two output words, as uniforms centred in their cells, go through Box-Muller, and the sine half is kept.
/// Equal to `torch.randn(device="cuda")` as long as a tensor fits one pass of the GPU's grid.
/// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
public struct PhiloxGenerator: NoiseSource, Equatable {
  private let key: (low: UInt32, high: UInt32)
  private var call: UInt32 = 0

  /// Makes the generator; all 64 bits of the seed matter.
  public init(seed: UInt64) {
    key = (UInt32(truncatingIfNeeded: seed), UInt32(truncatingIfNeeded: seed >> 32))
  }

  /// Draws one normal per element and moves the call counter on by one.
  public mutating func normals(shape: Shape) -> Tensor {
    let result = Tensor(shape: shape) { buffer in
      for index in buffer.indices {
        let words = Self.philox4x32(counter: SIMD4(call, 0, UInt32(truncatingIfNeeded: index), 0), key: key)
        let uniform = Double(words[0]) * 0x1p-32 + 0x1p-33
        let angle = 2 * Double.pi * (Double(words[1]) * 0x1p-32 + 0x1p-33)
        buffer.initializeElement(at: index, to: Float((-2 * log(uniform)).squareRoot() * sin(angle)))
      }
    }
    call &+= 1
    return result
  }

  /// Ten rounds of Philox4x32.
  static func philox4x32(counter: SIMD4<UInt32>, key: (low: UInt32, high: UInt32)) -> SIMD4<UInt32> {
    var words = counter
    var (low, high) = key
    for _ in 0..<10 {
      let even = UInt64(words[0]) * 0xd251_1f53
      let odd = UInt64(words[2]) * 0xcd9e_8d57
      words = SIMD4(
        UInt32(truncatingIfNeeded: odd >> 32) ^ words[1] ^ low, UInt32(truncatingIfNeeded: odd),
        UInt32(truncatingIfNeeded: even >> 32) ^ words[3] ^ high, UInt32(truncatingIfNeeded: even))
      low &+= 0x9e37_79b9
      high &+= 0xbb67_ae85
    }
    return words
  }

  /// Whether two generators are at the same place of the same stream.
  public static func == (left: Self, right: Self) -> Bool {
    left.key == right.key && left.call == right.call
  }
}
