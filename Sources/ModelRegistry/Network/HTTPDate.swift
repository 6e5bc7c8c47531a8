import Foundation

/// Dates of HTTP, and the waits that they ask for.
enum HTTPDate {
  private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

  /// Seconds since 1970, of any of the three forms of RFC 9110, section 5.6.7; nil for anything else.
  ///
  /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`.
  static func seconds(_ text: String) -> Int? {
    var words = text.lowercased().split { " -,".contains($0) }.map(String.init)
    guard text.utf8.count <= 40, words.count == 6 || words.count == 5 else { return nil }
    if words.count == 5 { words = [words[0], words[2], words[1], words[4], words[3], "gmt"] }
    let clock = words[4].split(separator: ":", omittingEmptySubsequences: false).map { TransferLength.number(String($0)) }
    guard words[5] == "gmt", let day = TransferLength.number(words[1]), (1...31).contains(day),
      let month = months.firstIndex(of: words[2]), var year = TransferLength.number(words[3]), year < 10_000,
      clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2], hour < 24, minute < 60, second < 61
    else { return nil }
    if words[3].utf8.count == 2 { year += year < 70 ? 2000 : 1900 }
    // Days of the proleptic Gregorian calendar, years beginning in March.
    let (shifted, place) = month < 2 ? (year - 1, month + 10) : (year, month - 2)
    let days = 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + (153 * place + 2) / 5 + day - 719_469
    return ((days * 24 + hour) * 60 + minute) * 60 + second
  }

  /// The seconds that `Retry-After` asks for: a number, or a time that is compared with the answer's own `Date`.
  static func retryAfter(_ headers: [String: String], now: Date = Date()) -> Double? {
    guard let text = headers["retry-after"]?.trimming() else { return nil }
    if let seconds = TransferLength.number(text) { return Double(seconds) }
    guard let time = seconds(text) else { return nil }
    let start = headers["date"].flatMap { seconds($0.trimming()) } ?? Int(now.timeIntervalSince1970)
    return Double(max(0, time.addingClamped(-start)))
  }
}
