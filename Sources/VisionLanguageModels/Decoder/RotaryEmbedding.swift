import Tensors

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Where a token stands: for text all three are its index, in an image the row and the column differ.
public struct TokenPosition: Sendable, Hashable {
  /// The index in time.
  public var time: Int
  /// The row.
  public var row: Int
  /// The column.
  public var column: Int

  /// Makes a position in an image.
  public init(time: Int, row: Int, column: Int) {
    self.time = time
    self.row = row
    self.column = column
  }

  /// Makes a position in a text.
  public init(_ index: Int) { self.init(time: index, row: index, column: index) }
}

/// Rotary positions: each pair of a head's elements turns by `position · θ^(−2i/D)`.
///
/// Su et al. 2021, arXiv:2104.09864, eq. 34. With sections, pair `i` turns by the time, the row or the column: Wang et al.
/// 2024, arXiv:2409.12191, section 2.1 (M-RoPE).
struct RotaryEmbedding: Sendable {
  /// Cosines and sines, `[tokens, pairs]` each.
  struct Angles {
    var cosines: [Float]
    var sines: [Float]
    var pairs: Int
  }

  private let frequencies: [Float]
  /// For each pair which of time, row and column turns it.
  private let axes: [Int]
  private let pairing: DecoderConfig.RotaryPairing
  private let headWidth: Int

  /// Makes the table of a decoder.
  ///
  /// - Parameter divisors: Divide the frequencies, `[D/2]`: `rope_freqs.weight`, as Llama 3 stretches its context.
  init(_ config: DecoderConfig, divisors: Tensor?) {
    let pairs = config.headWidth / 2
    let scale = divisors?.elements
    frequencies = Self.frequencies(base: config.ropeBase, pairs: pairs).enumerated().map { $1 / (scale?[$0] ?? 1) }
    axes = (config.ropeSections ?? [pairs]).enumerated().flatMap { [Int](repeating: $0, count: $1) }
    pairing = config.ropePairing
    headWidth = config.headWidth
  }

  /// Makes the table of a vision tower: the first half of the pairs turns by the row, the second by the column.
  ///
  /// - Parameter headWidth: A multiple of 4.
  init(imageHeadWidth headWidth: Int, base: Double) {
    let half = Self.frequencies(base: base, pairs: headWidth / 4)
    frequencies = half + half
    axes = [Int](repeating: 1, count: half.count) + [Int](repeating: 2, count: half.count)
    pairing = .halves
    self.headWidth = headWidth
  }

  /// `base^(−i/pairs)`; powers are rounded to single precision where torch rounds them.
  private static func frequencies(base: Double, pairs: Int) -> [Float] {
    (0..<pairs).map { pair in 1 / Float(pow(base, Double(Float(2 * pair) / Float(2 * pairs)))) }
  }

  /// The angles' cosines and sines for tokens.
  func angles(_ positions: some Collection<TokenPosition>) -> Angles {
    let pairs = frequencies.count
    var angles = Angles(
      cosines: [Float](repeating: 0, count: positions.count * pairs),
      sines: [Float](repeating: 0, count: positions.count * pairs),
      pairs: pairs)
    for (token, position) in positions.enumerated() {
      let coordinates = [position.time, position.row, position.column]
      for pair in 0..<pairs {
        let angle = Double(Float(coordinates[axes[pair]]) * frequencies[pair])
        angles.cosines[token * pairs + pair] = Float(cos(angle))
        angles.sines[token * pairs + pair] = Float(sin(angle))
      }
    }
    return angles
  }

  /// Turns queries or keys, `[1, tokens, heads · D]`.
  func apply(_ angles: Angles, to tensor: inout Tensor) {
    let pairs = angles.pairs
    let heads = tensor.shape[-1] / headWidth
    let tokens = tensor.count / max(heads * headWidth, 1)
    let (near, far) = pairing == .interleaved ? (2, 1) : (1, pairs)
    let width = headWidth
    tensor.withUnsafeMutableBuffer { buffer in
      guard let base = buffer.baseAddress else { return }
      angles.cosines.withUnsafeBufferPointer { cosines in
        angles.sines.withUnsafeBufferPointer { sines in
          for token in 0..<tokens {
            for head in 0..<heads {
              let values = base + (token * heads + head) * width
              for pair in 0..<pairs {
                let (cosine, sine) = (cosines[token * pairs + pair], sines[token * pairs + pair])
                let first = values[pair * near]
                let second = values[pair * near + far]
                values[pair * near] = first * cosine - second * sine
                values[pair * near + far] = second * cosine + first * sine
              }
            }
          }
        }
      }
    }
  }
}
