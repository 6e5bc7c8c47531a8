import Foundation

/// What `strftime_now` tells.
struct JinjaClock: Sendable {
  var now: Date
  var timeZone: TimeZone

  /// The time as C's `strftime` writes it.
  func text(_ format: String) throws -> String {
    var isDirective = false
    for scalar in format.unicodeScalars {
      if isDirective, "-_^#0123456789".unicodeScalars.contains(scalar) { continue }
      if isDirective, !"aAbBCdDeFgGhHIjklmMnpPrRStTuUVwWyY%".unicodeScalars.contains(scalar) {
        throw JinjaError.unsupported("'%\(scalar)' in 'strftime_now'")
      }
      isDirective = !isDirective && scalar == "%"
    }
    guard !format.isEmpty else { return "" }
    guard !isDirective, !format.utf8.contains(0) else { throw JinjaError.unsupported("the format '\(format)' of 'strftime_now'") }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = timeZone
    let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second, .weekday], from: now)
    var fields = tm()
    fields.tm_year = Int32((parts.year ?? 1900) - 1900)
    fields.tm_mon = Int32((parts.month ?? 1) - 1)
    fields.tm_mday = Int32(parts.day ?? 1)
    fields.tm_hour = Int32(parts.hour ?? 0)
    fields.tm_min = Int32(parts.minute ?? 0)
    fields.tm_sec = Int32(parts.second ?? 0)
    fields.tm_wday = Int32((parts.weekday ?? 1) - 1)
    fields.tm_yday = Int32((calendar.ordinality(of: .day, in: .year, for: now) ?? 1) - 1)
    var buffer = [CChar](repeating: 0, count: format.utf8.count * 64 + 1)
    let length = strftime(&buffer, buffer.count, format, &fields)
    return String(decoding: buffer[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
