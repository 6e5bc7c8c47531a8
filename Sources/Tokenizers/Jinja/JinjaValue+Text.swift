extension JinjaValue {
  /// What `{{ … }}` prints: Python's `str`.
  func printed() throws -> String {
    switch self {
    case .undefined: ""
    case .string(let text), .safe(let text): text
    default: try represented()
    }
  }

  /// Python's `repr`.
  func represented() throws -> String {
    switch self {
    case .undefined: return "Undefined"
    case .none: return "None"
    case .bool(let value): return value ? "True" : "False"
    case .integer(let value): return "\(value)"
    case .float(let value): return PythonText.number(value)
    case .string(let text): return PythonText.quoted(text)
    case .sequence(let sequence):
      let items = try sequence.items.map { try $0.represented() }.joined(separator: ", ")
      switch sequence.kind {
      case .list: return "[\(items)]"
      case .tuple: return sequence.items.count == 1 ? "(\(items),)" : "(\(items))"
      case .range, .view: throw JinjaError.unsupported("printing a range or a view of a dictionary")
      }
    case .dictionary(let dictionary):
      return "{"
        + (try dictionary.entries.map { "\(try $0.key.represented()): \(try $0.value.represented())" }).joined(separator: ", ")
        + "}"
    case .safe, .iterator, .namespace, .macro, .loop, .function, .method:
      throw JinjaError.unsupported("printing a value of type \(typeName)")
    }
  }

  /// How `tojson` lays a value out.
  struct JSONLayout {
    var indent: String?
    var itemSeparator: String
    var keySeparator: String
    var sortsKeys: Bool
    var isASCII: Bool
  }

  /// Python's `json.dumps`.
  func json(_ layout: JSONLayout, level: Int = 0) throws -> String {
    func lines(_ items: [String], _ open: String, _ close: String) -> String {
      guard !items.isEmpty else { return open + close }
      guard let indent = layout.indent else { return open + items.joined(separator: layout.itemSeparator) + close }
      let inner = "\n" + String(repeating: indent, count: level + 1)
      return open + inner + items.joined(separator: layout.itemSeparator + inner) + "\n" + String(repeating: indent, count: level)
        + close
    }
    switch self {
    case .none: return "null"
    case .bool(let value): return value ? "true" : "false"
    case .integer(let value): return "\(value)"
    case .float(let value):
      if value.isNaN { return "NaN" }
      return value.isInfinite ? (value < 0 ? "-Infinity" : "Infinity") : PythonText.number(value)
    case .string(let text), .safe(let text): return Self.jsonString(text, isASCII: layout.isASCII)
    case .sequence(let sequence) where sequence.kind == .list || sequence.kind == .tuple:
      return lines(try sequence.items.map { try $0.json(layout, level: level + 1) }, "[", "]")
    case .dictionary(let dictionary):
      var entries = dictionary.entries
      if layout.sortsKeys {
        entries = try entries.sorted { try $0.key.isLess(than: $1.key) }
      }
      let items = try entries.map { entry in
        let key = entry.key.text == nil ? "\"\(try entry.key.json(layout))\"" : try entry.key.json(layout)
        return key + layout.keySeparator + (try entry.value.json(layout, level: level + 1))
      }
      return lines(items, "{", "}")
    default: throw JinjaError.invalid("tojson: a value of type \(typeName) has no JSON")
    }
  }

  private static func jsonString(_ text: String, isASCII: Bool) -> String {
    var result = "\""
    func escape(_ unit: UInt16) {
      let digits = String(unit, radix: 16)
      result += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    }
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\u{08}": result += "\\b"
      case "\u{0C}": result += "\\f"
      default:
        if scalar.value < 0x20 || (isASCII && !scalar.isASCII) {
          for unit in String(scalar).utf16 { escape(unit) }
        } else {
          result.unicodeScalars.append(scalar)
        }
      }
    }
    return result + "\""
  }
}
