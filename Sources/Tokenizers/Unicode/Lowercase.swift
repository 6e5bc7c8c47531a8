/// Lowercase, scalar by scalar, as Hugging Face's `Lowercase` normalizer does it.
///
/// No context counts: a capital sigma at the end of a word becomes σ, never ς.
enum Lowercase {
  /// İ, the only scalar whose lowercase has two scalars: i and a combining dot.
  static let dottedCapitalI: UInt32 = 0x130

  private static let mapping: [UInt32: UInt32] = {
    var mapping: [UInt32: UInt32] = [:]
    let runs = UnicodeTables.lowercaseRuns
    for index in stride(from: 0, to: runs.count, by: 4) {
      for scalar in stride(from: runs[index], through: runs[index + 1], by: Int(runs[index + 2])) {
        mapping[scalar] = scalar &+ runs[index + 3]
      }
    }
    return mapping
  }()

  /// The text in lowercase.
  static func apply(to scalars: [UInt32]) -> [UInt32] {
    let table = ScalarTable.shared
    var result: [UInt32] = []
    result.reserveCapacity(scalars.count)
    for scalar in scalars {
      if scalar < 0x80 {
        result.append(scalar &- 0x41 < 26 ? scalar + 0x20 : scalar)
      } else if !table[scalar].contains(.uppercase) {
        result.append(scalar)
      } else if scalar == dottedCapitalI {
        result += [0x69, 0x307]
      } else {
        result.append(mapping[scalar] ?? scalar)
      }
    }
    return result
  }
}
