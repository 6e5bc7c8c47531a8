/// Unicode normal form C, by the data of Hugging Face's tokenizers (an older Unicode than the running system's).
///
/// The algorithm is that of UAX #15: full canonical decomposition, canonical ordering, canonical composition.
enum NormalFormC {
  /// The text in normal form C.
  static func apply(to scalars: [UInt32]) -> [UInt32] {
    let table = ScalarTable.shared
    guard scalars.contains(where: { $0 >= 0x300 && table[$0].contains(.composing) }) else { return scalars }
    var decomposed: [UInt32] = []
    decomposed.reserveCapacity(scalars.count + scalars.count / 2)
    for scalar in scalars { decompose(scalar, into: &decomposed) }
    return compose(ordered(decomposed))
  }

  /// The scalars that can change, or change their neighbours.
  static var composingScalars: Set<UInt32> {
    var scalars = Set(data.combiningClass.keys).union(data.decomposition.keys)
    let pairs = UnicodeTables.compositions
    for index in stride(from: 0, to: pairs.count, by: 3) { scalars.remove(pairs[index]) }
    for index in stride(from: 0, to: pairs.count, by: 3) { scalars.insert(pairs[index + 2]) }
    scalars.formUnion(Hangul.vowels)
    scalars.formUnion(Hangul.trailingConsonants)
    return scalars
  }

  // MARK: Data

  private struct Data: Sendable {
    var combiningClass: [UInt32: UInt8] = [:]
    var decomposition: [UInt32: [UInt32]] = [:]  // pairs: one step; the others: in full
    var composition: [UInt64: UInt32] = [:]

    init() {
      let classes = UnicodeTables.combiningClasses
      for index in stride(from: 0, to: classes.count, by: 3) {
        for scalar in classes[index]...classes[index + 1] {
          combiningClass[scalar] = UInt8(truncatingIfNeeded: classes[index + 2])
        }
      }
      let pairs = UnicodeTables.compositions
      for index in stride(from: 0, to: pairs.count, by: 3) {
        decomposition[pairs[index]] = [pairs[index + 1], pairs[index + 2]]
        composition[UInt64(pairs[index + 1]) << 32 | UInt64(pairs[index + 2])] = pairs[index]
      }
      let others = UnicodeTables.decompositions
      var index = 0
      while index < others.count {
        let count = Int(others[index + 1])
        decomposition[others[index]] = Array(others[index + 2..<index + 2 + count])
        index += 2 + count
      }
    }
  }

  private static let data = Data()

  /// The arithmetic of Hangul syllables (The Unicode Standard, section 3.12).
  private enum Hangul {
    static let syllables: ClosedRange<UInt32> = 0xAC00...0xD7A3
    static let leadingConsonants: ClosedRange<UInt32> = 0x1100...0x1112
    static let vowels: ClosedRange<UInt32> = 0x1161...0x1175
    static let trailingConsonants: ClosedRange<UInt32> = 0x11A8...0x11C2
    static let vowelCount: UInt32 = 21
    static let trailingCount: UInt32 = 28  // none is one of them
  }

  // MARK: Steps

  private static func decompose(_ scalar: UInt32, into result: inout [UInt32]) {
    if scalar < 0xC0 {
      result.append(scalar)
    } else if Hangul.syllables.contains(scalar) {
      let index = scalar - Hangul.syllables.lowerBound
      let trailing = index % Hangul.trailingCount
      result.append(Hangul.leadingConsonants.lowerBound + index / (Hangul.vowelCount * Hangul.trailingCount))
      result.append(Hangul.vowels.lowerBound + index / Hangul.trailingCount % Hangul.vowelCount)
      if trailing != 0 { result.append(Hangul.trailingConsonants.lowerBound - 1 + trailing) }
    } else if let parts = data.decomposition[scalar] {
      for part in parts { decompose(part, into: &result) }
    } else {
      result.append(scalar)
    }
  }

  /// Each run of marks, stably sorted by combining class.
  private static func ordered(_ scalars: [UInt32]) -> [(scalar: UInt32, combiningClass: UInt8)] {
    var result = scalars.map { (scalar: $0, combiningClass: $0 < 0x300 ? 0 : data.combiningClass[$0] ?? 0) }
    var start = 0
    while start < result.count {
      guard result[start].combiningClass != 0 else {
        start += 1
        continue
      }
      var end = start + 1
      while end < result.count, result[end].combiningClass != 0 { end += 1 }
      if end - start > 1 { result[start..<end].sort { $0.combiningClass < $1.combiningClass } }  // Swift's sort is stable
      start = end
    }
    return result
  }

  private static func compose(_ scalars: [(scalar: UInt32, combiningClass: UInt8)]) -> [UInt32] {
    var result: [UInt32] = []
    result.reserveCapacity(scalars.count)
    var starter: Int?
    var lastClass = -1  // the class of the last scalar kept after the starter; -1: there is none
    for (scalar, combiningClass) in scalars {
      if let index = starter, lastClass < Int(combiningClass), let composite = composite(result[index], scalar) {
        result[index] = composite
        continue
      }
      if combiningClass == 0 {
        starter = result.count
        lastClass = -1
      } else {
        lastClass = Int(combiningClass)
      }
      result.append(scalar)
    }
    return result
  }

  private static func composite(_ first: UInt32, _ second: UInt32) -> UInt32? {
    if Hangul.leadingConsonants.contains(first), Hangul.vowels.contains(second) {
      let leading = first - Hangul.leadingConsonants.lowerBound
      let vowel = second - Hangul.vowels.lowerBound
      return Hangul.syllables.lowerBound + (leading * Hangul.vowelCount + vowel) * Hangul.trailingCount
    }
    if Hangul.syllables.contains(first), (first - Hangul.syllables.lowerBound) % Hangul.trailingCount == 0,
      Hangul.trailingConsonants.contains(second)
    {
      return first + second - Hangul.trailingConsonants.lowerBound + 1
    }
    return data.composition[UInt64(first) << 32 | UInt64(second)]
  }
}
