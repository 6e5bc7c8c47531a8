/// What the tokenizers ask about a code point.
struct ScalarClass: OptionSet, Sendable {
  let rawValue: UInt8

  /// `\p{L}` as Oniguruma has it.
  static let letter = ScalarClass(rawValue: 1)
  /// `\p{N}` as Oniguruma has it.
  static let number = ScalarClass(rawValue: 2)
  /// A digit of Rust's newer Unicode that Oniguruma doesn't count as `\p{N}`.
  static let otherDigit = ScalarClass(rawValue: 4)
  /// `\s`.
  static let whitespace = ScalarClass(rawValue: 8)
  /// Has a lowercase mapping.
  static let uppercase = ScalarClass(rawValue: 16)
  /// May change, or change its neighbours, in normal form C; a text without such scalars is in that form already.
  static let composing = ScalarClass(rawValue: 32)
}

/// The class of every code point: 256 code points a page, equal pages stored once.
struct ScalarTable: Sendable {
  static let shared = ScalarTable()

  private let pageOfBlock: [UInt16]
  private let pages: [UInt8]

  private init() {
    var flags = [UInt8](repeating: 0, count: 0x110000)
    func mark(_ range: ClosedRange<UInt32>, _ mark: ScalarClass, by step: Int = 1) {
      for scalar in stride(from: Int(range.lowerBound), through: Int(range.upperBound), by: step) {
        flags[scalar] |= mark.rawValue
      }
    }
    func mark(ranges: [UInt32], _ set: ScalarClass) {
      for index in stride(from: 0, to: ranges.count, by: 2) { mark(ranges[index]...ranges[index + 1], set) }
    }
    mark(ranges: UnicodeTables.letters, .letter)
    mark(ranges: UnicodeTables.numbers, .number)
    mark(ranges: UnicodeTables.otherDigits, .otherDigit)
    mark(ranges: UnicodeTables.whitespace, .whitespace)
    let runs = UnicodeTables.lowercaseRuns
    for index in stride(from: 0, to: runs.count, by: 4) {
      mark(runs[index]...runs[index + 1], .uppercase, by: Int(runs[index + 2]))
    }
    mark(Lowercase.dottedCapitalI...Lowercase.dottedCapitalI, .uppercase)
    for scalar in NormalFormC.composingScalars { flags[Int(scalar)] |= ScalarClass.composing.rawValue }

    var pageOfBlock: [UInt16] = []
    var pages: [UInt8] = []
    var known: [ArraySlice<UInt8>: UInt16] = [:]
    for block in stride(from: 0, to: flags.count, by: 256) {
      let page = flags[block..<block + 256]
      if let index = known[page] {
        pageOfBlock.append(index)
      } else {
        let index = UInt16(pages.count / 256)
        known[page] = index
        pageOfBlock.append(index)
        pages += page
      }
    }
    self.pageOfBlock = pageOfBlock
    self.pages = pages
  }

  /// The class of a scalar; a number beyond U+10FFFF has none.
  subscript(scalar: UInt32) -> ScalarClass {
    guard scalar < 0x110000 else { return [] }
    return ScalarClass(rawValue: pages[Int(pageOfBlock[Int(scalar >> 8)]) << 8 | Int(scalar & 255)])
  }
}
