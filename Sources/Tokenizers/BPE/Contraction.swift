/// English contractions: `'s 't 're 've 'm 'll 'd`.
enum Contraction {
  private static let longS: UInt32 = 0x17F

  /// The length in scalars of the contraction at `start`, if there is one.
  ///
  /// - Parameter ignoresCase: Takes capitals too, and ſ for s, as Oniguruma's case folding does.
  static func length(in text: ArraySlice<UInt32>, at start: Int, ignoresCase: Bool = false) -> Int? {
    func scalar(_ offset: Int) -> UInt32 {
      guard start + offset < text.endIndex else { return 0 }
      let scalar = text[start + offset]
      guard ignoresCase else { return scalar }
      if scalar == longS { return 0x73 }
      return scalar &- 0x41 < 26 ? scalar + 0x20 : scalar
    }
    guard text[start] == 0x27 else { return nil }
    switch scalar(1) {
    case 0x73, 0x74, 0x6D, 0x64: return 2  // s t m d
    case 0x72, 0x76: return scalar(2) == 0x65 ? 3 : nil  // re ve
    case 0x6C: return scalar(2) == 0x6C ? 3 : nil  // ll
    default: return nil
    }
  }
}
