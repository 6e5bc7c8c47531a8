import Checkpoints
import Testing

/// Sums of FIPS 180-4's examples (NIST's SHA256.pdf) and laws.
struct SHA256Tests {
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
  ])
  func example(_ text: String, _ sum: String) { #expect(SHA256.hex(text.utf8) == sum) }

  @Test func aMillionLetters() {
    #expect(
      SHA256.hex([UInt8](repeating: 0x61, count: 1_000_000))
        == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test(arguments: [1, 3, 55, 56, 63, 64, 65, 127, 1000])
  func piecesSumAsTheWhole(_ piece: Int) {
    let bytes = (0..<3001).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 / 251) }
    var hash = SHA256()
    for start in stride(from: 0, to: bytes.count, by: piece) {
      bytes[start..<min(start + piece, bytes.count)].withUnsafeBytes { hash.update($0) }
    }
    #expect(hash.finishedHex() == SHA256.hex(bytes))
    #expect(hash.finishedHex() == hash.finishedHex())
  }
}
