/// A token that is cut out of the text before the rest is split into words: a special token, mostly.
public struct AddedToken: Sendable, Hashable {
  /// The text that it stands for.
  public var content: String
  /// Its id.
  public var id: Int
  /// Left out when decoding on request, and matched only where special tokens are parsed.
  public var isSpecial: Bool
  /// Takes the whitespace before it along.
  public var stripsLeft: Bool
  /// Takes the whitespace after it along.
  public var stripsRight: Bool
  /// Matched only where no word character touches it.
  public var isSingleWord: Bool
  /// Looked for in the normalised text (composed, lowercased) instead of the text as given.
  public var isNormalized: Bool

  /// Makes an added token.
  public init(
    content: String, id: Int, isSpecial: Bool = true, stripsLeft: Bool = false, stripsRight: Bool = false,
    isSingleWord: Bool = false, isNormalized: Bool = false
  ) {
    self.content = content
    self.id = id
    self.isSpecial = isSpecial
    self.stripsLeft = stripsLeft
    self.stripsRight = stripsRight
    self.isSingleWord = isSingleWord
    self.isNormalized = isNormalized
  }
}

/// A stretch of text between added tokens, or an added token's id.
enum TextSegment: Equatable {
  case text([UInt32])
  case token(Int)
}

/// Finds added tokens: first those that want the text as given, then, in what is left and normalised, the others.
struct AddedTokenSplitter: Sendable {
  typealias Normalizer = @Sendable ([UInt32]) -> [UInt32]

  private struct Pattern {
    var scalars: [UInt32]
    var token: AddedToken
  }

  private let raw: [UInt32: [Pattern]]  // by first scalar, longest first
  private let normalized: [UInt32: [Pattern]]
  private let normalize: Normalizer

  /// Makes a splitter; of two tokens with the same text the later one counts.
  init(_ tokens: [AddedToken], normalize: @escaping Normalizer) {
    func index(_ tokens: [AddedToken], _ form: Normalizer) -> [UInt32: [Pattern]] {
      var byScalars: [[UInt32]: AddedToken] = [:]
      for token in tokens { byScalars[form(token.content.unicodeScalars.map(\.value))] = token }
      var result: [UInt32: [Pattern]] = [:]
      for (scalars, token) in byScalars {
        if let first = scalars.first { result[first, default: []].append(Pattern(scalars: scalars, token: token)) }
      }
      return result.mapValues { $0.sorted { $0.scalars.count > $1.scalars.count } }
    }
    raw = index(tokens.filter { !$0.isNormalized }) { $0 }
    normalized = index(tokens.filter(\.isNormalized), normalize)
    self.normalize = normalize
  }

  /// The text in order, normalised between the tokens.
  ///
  /// - Parameter parsesSpecial: False leaves special tokens in the text as ordinary characters.
  func split(_ text: [UInt32], parsesSpecial: Bool = true) -> [TextSegment] {
    Self.split(text, by: raw, parsesSpecial: parsesSpecial).flatMap { segment in
      guard case .text(let text) = segment else { return [segment] }
      return Self.split(normalize(text), by: normalized, parsesSpecial: parsesSpecial)
    }
  }

  private static func split(_ text: [UInt32], by patterns: [UInt32: [Pattern]], parsesSpecial: Bool) -> [TextSegment] {
    guard !text.isEmpty else { return [] }
    guard !patterns.isEmpty else { return [.text(text)] }
    let table = ScalarTable.shared
    var segments: [TextSegment] = []
    var handled = 0  // all before is in `segments`
    var position = 0
    while position < text.count {
      guard let candidates = patterns[text[position]],
        let match = candidates.first(where: { text[position...].starts(with: $0.scalars) })
      else {
        position += 1
        continue
      }
      var (start, end) = (position, position + match.scalars.count)
      position = end
      if match.token.isSpecial && !parsesSpecial { continue }
      if match.token.isSingleWord {
        if start > 0 && isWordCharacter(text[start - 1]) || end < text.count && isWordCharacter(text[end]) { continue }
      }
      if match.token.stripsLeft {
        while start > handled, table[text[start - 1]].contains(.whitespace) { start -= 1 }
      }
      if match.token.stripsRight {
        while end < text.count, table[text[end]].contains(.whitespace) { end += 1 }
      }
      if handled < start { segments.append(.text(Array(text[handled..<start]))) }
      segments.append(.token(match.token.id))
      handled = end
    }
    if handled < text.count { segments.append(.text(Array(text[handled...]))) }
    return segments
  }

  /// `\w` of UTS #18: alphabetic, mark, decimal number, connector punctuation or join control.
  private static func isWordCharacter(_ value: UInt32) -> Bool {
    guard let scalar = Unicode.Scalar(value) else { return false }
    let properties = scalar.properties
    if properties.isAlphabetic || properties.isJoinControl { return true }
    return switch properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark, .decimalNumber, .connectorPunctuation: true
    default: false
    }
  }
}
