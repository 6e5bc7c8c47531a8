/// Cuts a template into tokens, with the whitespace control that transformers asks of Jinja: `trim_blocks` (a line end after
/// a block tag goes) and `lstrip_blocks` (spaces before a block tag at the start of its line go).
///
/// Source: the template designer documentation of Jinja 3.1, "Whitespace Control", and its behaviour.
struct JinjaLexer {
  private let source: [Unicode.Scalar]
  private var position = 0
  private var line = 1
  /// Whether the last tag took the end of its line along.
  private var isLineStart = true
  private var tokens: [JinjaToken] = []

  private enum Tag { case block, variable, comment }

  init(_ template: String) {
    // Line ends become \n, and one at the very end falls away.
    var scalars: [Unicode.Scalar] = []
    scalars.reserveCapacity(template.utf8.count)
    var afterReturn = false
    for scalar in template.unicodeScalars {
      if !(scalar == "\n" && afterReturn) { scalars.append(scalar == "\r" ? "\n" : scalar) }
      afterReturn = scalar == "\r"
    }
    if scalars.last == "\n" { scalars.removeLast() }
    source = scalars
  }

  /// All tokens, the last one ``JinjaToken/Kind/end``.
  static func tokens(of template: String) throws -> [JinjaToken] {
    var lexer = JinjaLexer(template)
    while lexer.position < lexer.source.count { try lexer.textAndTag() }
    lexer.append(.end)
    return lexer.tokens
  }

  // MARK: Text and tags

  private mutating func textAndTag() throws {
    guard let (start, tag) = nextTag() else {
      append(.data(text(position..<source.count)))
      position = source.count
      return
    }
    let sign = scalar(start + 2)
    let hasSign = sign == "-" || sign == "+"
    appendData(position..<start, sign: sign, isVariable: tag == .variable)
    moveTo(start + (hasSign ? 3 : 2))
    switch tag {
    case .comment: try skipComment()
    case .variable:
      append(.variableBegin)
      try expression(until: .variable)
    case .block:
      if let end = rawTagEnd() {
        moveTo(end)
        try rawText()
      } else {
        append(.blockBegin)
        try expression(until: .block)
      }
    }
    isLineStart = position > 0 && source[position - 1] == "\n"
  }

  private func nextTag() -> (start: Int, tag: Tag)? {
    for index in position..<source.count where source[index] == "{" {
      switch scalar(index + 1) {
      case "%": return (index, .block)
      case "{": return (index, .variable)
      case "#": return (index, .comment)
      default: continue
      }
    }
    return nil
  }

  /// The text before a tag, without the spaces that the tag takes away.
  private mutating func appendData(_ range: Range<Int>, sign: Unicode.Scalar?, isVariable: Bool) {
    var end = range.upperBound
    if sign == "-" {
      while end > range.lowerBound, PythonText.isSpace(source[end - 1]) { end -= 1 }
    } else if sign != "+", !isVariable {
      var lineStart = end
      while lineStart > range.lowerBound, source[lineStart - 1] != "\n" { lineStart -= 1 }
      let startsLine = lineStart > range.lowerBound || isLineStart
      if startsLine, source[lineStart..<end].allSatisfy(PythonText.isSpace) { end = lineStart }
    }
    if range.lowerBound < end { append(.data(text(range.lowerBound..<end))) }
    moveTo(range.upperBound)
  }

  private mutating func skipComment() throws {
    var index = position
    while index < source.count, !(source[index] == "#" && scalar(index + 1) == "}") { index += 1 }
    guard index < source.count else { throw JinjaError.invalid("a comment '{#' has no end '#}'", line: line) }
    let sign = index > position ? source[index - 1] : nil
    moveTo(index + 2)
    finishTag(sign: sign, trimsLineEnd: true)
  }

  /// After a tag: `-` takes all space, without a sign a block tag takes one line end.
  private mutating func finishTag(sign: Unicode.Scalar?, trimsLineEnd: Bool) {
    if sign == "-" {
      skipSpace()
    } else if trimsLineEnd, sign != "+", scalar(position) == "\n" {
      moveTo(position + 1)
    }
  }

  // MARK: Raw text

  /// The end of the tag when it is `{% raw %}`; the position is behind `{%` and its sign.
  private func rawTagEnd() -> Int? {
    guard let word = wordEnd("raw", at: position) else { return nil }
    if scalar(word) == "-", scalar(word + 1) == "%", scalar(word + 2) == "}" { return spaceEnd(word + 3) }
    return scalar(word) == "%" && scalar(word + 1) == "}" ? word + 2 : nil
  }

  /// The place behind `word` and the spaces round it.
  private func wordEnd(_ word: StaticString, at start: Int) -> Int? {
    var index = spaceEnd(start)
    for offset in 0..<word.utf8CodeUnitCount {
      guard scalar(index)?.value == UInt32(word.utf8Start[offset]) else { return nil }
      index += 1
    }
    return spaceEnd(index)
  }

  private mutating func rawText() throws {
    for start in position..<source.count where source[start] == "{" && scalar(start + 1) == "%" {
      let sign = scalar(start + 2)
      let hasSign = sign == "-" || sign == "+"
      guard let word = wordEnd("endraw", at: start + (hasSign ? 3 : 2)) else { continue }
      let endSign = scalar(word)
      let close = endSign == "-" || endSign == "+" ? word + 1 : word
      guard scalar(close) == "%", scalar(close + 1) == "}" else { continue }
      appendData(position..<start, sign: sign, isVariable: false)
      moveTo(close + 2)
      finishTag(sign: endSign, trimsLineEnd: true)
      return
    }
    throw JinjaError.invalid("'{% raw %}' has no '{% endraw %}'", line: line)
  }

  // MARK: Expressions

  private mutating func expression(until tag: Tag) throws {
    let firstLine = line
    let closing: Unicode.Scalar = tag == .block ? "%" : "}"
    var brackets: [Unicode.Scalar] = []
    while let next = scalar(position) {
      if brackets.isEmpty {
        let hasSign = next == "-" || (next == "+" && tag == .block)
        let start = position + (hasSign ? 1 : 0)
        if scalar(start) == closing, scalar(start + 1) == "}" {
          append(tag == .block ? .blockEnd : .variableEnd)
          moveTo(start + 2)
          finishTag(sign: hasSign ? next : nil, trimsLineEnd: tag == .block)
          return
        }
      }
      if PythonText.isSpace(next) {
        skipSpace()
      } else if next == "'" || next == "\"" {
        try string(quote: next)
      } else if "0"..."9" ~= next {
        try number()
      } else if next == "_" || next.properties.isAlphabetic {
        try name()
      } else {
        try symbol(next, &brackets)
      }
    }
    throw JinjaError.invalid("a tag has no end '\(tag == .block ? "%}" : "}}")'", line: firstLine)
  }

  private mutating func name() throws {
    let start = position
    while let next = scalar(position), next == "_" || next.properties.isAlphabetic || "0"..."9" ~= next { position += 1 }
    let name = text(start..<position)
    guard name.utf8.allSatisfy({ $0 < 0x80 }) else {
      throw JinjaError.unsupported("the name '\(name)' outside ASCII", line: line)
    }
    append(.name(name))
  }

  private mutating func symbol(_ next: Unicode.Scalar, _ brackets: inout [Unicode.Scalar]) throws {
    let closers: [Unicode.Scalar: Unicode.Scalar] = ["(": ")", "[": "]", "{": "}"]
    if let second = scalar(position + 1) {
      let pair = text(position..<(position + 2))
      if (next == second && (next == "/" || next == "*" || next == "=")) || (second == "=" && "!<>".unicodeScalars.contains(next))
      {
        position += 2
        append(.symbol(pair))
        return
      }
    }
    guard "+-/*%~[](){}><=.:|,;".unicodeScalars.contains(next) else {
      throw JinjaError.invalid("unexpected character '\(next)'", line: line)
    }
    if let closer = closers[next] { brackets.append(closer) }
    if closers.values.contains(next), brackets.popLast() != next {
      throw JinjaError.invalid("unexpected '\(next)'", line: line)
    }
    position += 1
    append(.symbol(String(next)))
  }

  private mutating func number() throws {
    let start = position
    let prefix = scalar(position + 1)?.properties.lowercaseMapping
    if source[start] == "0", let prefix, let radix = ["b": 2, "o": 8, "x": 16][prefix] {
      position += 2
      let digits = takeDigits(radix)
      guard let value = Int(digits, radix: radix) else {
        throw JinjaError.invalid("a number without digits or too large", line: line)
      }
      append(.integer(value))
      return
    }
    let whole = takeDigits(10)
    let afterDot = start > 0 && source[start - 1] == "."
    var fraction = ""
    var exponent = ""
    if !afterDot {
      if scalar(position) == ".", let digit = scalar(position + 1), "0"..."9" ~= digit {
        position += 1
        fraction = takeDigits(10)
      }
      if scalar(position) == "e" || scalar(position) == "E" {
        let mark = position
        position += 1
        let sign = scalar(position) == "-" || scalar(position) == "+" ? text(position..<(position + 1)) : ""
        position += sign.utf8.count
        let digits = takeDigits(10)
        if digits.isEmpty { position = mark } else { exponent = sign + digits }
      }
    }
    if fraction.isEmpty, exponent.isEmpty {
      guard let value = Int(whole), whole == "0" || whole.utf8.first != 0x30 || value == 0 else {
        throw JinjaError.invalid("the number \(whole) is too large or begins with 0", line: line)
      }
      append(.integer(value))
    } else {
      let literal = "\(whole).\(fraction.isEmpty ? "0" : fraction)\(exponent.isEmpty ? "" : "e" + exponent)"
      append(.float(Double(literal) ?? 0))
    }
  }

  /// Digits with single underscores between them.
  private mutating func takeDigits(_ radix: Int) -> String {
    var digits = ""
    while let next = scalar(position) {
      if next == "_", let after = scalar(position + 1), after.properties.numericType != nil || radix == 16 {
        position += 1
        continue
      }
      guard next.isASCII, Character(next).hexDigitValue.map({ $0 < radix }) == true else { break }
      digits.unicodeScalars.append(next)
      position += 1
    }
    return digits
  }

  private mutating func string(quote: Unicode.Scalar) throws {
    let first = line
    position += 1
    var value = String.UnicodeScalarView()
    while let next = scalar(position), next != quote {
      if next == "\n" { line += 1 }
      position += 1
      if next == "\\" { try escape(into: &value) } else { value.append(next) }
    }
    guard position < source.count else { throw JinjaError.invalid("a text in quotes has no end", line: first) }
    position += 1
    append(.string(String(value)))
  }

  /// An escape as Python's: what isn't one keeps its backslash.
  private mutating func escape(into value: inout String.UnicodeScalarView) throws {
    guard let next = scalar(position) else { return }
    position += 1
    switch next {
    case "\n": line += 1
    case "\\", "'", "\"": value.append(next)
    case "a": value.append("\u{07}")
    case "b": value.append("\u{08}")
    case "f": value.append("\u{0C}")
    case "n": value.append("\n")
    case "r": value.append("\r")
    case "t": value.append("\t")
    case "v": value.append("\u{0B}")
    case "x": value.append(try escapedScalar(digits: 2))
    case "u": value.append(try escapedScalar(digits: 4))
    case "U": value.append(try escapedScalar(digits: 8))
    case "N": throw JinjaError.unsupported("the escape \\N in a text", line: line)
    case "0"..."7":
      var code = next.value - 0x30
      var digits = 1
      while digits < 3, let digit = scalar(position), "0"..."7" ~= digit {
        code = code * 8 + digit.value - 0x30
        position += 1
        digits += 1
      }
      if let scalar = Unicode.Scalar(code) { value.append(scalar) }
    default:
      value.append("\\")
      value.append(next)
    }
  }

  private mutating func escapedScalar(digits: Int) throws -> Unicode.Scalar {
    let end = position + digits
    guard end <= source.count, let code = UInt32(text(position..<end), radix: 16), let scalar = Unicode.Scalar(code),
      source[position] != "+", source[position] != "-"
    else {
      throw JinjaError.invalid("an escape in a text: expected \(digits) hexadecimal digits of a character", line: line)
    }
    position = end
    return scalar
  }

  // MARK: Helpers

  private func scalar(_ index: Int) -> Unicode.Scalar? { index < source.count ? source[index] : nil }

  private func text(_ range: Range<Int>) -> String { PythonText.text(source[range]) }

  private func spaceEnd(_ start: Int) -> Int {
    var index = start
    while let next = scalar(index), PythonText.isSpace(next) { index += 1 }
    return index
  }

  private mutating func skipSpace() { moveTo(spaceEnd(position)) }

  private mutating func moveTo(_ index: Int) {
    for passed in position..<max(index, position) where source[passed] == "\n" { line += 1 }
    position = index
  }

  private mutating func append(_ kind: JinjaToken.Kind) { tokens.append(JinjaToken(kind: kind, line: line)) }
}
