/// Texts as Python has them: sequences of scalars, compared scalar by scalar.
enum PythonText {
  static func scalars(_ text: String) -> [Unicode.Scalar] { Array(text.unicodeScalars) }

  static func text(_ scalars: some Sequence<Unicode.Scalar>) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    return String(view)
  }

  static func areEqual(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }

  /// Order by scalars, which is the order of the UTF-8 bytes.
  static func isLess(_ left: String, _ right: String) -> Bool { left.utf8.lexicographicallyPrecedes(right.utf8) }

  /// `str.isspace`: Unicode's whitespace and the four separators U+001C to U+001F.
  static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.value < 0x80 { return scalar == " " || 0x09...0x0D ~= scalar.value || 0x1C...0x1F ~= scalar.value }
    return scalar.properties.isWhitespace
  }

  // MARK: Case

  /// `str.lower`: Σ at the end of a word becomes ς.
  static func lower(_ text: String) -> String {
    let all = scalars(text)
    var result = ""
    for (index, scalar) in all.enumerated() {
      result += scalar == "\u{3A3}" && isFinalSigma(all, index) ? "ς" : scalar.properties.lowercaseMapping
    }
    return result
  }

  static func upper(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { $0 += $1.properties.uppercaseMapping }
  }

  /// `str.title`: a cased scalar behind one without case begins a word.
  static func title(_ text: String) -> String {
    let all = scalars(text)
    var result = ""
    var follows = false
    for (index, scalar) in all.enumerated() {
      if !follows {
        result += scalar.properties.titlecaseMapping
      } else {
        result += scalar == "\u{3A3}" && isFinalSigma(all, index) ? "ς" : scalar.properties.lowercaseMapping
      }
      follows = scalar.properties.isCased
    }
    return result
  }

  /// `str.capitalize`.
  static func capitalize(_ text: String) -> String {
    guard let first = text.unicodeScalars.first else { return "" }
    // The rest in the context of the whole: a sigma looks at what stands before it.
    let all = scalars(text)
    var result = first.properties.titlecaseMapping
    for (index, scalar) in all.enumerated().dropFirst() {
      result += scalar == "\u{3A3}" && isFinalSigma(all, index) ? "ς" : scalar.properties.lowercaseMapping
    }
    return result
  }

  /// Jinja's `title` filter: words begin behind spaces, hyphens and opening brackets.
  static func titleOfWords(_ text: String) -> String {
    var words: [[Unicode.Scalar]] = []
    var wasBorder: Bool?
    for scalar in text.unicodeScalars {
      let isBorder = isSpace(scalar) || "-({[<".unicodeScalars.contains(scalar)
      if isBorder == wasBorder { words[words.count - 1].append(scalar) } else { words.append([scalar]) }
      wasBorder = isBorder
    }
    return words.map { upper(self.text($0.prefix(1))) + lower(self.text($0.dropFirst())) }.joined()
  }

  private static func isFinalSigma(_ all: [Unicode.Scalar], _ index: Int) -> Bool {
    let before = all[..<index].last { !$0.properties.isCaseIgnorable }
    guard before?.properties.isCased == true else { return false }
    let after = all[(index + 1)...].first { !$0.properties.isCaseIgnorable }
    return after?.properties.isCased != true
  }

  // MARK: Parts

  /// `str.strip` and its two halves; without characters whitespace goes.
  static func strip(_ text: String, _ characters: String?, left: Bool = true, right: Bool = true) -> String {
    let all = scalars(text)
    let wanted = characters.map { Set($0.unicodeScalars) }
    func goes(_ scalar: Unicode.Scalar) -> Bool { wanted?.contains(scalar) ?? isSpace(scalar) }
    var (start, end) = (0, all.count)
    while left, start < end, goes(all[start]) { start += 1 }
    while right, end > start, goes(all[end - 1]) { end -= 1 }
    return self.text(all[start..<end])
  }

  /// The first place of a text from `start` on.
  static func firstIndex(of needle: [Unicode.Scalar], in all: [Unicode.Scalar], from start: Int = 0) -> Int? {
    guard !needle.isEmpty else { return start <= all.count ? start : nil }
    var index = start
    while index + needle.count <= all.count {
      if all[index] == needle[0], all[index..<(index + needle.count)].elementsEqual(needle) { return index }
      index += 1
    }
    return nil
  }

  /// `str.split` and `str.rsplit` with a separator.
  static func split(_ text: String, by separator: String, most: Int, fromRight: Bool = false) -> [String] {
    var (all, needle) = (scalars(text), scalars(separator))
    if fromRight { (all, needle) = (all.reversed(), needle.reversed()) }
    var parts: [[Unicode.Scalar]] = []
    var start = 0
    while most < 0 || parts.count < most, let place = firstIndex(of: needle, in: all, from: start) {
      parts.append(Array(all[start..<place]))
      start = place + needle.count
    }
    parts.append(Array(all[start...]))
    return fromRight ? parts.reversed().map { self.text($0.reversed()) } : parts.map { self.text($0) }
  }

  /// `str.split` and `str.rsplit` without a separator: at runs of whitespace; the rest behind the most keeps its own.
  static func words(_ text: String, most: Int, fromRight: Bool = false) -> [String] {
    let all: [Unicode.Scalar] = fromRight ? scalars(text).reversed() : scalars(text)
    var parts: [[Unicode.Scalar]] = []
    var index = 0
    while true {
      while index < all.count, isSpace(all[index]) { index += 1 }
      guard index < all.count else { break }
      if most >= 0, parts.count == most {
        parts.append(Array(all[index...]))
        break
      }
      let start = index
      while index < all.count, !isSpace(all[index]) { index += 1 }
      parts.append(Array(all[start..<index]))
    }
    return fromRight ? parts.reversed().map { self.text($0.reversed()) } : parts.map { self.text($0) }
  }

  /// `str.splitlines`.
  static func lines(_ text: String, keepsEnds: Bool = false) -> [String] {
    let all = scalars(text)
    var lines: [String] = []
    var start = 0
    var index = 0
    while index < all.count {
      let value = all[index].value
      guard 0x0A...0x0D ~= value || 0x1C...0x1E ~= value || value == 0x85 || value == 0x2028 || value == 0x2029 else {
        index += 1
        continue
      }
      let end = value == 0x0D && index + 1 < all.count && all[index + 1].value == 0x0A ? index + 2 : index + 1
      lines.append(self.text(all[start..<(keepsEnds ? end : index)]))
      (start, index) = (end, end)
    }
    if start < all.count { lines.append(self.text(all[start...])) }
    return lines
  }

  /// `str.replace`; a negative count replaces all.
  static func replace(_ text: String, _ old: String, _ new: String, count: Int) -> String {
    if old.isEmpty {
      let all = scalars(text)
      let places = count < 0 ? all.count + 1 : min(count, all.count + 1)
      var result = ""
      for index in 0...all.count {
        if index < places { result += new }
        if index < all.count { result.unicodeScalars.append(all[index]) }
      }
      return result
    }
    return split(text, by: old, most: count).joined(separator: new)
  }

  // MARK: Representation

  /// `repr` of a text.
  static func quoted(_ text: String) -> String {
    let quote: Unicode.Scalar = text.unicodeScalars.contains("'") && !text.unicodeScalars.contains("\"") ? "\"" : "'"
    var result = String(quote)
    for scalar in text.unicodeScalars {
      switch scalar {
      case quote, "\\": result += "\\\(scalar)"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default:
        if isPrintable(scalar) {
          result.unicodeScalars.append(scalar)
        } else {
          let (mark, width) = scalar.value < 0x100 ? ("x", 2) : scalar.value < 0x10000 ? ("u", 4) : ("U", 8)
          let digits = String(scalar.value, radix: 16)
          result += "\\\(mark)" + String(repeating: "0", count: width - digits.utf8.count) + digits
        }
      }
    }
    result.unicodeScalars.append(quote)
    return result
  }

  private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    if scalar == " " { return true }
    return switch scalar.properties.generalCategory {
    case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator, .spaceSeparator: false
    default: true
    }
  }

  /// `repr` of a number: the shortest digits that give it back, with an exponent from 1e16 up.
  static func number(_ value: Double) -> String {
    if value.isNaN { return "nan" }
    if value.isInfinite { return value < 0 ? "-inf" : "inf" }
    let text = "\(value)"
    guard abs(value) >= 1e16, !text.contains("e") else { return text }
    let sign = value < 0 ? "-" : ""
    var digits = String(text.drop { $0 == "-" }.prefix { $0 != "." })
    let exponent = digits.utf8.count - 1
    while digits.utf8.count > 1, digits.utf8.last == 0x30 { digits.removeLast() }
    let fraction = digits.dropFirst()
    return "\(sign)\(digits.prefix(1))\(fraction.isEmpty ? "" : "." + fraction)e+\(exponent)"
  }
}
