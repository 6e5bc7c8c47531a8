extension JSONValue: CustomStringConvertible {
  /// How a number that isn't finite is written, for which JSON has no word.
  public enum NonFinite: Sendable {
    /// As `null`.
    case null
    /// As `NaN`, `Infinity` and `-Infinity`, which Python reads: for configurations of models.
    case python
  }

  /// The value as JSON text, keys sorted, on one line.
  public var description: String { text(indent: nil) }

  /// The value as JSON text with sorted keys.
  ///
  /// - Parameters:
  ///   - indent: Spaces a level, each member on a line of its own; nil writes one line.
  ///   - nonFinite: How a number that isn't finite is written.
  public func text(indent: Int? = 2, nonFinite: NonFinite = .null) -> String {
    var writer = JSONWriter(indent: indent, nonFinite: nonFinite)
    writer.write(self, depth: 0)
    return writer.text
  }
}

/// Writes a value as text.
private struct JSONWriter {
  let indent: Int?
  let nonFinite: JSONValue.NonFinite
  private(set) var text = ""

  init(indent: Int?, nonFinite: JSONValue.NonFinite) {
    self.indent = indent
    self.nonFinite = nonFinite
  }

  mutating func write(_ value: JSONValue, depth: Int) {
    switch value {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .integer(let value): text += String(value)
    case .unsigned(let value): text += String(value)
    case .number(let value): write(value)
    case .string(let value): write(value)
    case .array(let values):
      list("[", values, "]", depth) { writer, value in writer.write(value, depth: depth + 1) }
    case .object(let members):
      list("{", members.sorted, "}", depth) { writer, member in
        writer.write(member.key)
        writer.text += ": "
        writer.write(member.value, depth: depth + 1)
      }
    }
  }

  private mutating func list<Item>(
    _ opening: String, _ items: [Item], _ closing: String, _ depth: Int, _ write: (inout JSONWriter, Item) -> Void
  ) {
    text += opening
    for (place, item) in items.enumerated() {
      if place > 0 { text += indent == nil ? ", " : "," }
      newLine(depth + 1)
      write(&self, item)
    }
    if !items.isEmpty { newLine(depth) }
    text += closing
  }

  private mutating func newLine(_ depth: Int) {
    guard let indent else { return }
    text += "\n" + String(repeating: " ", count: indent * depth)
  }

  private mutating func write(_ value: Double) {
    if value.isFinite {
      text += "\(value)"
    } else if nonFinite == .null {
      text += "null"
    } else {
      text += value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity"
    }
  }

  private mutating func write(_ string: String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case "\0"..<" ":
        let hex = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}
