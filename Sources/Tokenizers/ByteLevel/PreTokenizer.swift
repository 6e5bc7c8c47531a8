/// How a byte-level tokenizer splits text into words before it merges bytes.
///
/// The raw values are the names in a GGUF's `tokenizer.ggml.pre`. Each split keeps all characters, in order.
public enum PreTokenizer: String, Sendable, CaseIterable {
  /// GPT-2's: `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`.
  case gpt2 = "gpt-2"
  /// SmolLM's and SmolVLM's: every digit on its own, then GPT-2's on what is between.
  case smollm
  /// Qwen2's: `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`.
  case qwen2

  /// Whether the text is put into normal form C first.
  var composes: Bool { self == .qwen2 }

  /// Calls `body` with each word.
  func forEachWord(in text: [UInt32], _ body: (ArraySlice<UInt32>) -> Void) {
    switch self {
    case .gpt2: Self.forEachGPT2Word(in: text[...], body)
    case .smollm: Self.forEachSmolLMWord(in: text, body)
    case .qwen2: Self.forEachQwen2Word(in: text, body)
    }
  }

  private static func forEachSmolLMWord(in text: [UInt32], _ body: (ArraySlice<UInt32>) -> Void) {
    let table = ScalarTable.shared
    var start = 0
    for index in text.indices where !table[text[index]].isDisjoint(with: [.number, .otherDigit]) {
      forEachGPT2Word(in: text[start..<index], body)
      body(text[index...index])
      start = index + 1
    }
    forEachGPT2Word(in: text[start...], body)
  }

  private static func forEachGPT2Word(in text: ArraySlice<UInt32>, _ body: (ArraySlice<UInt32>) -> Void) {
    let scanner = WordScanner(text)
    var start = text.startIndex
    while start < text.endIndex {
      var end = start
      if let length = Contraction.length(in: text, at: start) {
        end = start + length
      } else {
        // One plain space joins the letters, the numbers or the other characters after it.
        let first = text[start] == 0x20 && start + 1 < text.endIndex ? start + 1 : start
        switch scanner.kind(at: first) {
        case .letter: end = scanner.end(of: .letter, from: first)
        case .number: end = scanner.end(of: .number, from: first)
        case .other: end = scanner.end(of: .other, from: first)
        case .whitespace: end = scanner.endOfSpaces(from: start)
        }
      }
      body(text[start..<end])
      start = end
    }
  }

  private static func forEachQwen2Word(in text: [UInt32], _ body: (ArraySlice<UInt32>) -> Void) {
    let scanner = WordScanner(text[...])
    var start = 0
    while start < text.count {
      let end = endOfQwen2Word(in: text, at: start, scanner)
      body(text[start..<end])
      start = end
    }
  }

  private static func endOfQwen2Word(in text: [UInt32], at start: Int, _ scanner: WordScanner) -> Int {
    if let length = Contraction.length(in: text[...], at: start, ignoresCase: true) { return start + length }
    let kind = scanner.kind(at: start)
    if kind == .letter { return scanner.end(of: .letter, from: start) }
    if kind == .number { return start + 1 }
    // Any one character but a line end joins the letters after it.
    if !scanner.isLineEnd(at: start), start + 1 < text.count, scanner.kind(at: start + 1) == .letter {
      return scanner.end(of: .letter, from: start + 1)
    }
    let first = text[start] == 0x20 && start + 1 < text.count ? start + 1 : start
    if scanner.kind(at: first) == .other {
      var end = scanner.end(of: .other, from: first)
      while end < text.count, scanner.isLineEnd(at: end) { end += 1 }
      return end
    }
    let run = start..<scanner.end(of: .whitespace, from: start)
    if let lineEnd = run.last(where: scanner.isLineEnd) { return lineEnd + 1 }
    return scanner.endOfSpaces(from: start)
  }
}

/// Runs of characters of one kind.
private struct WordScanner {
  enum Kind {
    case letter
    case number
    case whitespace
    case other
  }

  private let text: ArraySlice<UInt32>
  private let table = ScalarTable.shared

  init(_ text: ArraySlice<UInt32>) { self.text = text }

  func kind(at index: Int) -> Kind {
    let scalarClass = table[text[index]]
    if scalarClass.contains(.letter) { return .letter }
    if scalarClass.contains(.number) { return .number }
    return scalarClass.contains(.whitespace) ? .whitespace : .other
  }

  func end(of kind: Kind, from start: Int) -> Int {
    var end = start
    while end < text.endIndex, self.kind(at: end) == kind { end += 1 }
    return end
  }

  /// `\s+(?!\S)|\s+`: a run of spaces leaves its last one to the word after it, if it has more than one.
  func endOfSpaces(from start: Int) -> Int {
    let end = end(of: .whitespace, from: start)
    return end < text.endIndex && end - start > 1 ? end - 1 : end
  }

  func isLineEnd(at index: Int) -> Bool { text[index] == 0x0A || text[index] == 0x0D }
}
