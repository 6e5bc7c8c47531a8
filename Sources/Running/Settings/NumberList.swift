/// Lists of whole numbers: `4,8`, `1-4`, `16-64*2`, `10-50+10`.
package enum NumberList {
  /// The numbers that texts stand for, in order.
  ///
  /// - Throws: When one is malformed, out of range, or the list grows beyond 1000 numbers.
  package static func parse(_ texts: [String], option: String, in range: ClosedRange<Int>) throws(SettingError) -> [Int] {
    var numbers: [Int] = []
    for text in texts {
      guard let part = expand(text), part.allSatisfy(range.contains), numbers.count + part.count <= 1000 else {
        throw SettingError(
          "The value '\(text)' is invalid for '\(option)': expected whole numbers in \(range.lowerBound)...\(range.upperBound), or "
            + "ranges such as 1-4, 10-50+10 or 16-64*2")
      }
      numbers += part
    }
    return numbers
  }

  private static func expand(_ text: String) -> [Int]? {
    if let number = Int(text) { return [number] }
    let ends = text.split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Int(ends[0]) else { return nil }
    for (mark, grows) in [
      ("*", { (value: Int, step: Int) in value.multipliedReportingOverflow(by: step) }),
      ("+", { (value: Int, step: Int) in value.addingReportingOverflow(step) }),
    ] {
      let parts = ends[1].split(separator: Character(mark), omittingEmptySubsequences: false)
      if parts.count == 2 {
        guard let last = Int(parts[0]), let step = Int(parts[1]), first >= 1, step >= (mark == "*" ? 2 : 1) else { return nil }
        var list: [Int] = []
        var value = first
        while value <= last, list.count <= 1000 {
          list.append(value)
          let (next, isTooLarge) = grows(value, step)
          if isTooLarge { break }
          value = next
        }
        return list.isEmpty ? nil : list
      }
    }
    guard let last = Int(ends[1]), last >= first, last - first < 1000 else { return nil }
    return Array(first...last)
  }
}
