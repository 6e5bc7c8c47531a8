import Foundation
import TestSupport
import Testing

@testable import Tokenizers

struct UnicodeTests {
  private func scalars(_ text: String) -> [UInt32] { text.unicodeScalars.map(\.value) }

  @Test(arguments: [
    ("e\u{301}", "é"), ("a\u{327}\u{301}", "á\u{327}"), ("a\u{301}\u{327}", "á\u{327}"), ("\u{1100}\u{1161}\u{11A8}", "각"),
    ("\u{AC00}\u{11A8}", "각"), ("\u{AC01}\u{11A8}", "\u{AC01}\u{11A8}"), ("\u{212B}", "Å"), ("\u{2126}", "Ω"),
    ("\u{958}", "\u{915}\u{93C}"), ("\u{344}", "\u{308}\u{301}"), ("\u{1E9B}\u{323}", "\u{1E9B}\u{323}"),
    ("\u{F900}", "\u{8C48}"), ("\u{301}a", "\u{301}a"), ("a\u{345}\u{301}", "á\u{345}"), ("", ""),
  ])
  func composition(text: String, composed: String) {
    #expect(NormalFormC.apply(to: scalars(text)) == scalars(composed))
  }

  /// Decomposing by Foundation and composing here gives back what Foundation composes, where both know the scalars.
  @Test func compositionAgreesWithFoundation() {
    var random = TestRandom(seed: 7)
    // Assigned since Unicode 1.1 or so: Latin, Greek, Cyrillic, their extensions, kana, Hangul.
    let ranges: [ClosedRange<UInt32>] = [
      0x41...0x5A, 0xC0...0x17F, 0x300...0x345, 0x386...0x3CE, 0x401...0x45F, 0x1E00...0x1EF9, 0x3041...0x3094, 0x3099...0x309A,
      0xAC00...0xD7A3,
    ]
    for _ in 0..<2000 {
      let text = (0..<Int.random(in: 1...8, using: &random)).compactMap { _ -> UInt32? in
        guard let range = ranges.randomElement(using: &random), let scalar = range.randomElement(using: &random) else {
          return nil
        }
        return scalar == 0x38B || scalar == 0x38D || scalar == 0x3A2 ? nil : scalar  // unassigned
      }
      var string = String.UnicodeScalarView()
      string.append(contentsOf: text.compactMap(Unicode.Scalar.init))
      let decomposed = scalars(String(string).decomposedStringWithCanonicalMapping)
      let expected = scalars(String(string).precomposedStringWithCanonicalMapping)
      #expect(NormalFormC.apply(to: text) == expected)
      #expect(NormalFormC.apply(to: decomposed) == expected)
      #expect(NormalFormC.apply(to: expected) == expected)
    }
  }

  @Test(arguments: [
    ("HELLO", "hello"), ("ΟΔΟΣ", "οδοσ"), ("İI", "i\u{307}i"), ("ẞǅ", "ßǆ"), ("ÀÉÞ×", "àéþ×"), ("Ꭰ", "ꭰ"), ("日本", "日本"),
    ("𐐀", "𐐨"),
  ])
  func lowercase(text: String, lowered: String) {
    #expect(Lowercase.apply(to: scalars(text)) == scalars(lowered))
  }

  @Test func classes() {
    let table = ScalarTable.shared
    for (text, expected) in [
      ("aÅ日ªʰ", ScalarClass.letter), ("1½Ⅷ٣²", .number), (" \t\n\u{85}\u{A0}\u{3000}\u{2028}", .whitespace),
    ] {
      for scalar in scalars(text) {
        #expect(!table[scalar].isDisjoint(with: expected), "U+\(String(scalar, radix: 16))")
      }
    }
    // Combining marks, symbols, zero-width space, private use: none of them.
    for scalar: UInt32 in [0x301, 0x200B, 0xFEFF, 0x2603, 0x1F600, 0xE000, 0x1C, 0x10FFFF, 0x110000, .max] {
      #expect(table[scalar].isDisjoint(with: [.letter, .number, .whitespace]), "U+\(String(scalar, radix: 16))")
    }
  }

  @Test func alphabetIsABijection() {
    #expect(Set(ByteAlphabet.scalarOfByte).count == 256)
    for byte in UInt8.min...UInt8.max { #expect(ByteAlphabet.bytes(of: ByteAlphabet.token(of: byte)) == [byte]) }
    #expect(ByteAlphabet.token(of: 0x20) == "Ġ")
    #expect(ByteAlphabet.token(of: 0x0A) == "Ċ")
    // A text from outside of the alphabet is its own bytes.
    #expect(ByteAlphabet.bytes(of: "a b") == Array("a b".utf8))
  }

  @Test func utf8OfEveryLength() {
    for scalar: UInt32 in [0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF] {
      var bytes: [UInt8] = []
      UTF8Bytes.forEach(of: scalar) { bytes.append($0) }
      #expect(bytes == Unicode.Scalar(scalar).map { Array(String($0).utf8) })
    }
  }
}
