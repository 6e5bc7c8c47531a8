import Foundation

/// Numbers with units for people.
public enum Units {
  /// A duration in three significant digits: `734 ns`, `12.3 ms`, `1.20 s`, `95.0 s`, `4.5 min`.
  public static func duration(ns: Double) -> String {
    if !ns.isFinite { return "?" }
    let scales: [(Double, String)] = [(1, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s"), (60e9, "min")]
    var scale = scales[0]
    for candidate in scales {
      // 0.9995 of a unit would already be printed as 1; minutes begin at two.
      let threshold = candidate.1 == "min" ? 120e9 : candidate.0 * 0.9995
      if abs(ns) >= threshold { scale = candidate }
    }
    return significant(ns / scale.0) + " " + scale.1
  }

  /// A duration with its spread in the same unit: `12.3 ±0.4 ms`.
  public static func duration(ns: Double, spread: Double?) -> String {
    let text = duration(ns: ns)
    guard let spread, let unit = text.split(separator: " ").last else { return text }
    let scales: [String: Double] = ["ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9]
    let scale = scales[String(unit)] ?? 1
    return "\(text.dropLast(unit.count + 1)) ±\(significant(spread / scale, digits: 2)) \(unit)"
  }

  /// A size: `512 B`, `1.50 KiB`, `3.42 GiB`.
  public static func bytes(_ count: Double) -> String {
    if !count.isFinite { return "?" }
    var value = count
    var unit = "B"
    for next in ["KiB", "MiB", "GiB", "TiB"] where abs(value) >= 1023.5 {
      value /= 1024
      unit = next
    }
    return (unit == "B" ? String(Int(value)) : significant(value)) + " " + unit
  }

  /// A count with thousands separated: `859,520,964`.
  public static func grouped(_ value: Int) -> String {
    let digits = String(value.magnitude)
    var output = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { output += "," }
      output.append(digit)
    }
    return (value < 0 ? "-" : "") + output
  }

  /// A number with so many significant digits, without an exponent.
  public static func significant(_ value: Double, digits: Int = 3) -> String {
    if value == 0 || !value.isFinite { return "0" }
    let magnitude = Int(log10(abs(value)).rounded(.down))
    let decimals = max(0, digits - 1 - magnitude)
    let text = String(format: "%.\(decimals)f", value)
    // Rounding may have added a digit: 9.999 becomes 10.00, which should be 10.0.
    let isLonger = decimals > 0 && text.filter(\.isNumber).drop { $0 == "0" }.count > digits
    return isLonger ? String(format: "%.\(decimals - 1)f", value) : text
  }
}
