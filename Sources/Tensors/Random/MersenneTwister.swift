/// The 32-bit Mersenne Twister MT19937, the integer source behind torch's CPU generator and NumPy's `RandomState`.
///
/// Source: Matsumoto & Nishimura 1998, "Mersenne Twister: a 623-dimensionally equidistributed uniform pseudorandom
/// number generator"; seeding is the authors' 2002 `init_genrand`.
struct MersenneTwister: Sendable, Equatable {
  private static let size = 624
  private static let middle = 397

  private var state: [UInt32]
  private var position = size

  /// Makes a generator from one 32-bit seed.
  init(seed: UInt32) {
    state = [UInt32](repeating: 0, count: Self.size)
    state[0] = seed
    for index in 1..<Self.size {
      let previous = state[index - 1]
      state[index] = 1_812_433_253 &* (previous ^ (previous >> 30)) &+ UInt32(index)
    }
  }

  /// The next 32 bits.
  mutating func next() -> UInt32 {
    if position == Self.size { twist() }
    var word = state[position]
    position += 1
    word ^= word >> 11
    word ^= (word << 7) & 0x9d2c_5680
    word ^= (word << 15) & 0xefc6_0000
    return word ^ (word >> 18)
  }

  private mutating func twist() {
    for index in 0..<Self.size {
      let joined = (state[index] & 0x8000_0000) | (state[(index + 1) % Self.size] & 0x7fff_ffff)
      let shifted = (joined >> 1) ^ (joined & 1 == 1 ? 0x9908_b0df : 0)
      state[index] = state[(index + Self.middle) % Self.size] ^ shifted
    }
    position = 0
  }
}
