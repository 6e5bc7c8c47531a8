/// CLIP's split into words, over normalised scalars.
///
/// At each place the first alternative counts that fits:
/// `<|startoftext|>|<|endoftext|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+`; whitespace falls away.
/// The byte-level stage after it splits the two markers again, at the bars.
enum CLIPWordSplitter {
  private static let markers: [[[UInt32]]] = ["startoftext", "endoftext"].map { name in
    ["<|", name, "|>"].map { $0.unicodeScalars.map(\.value) }
  }

  /// Calls `body` with each word.
  static func forEachWord(in text: [UInt32], _ body: (ArraySlice<UInt32>) -> Void) {
    let table = ScalarTable.shared
    var start = 0
    while start < text.count {
      let scalarClass = table[text[start]]
      var end = start + 1
      if scalarClass.contains(.whitespace) {
        start = end
        continue
      }
      if let marker = marker(in: text, at: start) {
        for part in marker {
          body(text[start..<start + part.count])
          start += part.count
        }
        continue
      }
      if let length = Contraction.length(in: text[...], at: start) {
        end = start + length
      } else if scalarClass.contains(.letter) {
        while end < text.count, table[text[end]].contains(.letter) { end += 1 }
      } else if !scalarClass.contains(.number) {
        while end < text.count, table[text[end]].isDisjoint(with: [.letter, .number, .whitespace]) { end += 1 }
      }
      body(text[start..<end])
      start = end
    }
  }

  private static func marker(in text: [UInt32], at start: Int) -> [[UInt32]]? {
    guard text[start] == 0x3C else { return nil }
    return markers.first { text[start...].starts(with: $0.joined()) }
  }
}
