extension JinjaEvaluator {
  /// Filters that Jinja has and this evaluator hasn't.
  private static let unsupportedFilters: Set<String> = [
    "attr", "batch", "center", "e", "escape", "filesizeformat", "forceescape", "format", "groupby", "pprint", "random", "round",
    "slice", "striptags", "truncate", "urlencode", "urlize", "wordcount", "wordwrap", "xmlattr",
  ]

  /// A value through a filter.
  mutating func filter(_ name: String, _ value: JinjaValue, _ arguments: JinjaArguments) throws -> JinjaValue {
    try budget.spend(value.size)
    switch name {
    case "upper", "lower", "title", "capitalize", "trim", "string", "safe", "replace", "indent":
      return try textFilter(name, value, arguments)
    case "default", "d":
      let bound = try arguments.bound(to: "default_value", "boolean", of: name)
      let isMissing = value.isUndefined || (bound[1]?.isTrue == true && !value.isTrue)
      return isMissing ? bound[0] ?? .string("") : value
    case "length", "count":
      _ = try arguments.bound(of: name)
      return .integer(try length(of: value))
    case "int", "float", "abs": return try numberFilter(name, value, arguments)
    case "tojson": return try json(value, arguments)
    case "items":
      _ = try arguments.bound(of: name)
      if value.isUndefined { return .iterator(try JinjaIterator([])) }
      guard case .dictionary(let dictionary) = value else {
        throw JinjaError.invalid("'items' needs a dictionary, found \(value.typeName)")
      }
      return .iterator(
        try JinjaIterator(try dictionary.entries.map { .sequence(try JinjaSequence(.tuple, [$0.key, $0.value])) }))
    case "first", "last", "list", "join", "reverse", "sort", "dictsort", "unique", "min", "max", "sum", "map", "select", "reject",
      "selectattr", "rejectattr":
      return try listFilter(name, value, arguments)
    default:
      throw Self.unsupportedFilters.contains(name)
        ? JinjaError.unsupported("the filter '\(name)'") : JinjaError.invalid("there is no filter '\(name)'")
    }
  }

  private func length(of value: JinjaValue) throws -> Int {
    switch value {
    case .undefined: return 0
    case .string(let text), .safe(let text): return text.unicodeScalars.count
    case .sequence(let sequence): return sequence.items.count
    case .dictionary(let dictionary): return dictionary.entries.count
    case .loop(let loop): return loop.items.count
    default: throw JinjaError.invalid("a value of type \(value.typeName) has no length")
    }
  }

  // MARK: Texts

  private func textFilter(_ name: String, _ value: JinjaValue, _ arguments: JinjaArguments) throws -> JinjaValue {
    let text = try value.printed()
    var isSafe = false
    if case .safe = value { isSafe = true }
    func result(_ text: String) -> JinjaValue { isSafe ? .safe(text) : .string(text) }
    switch name {
    case "trim":
      let characters = try arguments.bound(to: "chars", of: name)[0]
      if let characters, !characters.equals(.none), characters.text == nil {
        throw JinjaError.invalid("'trim': expected a text, found \(characters.typeName)")
      }
      return result(PythonText.strip(text, characters?.text))
    case "replace":
      guard !isSafe else { throw JinjaError.unsupported("'replace' of a text behind 'safe'") }
      let bound = try arguments.bound(to: "old", "new", "count", required: 2, of: name)
      let parts = try bound[..<2].map { JinjaValue.string(try $0?.printed() ?? "") }
      return try JinjaMethods(budget: budget).replace(text, [parts[0], parts[1], bound[2]], name)
    case "indent": return result(try indented(text, arguments))
    default: _ = try arguments.bound(of: name)
    }
    switch name {
    case "upper": return result(PythonText.upper(text))
    case "lower": return result(PythonText.lower(text))
    case "title": return .string(PythonText.titleOfWords(text))
    case "capitalize": return result(PythonText.capitalize(text))
    case "safe": return .safe(text)
    default: return result(text)
    }
  }

  private func indented(_ text: String, _ arguments: JinjaArguments) throws -> String {
    let bound = try arguments.bound(to: "width", "first", "blank", of: "indent")
    let margin: String
    if let given = bound[0]?.text {
      margin = given
    } else {
      guard let width = bound[0] == nil ? 4 : bound[0]?.integer else {
        throw JinjaError.invalid("'indent': the width is no number")
      }
      try budget.spend(width)
      margin = String(repeating: " ", count: max(0, width))
    }
    try budget.spend(text.utf8.count &+ (text.utf8.count { $0 == 0x0A } + 1) &* margin.utf8.count)
    let (first, blank) = (bound[1]?.isTrue ?? false, bound[2]?.isTrue ?? false)
    let body: String
    if blank {
      // Every line but the first gets the margin, the empty ones too.
      body = PythonText.lines(text + "\n").joined(separator: "\n" + margin)
    } else {
      var lines = PythonText.lines(text + "\n")
      let head = lines.isEmpty ? "" : lines.removeFirst()
      body = lines.isEmpty ? head : head + "\n" + lines.map { $0.isEmpty ? $0 : margin + $0 }.joined(separator: "\n")
    }
    return first ? margin + body : body
  }

  private func json(_ value: JinjaValue, _ arguments: JinjaArguments) throws -> JinjaValue {
    let bound = try arguments.bound(to: "ensure_ascii", "indent", "separators", "sort_keys", of: "tojson")
    var layout = JinjaValue.JSONLayout(
      indent: nil, itemSeparator: ", ", keySeparator: ": ", sortsKeys: bound[3]?.isTrue ?? false,
      isASCII: bound[0]?.isTrue ?? false)
    if let indent = bound[1], !indent.equals(.none) {
      if let width = indent.integer {
        guard width <= 64 else { throw JinjaError(kind: .tooMuch, message: "'tojson' with an indent of \(width)") }
        layout.indent = String(repeating: " ", count: max(0, width))
      } else if let text = indent.text {
        layout.indent = text
      } else {
        throw JinjaError.invalid("'tojson': the indent is no number and no text")
      }
      layout.itemSeparator = ","
    }
    if let separators = bound[2], !separators.equals(.none) {
      guard case .sequence(let pair) = separators, pair.items.count == 2, let item = pair.items[0].text,
        let key = pair.items[1].text
      else { throw JinjaError.invalid("'tojson': the separators aren't two texts") }
      (layout.itemSeparator, layout.keySeparator) = (item, key)
    }
    let text = try value.json(layout)
    try budget.spend(text.utf8.count)
    return .string(text)
  }

  // MARK: Numbers

  private func numberFilter(_ name: String, _ value: JinjaValue, _ arguments: JinjaArguments) throws -> JinjaValue {
    if case .undefined(let what) = value { throw JinjaError.invalid(what) }
    if name == "abs" {
      _ = try arguments.bound(of: name)
      if case .float(let number) = value { return .float(abs(number)) }
      guard let number = value.integer, number != .min else {
        throw JinjaError.invalid("'abs' needs a number, found \(value.typeName)")
      }
      return .integer(abs(number))
    }
    let text = value.text.map { PythonText.strip($0, nil) }
    if name == "float" {
      let standard = try arguments.bound(to: "default", of: name)[0] ?? .float(0)
      return (value.double ?? text.flatMap(Self.parsedDouble)).map { .float($0) } ?? standard
    }
    let bound = try arguments.bound(to: "default", "base", of: name)
    guard bound[1] == nil || bound[1]?.integer == 10 else { throw JinjaError.unsupported("'int' with a base other than 10") }
    if let number = value.integer ?? text.flatMap({ Int($0) }) { return .integer(number) }
    if let number = value.double ?? text.flatMap(Self.parsedDouble) {
      guard let whole = Int(exactly: number.rounded(.towardZero)) else {
        if number.isFinite { throw JinjaError.unsupported("a whole number beyond 64 bits") }
        return bound[0] ?? .integer(0)
      }
      return .integer(whole)
    }
    return bound[0] ?? .integer(0)
  }

  /// A decimal number; Swift's own reading takes hexadecimal ones too.
  private static func parsedDouble(_ text: String) -> Double? {
    text.utf8.contains { $0 == 0x78 || $0 == 0x58 } ? nil : Double(text)
  }
}
