/// Lengths that servers tell, within what a file of a model can be.
enum TransferLength {
  /// The largest file that is taken, 1 PiB: sums of such lengths stay far from the end of `Int`.
  static let most = 1 << 50

  /// Digits only.
  static func number(_ text: String) -> Int? {
    !text.isEmpty && text.utf8.allSatisfy { (48...57).contains($0) } ? Int(text) : nil
  }

  /// The length that an answer announces; nil without one.
  ///
  /// - Throws: ``RegistryError`` `invalidContent` when it's no number, or beyond ``most``.
  static func announced(_ text: String?, by url: String) throws(RegistryError) -> Int? {
    guard let text else { return nil }
    // The same length twice is one; different ones are an attack on whoever takes another.
    let values = Set(text.split(separator: ",").map { $0.trimming() })
    guard values.count == 1, let value = values.first, let length = number(value), length <= most else {
      throw RegistryError(
        .invalidContent, "\(url): Content-Length: expected a number of bytes up to \(most), found '\(text.prefix(80))'; refused")
    }
    return length
  }
}

extension StringProtocol {
  /// Without spaces and tabs at its ends.
  func trimming() -> String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    var part = self[...]
    while let first = part.first, isBlank(first) { part = part.dropFirst() }
    while let last = part.last, isBlank(last) { part = part.dropLast() }
    return String(part)
  }
}

extension Int {
  /// The sum, or the largest number when there's no such.
  func addingClamped(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other > 0 ? .max : .min) : sum
  }
}
