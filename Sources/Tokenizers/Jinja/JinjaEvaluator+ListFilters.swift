extension JinjaEvaluator {
  /// Filters of lists; `map`, `select` and their like give elements once, as Jinja's do.
  mutating func listFilter(_ name: String, _ value: JinjaValue, _ arguments: JinjaArguments) throws -> JinjaValue {
    switch name {
    case "first":
      _ = try arguments.bound(of: name)
      if case .iterator(let iterator) = value { return iterator.takeFirst() ?? .undefined("there is no first element") }
      return try elements(of: value).first ?? .undefined("there is no first element")
    case "last":
      _ = try arguments.bound(of: name)
      if case .iterator = value { throw JinjaError.invalid("'last' needs a list, found a generator") }
      return try elements(of: value).last ?? .undefined("there is no last element")
    case "list":
      _ = try arguments.bound(of: name)
      return try .list(elements(of: value))
    case "reverse":
      _ = try arguments.bound(of: name)
      if case .string(let text) = value { return .string(PythonText.text(text.unicodeScalars.reversed())) }
      return .iterator(try JinjaIterator(elements(of: value).reversed()))
    case "join": return try joined(value, arguments)
    case "sort", "unique", "min", "max", "sum", "dictsort": return try ordered(name, value, arguments)
    case "map": return try mapped(value, arguments)
    default: return try selected(name, value, arguments)
    }
  }

  private func joined(_ value: JinjaValue, _ arguments: JinjaArguments) throws -> JinjaValue {
    let bound = try arguments.bound(to: "d", "attribute", of: "join")
    var items = try elements(of: value)
    if let attribute = bound[1], !attribute.equals(.none) { items = try items.map { try path(attribute, of: $0, standard: nil) } }
    let separator = try bound[0]?.printed() ?? ""
    try budget.spend(min(JinjaValue.size(of: items), 1 << 60) + items.count * separator.utf8.count)
    if items.contains(where: { if case .safe = $0 { true } else { false } }) {
      throw JinjaError.unsupported("'join' of texts behind 'safe'")
    }
    return .string(try items.map { try $0.printed() }.joined(separator: separator))
  }

  /// An attribute as filters name it: `a.b.0`, or a number.
  private func path(_ attribute: JinjaValue, of value: JinjaValue, standard: JinjaValue?) throws -> JinjaValue {
    guard let text = attribute.text else { return try item(of: value, attribute) }
    var result = value
    for part in text.split(separator: ".", omittingEmptySubsequences: false) {
      result = try item(of: result, Int(part).map { .integer($0) } ?? .string(String(part)))
      if result.isUndefined, let standard { result = standard }
    }
    return result
  }

  // MARK: Order

  private func key(_ value: JinjaValue, _ ignoresCase: Bool) -> JinjaValue {
    guard ignoresCase, let text = value.text else { return value }
    return .string(PythonText.lower(text))
  }

  private func ordered(_ name: String, _ value: JinjaValue, _ arguments: JinjaArguments) throws -> JinjaValue {
    var items = try elements(of: value)
    switch name {
    case "sum":
      let bound = try arguments.bound(to: "attribute", "start", of: name)
      if let attribute = bound[0], !attribute.equals(.none) {
        items = try items.map { try path(attribute, of: $0, standard: nil) }
      }
      return try items.reduce(bound[1] ?? .integer(0)) { try arithmetic("+", $0, $1) }
    case "dictsort":
      guard case .dictionary(let dictionary) = value else {
        throw JinjaError.invalid("'dictsort' needs a dictionary, found \(value.typeName)")
      }
      let bound = try arguments.bound(to: "case_sensitive", "by", "reverse", of: name)
      let by = bound[1]?.text ?? "key"
      guard by == "key" || by == "value" else {
        throw JinjaError.invalid("'dictsort': expected by 'key' or 'value', found '\(by)'")
      }
      let pairs = try dictionary.entries.map { JinjaValue.sequence(try JinjaSequence(.tuple, [$0.key, $0.value])) }
      let keys = dictionary.entries.map { key(by == "key" ? $0.key : $0.value, bound[0]?.isTrue != true) }
      return try .list(sorted(pairs, by: keys, descending: bound[2]?.isTrue == true))
    case "sort":
      let bound = try arguments.bound(to: "reverse", "case_sensitive", "attribute", of: name)
      let keys = try items.map { item in
        key(try bound[2].map { try path($0, of: item, standard: nil) } ?? item, bound[1]?.isTrue != true)
      }
      return try .list(sorted(items, by: keys, descending: bound[0]?.isTrue == true))
    default: break
    }
    let bound = try arguments.bound(to: "case_sensitive", "attribute", of: name)
    let keys = try items.map { item in
      key(try bound[1].map { try path($0, of: item, standard: nil) } ?? item, bound[0]?.isTrue != true)
    }
    if name == "unique" {
      var seen: [JinjaValue] = []
      var unique: [JinjaValue] = []
      for (item, key) in zip(items, keys) {
        try budget.spend(min(key.size, 1 << 40) * (seen.count + 1))
        if seen.contains(where: { $0.equals(key) }) { continue }
        seen.append(key)
        unique.append(item)
      }
      return .iterator(try JinjaIterator(unique))
    }
    var best: Int?
    for index in items.indices {
      guard let current = best else {
        best = index
        continue
      }
      let isBetter = try name == "min" ? keys[index].isLess(than: keys[current]) : keys[current].isLess(than: keys[index])
      if isBetter { best = index }
    }
    return best.map { items[$0] } ?? .undefined("there is no element")
  }

  /// Equal ones keep their order, also from the largest down.
  private func sorted(_ items: [JinjaValue], by keys: [JinjaValue], descending: Bool) throws -> [JinjaValue] {
    try budget.spend(min(JinjaValue.size(of: keys), 1 << 40) * 16)
    let order = try items.indices.sorted { left, right in
      if try keys[left].isLess(than: keys[right]) { return !descending }
      if try keys[right].isLess(than: keys[left]) { return descending }
      return left < right
    }
    return order.map { items[$0] }
  }

  // MARK: Choices

  private mutating func mapped(_ value: JinjaValue, _ arguments: JinjaArguments) throws -> JinjaValue {
    var mapped: [JinjaValue] = []
    // As in Jinja, what is false has no elements.
    let items = value.isTrue ? try elements(of: value) : []
    if arguments.positional.isEmpty {
      let names = arguments.keywords.map(\.name)
      guard let attribute = arguments.keywords.first(where: { $0.name == "attribute" })?.value,
        names.allSatisfy({ $0 == "attribute" || $0 == "default" })
      else { throw JinjaError.invalid("'map' needs a filter's name or an attribute") }
      let standard = arguments.keywords.first { $0.name == "default" }?.value
      for item in items { mapped.append(try path(attribute, of: item, standard: standard)) }
    } else {
      guard let filterName = arguments.positional[0].text else { throw JinjaError.invalid("'map': a filter's name is a text") }
      for item in items { mapped.append(try filter(filterName, item, arguments.dropping(1))) }
    }
    return .iterator(try JinjaIterator(mapped))
  }

  private mutating func selected(_ name: String, _ value: JinjaValue, _ arguments: JinjaArguments) throws -> JinjaValue {
    let usesAttribute = name.hasSuffix("attr")
    if usesAttribute, arguments.positional.isEmpty { throw JinjaError.invalid("'\(name)': the attribute's name is missing") }
    let wanted = name.hasPrefix("select")
    var rest = arguments
    if usesAttribute { rest = arguments.dropping(1) }
    var selected: [JinjaValue] = []
    for item in value.isTrue ? try elements(of: value) : [] {
      try budget.spend()
      let subject = usesAttribute ? try path(arguments.positional[0], of: item, standard: nil) : item
      var passes = subject.isTrue
      if let first = rest.positional.first {
        guard let testName = first.text else { throw JinjaError.invalid("'\(name)': a test's name is a text") }
        passes = try test(testName, subject, rest.dropping(1))
      }
      if passes == wanted { selected.append(item) }
    }
    return .iterator(try JinjaIterator(selected))
  }
}
