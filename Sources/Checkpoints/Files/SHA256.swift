/// SHA-256 (FIPS 180-4, section 6.2), over data that comes in pieces.
public struct SHA256: Sendable {
  private var state: (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32) = (
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19
  )
  /// Bytes that wait for their block of 64 to be full.
  private var pending: [UInt8] = []
  private var byteCount: UInt64 = 0

  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5, 0xd807_aa98,
    0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174, 0xe49b_69c1, 0xefbe_4786,
    0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da, 0x983e_5152, 0xa831_c66d, 0xb003_27c8,
    0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967, 0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13,
    0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85, 0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819,
    0xd699_0624, 0xf40e_3585, 0x106a_a070, 0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a,
    0x5b9c_ca4f, 0x682e_6ff3, 0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7,
    0xc671_78f2,
  ]

  /// Starts a sum.
  public init() {}

  /// The sum of some bytes, as 64 hexadecimal digits.
  public static func hex(_ bytes: some Collection<UInt8>) -> String {
    var hash = SHA256()
    let array = [UInt8](bytes)
    array.withUnsafeBytes { hash.update($0) }
    return hash.finishedHex()
  }

  /// Takes more bytes in.
  public mutating func update(_ bytes: UnsafeRawBufferPointer) {
    byteCount &+= UInt64(bytes.count)
    var rest = bytes
    if !pending.isEmpty {
      let taken = min(64 - pending.count, rest.count)
      pending.append(contentsOf: UnsafeRawBufferPointer(rebasing: rest[..<taken]))
      rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
      guard pending.count == 64 else { return }
      let block = pending
      pending.removeAll(keepingCapacity: true)
      block.withUnsafeBytes { compress($0) }
    }
    let whole = rest.count & ~63
    if whole > 0 { compress(UnsafeRawBufferPointer(rebasing: rest[..<whole])) }
    pending.append(contentsOf: UnsafeRawBufferPointer(rebasing: rest[whole...]))
  }

  /// The sum of all that was taken in, as 64 hexadecimal digits; the object can go on afterwards.
  public func finishedHex() -> String {
    var copy = self
    let bits = byteCount &* 8
    var tail = pending
    tail.append(0x80)
    while tail.count % 64 != 56 { tail.append(0) }
    for shift in stride(from: 56, through: 0, by: -8) { tail.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift))) }
    tail.withUnsafeBytes { copy.compress($0) }
    let (a, b, c, d, e, f, g, h) = copy.state
    return [a, b, c, d, e, f, g, h].map { word in
      let text = String(word, radix: 16)
      return String(repeating: "0", count: 8 - text.count) + text
    }.joined()
  }

  /// Takes whole blocks of 64 bytes in.
  private mutating func compress(_ bytes: UnsafeRawBufferPointer) {
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { schedule in
      Self.constants.withUnsafeBufferPointer { constants in
        for start in stride(from: 0, to: bytes.count, by: 64) {
          for index in 0..<16 {
            let word = bytes.loadUnaligned(fromByteOffset: start + index * 4, as: UInt32.self)
            schedule[index] = UInt32(bigEndian: word)
          }
          for index in 16..<64 {
            let (x, y) = (schedule[index - 15], schedule[index - 2])
            let s0 = Self.rotated(x, 7) ^ Self.rotated(x, 18) ^ (x >> 3)
            let s1 = Self.rotated(y, 17) ^ Self.rotated(y, 19) ^ (y >> 10)
            schedule[index] = schedule[index - 16] &+ s0 &+ schedule[index - 7] &+ s1
          }
          var (a, b, c, d, e, f, g, h) = state
          for index in 0..<64 {
            let s1 = Self.rotated(e, 6) ^ Self.rotated(e, 11) ^ Self.rotated(e, 25)
            let t1 = h &+ s1 &+ (g ^ (e & (f ^ g))) &+ constants[index] &+ schedule[index]
            let s0 = Self.rotated(a, 2) ^ Self.rotated(a, 13) ^ Self.rotated(a, 22)
            let t2 = s0 &+ ((a & b) | (c & (a | b)))
            (h, g, f, e, d, c, b, a) = (g, f, e, d &+ t1, c, b, a, t1 &+ t2)
          }
          state = (
            state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d, state.4 &+ e, state.5 &+ f, state.6 &+ g, state.7 &+ h
          )
        }
      }
    }
  }

  private static func rotated(_ value: UInt32, _ count: UInt32) -> UInt32 { value >> count | value << (32 - count) }
}
