/// The methods of Python's texts, lists and dictionaries.
struct JinjaMethods {
  let budget: JinjaBudget

  /// The names that Python's type has: a template that calls one of them gets its result or a refusal, never "undefined".
  static func names(of value: JinjaValue) -> Set<String> {
    switch value {
    case .string, .safe: text
    case .sequence(let sequence): sequence.kind == .tuple ? ["count", "index"] : sequence.kind == .list ? list : []
    case .dictionary: dictionary
    case .integer, .bool, .float: number
    default: []
    }
  }

  private static let text: Set<String> = [
    "capitalize", "casefold", "center", "count", "encode", "endswith", "expandtabs", "find", "format", "format_map", "index",
    "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric", "isprintable", "isspace",
    "istitle", "isupper", "join", "ljust", "lower", "lstrip", "maketrans", "partition", "removeprefix", "removesuffix", "replace",
    "rfind", "rindex", "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase",
    "title", "translate", "upper", "zfill",
  ]
  private static let list: Set<String> = [
    "append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort",
  ]
  private static let dictionary: Set<String> = [
    "clear", "copy", "fromkeys", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values",
  ]
  private static let number: Set<String> = [
    "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator", "from_bytes", "fromhex", "hex", "imag",
    "is_integer", "numerator", "real", "to_bytes",
  ]

  func call(_ value: JinjaValue, _ name: String, _ arguments: JinjaArguments) throws -> JinjaValue {
    switch value {
    case .string(let text): return try call(text, name, arguments)
    case .dictionary(let dictionary): return try call(dictionary, name, arguments)
    case .sequence(let sequence): return try call(sequence, name, arguments)
    default: throw JinjaError.unsupported("'\(name)' of a value of type \(value.typeName)")
    }
  }

  // MARK: Texts

  private func call(_ text: String, _ name: String, _ arguments: JinjaArguments) throws -> JinjaValue {
    try budget.spend(text.utf8.count)
    switch name {
    case "upper", "lower", "title", "capitalize", "isspace":
      _ = try arguments.bound(of: name)
      switch name {
      case "upper": return .string(PythonText.upper(text))
      case "lower": return .string(PythonText.lower(text))
      case "title": return .string(PythonText.title(text))
      case "capitalize": return .string(PythonText.capitalize(text))
      default: return .bool(!text.isEmpty && text.unicodeScalars.allSatisfy(PythonText.isSpace))
      }
    case "strip", "lstrip", "rstrip":
      let characters = try optionalText(try arguments.bound(to: "chars", of: name)[0], name)
      return .string(PythonText.strip(text, characters, left: name != "rstrip", right: name != "lstrip"))
    case "split", "rsplit": return try split(text, name, arguments)
    case "splitlines":
      let keeps = try arguments.bound(to: "keepends", of: name)[0]?.isTrue ?? false
      return try .list(PythonText.lines(text, keepsEnds: keeps).map { .string($0) })
    case "startswith", "endswith": return try affix(text, name, arguments)
    case "removeprefix", "removesuffix":
      let affix = try requiredText(try arguments.bound(to: "affix", required: 1, of: name)[0], name)
      let (bytes, part) = (Array(text.utf8), Array(affix.utf8))
      guard name == "removeprefix" ? bytes.starts(with: part) : bytes.suffix(part.count).elementsEqual(part) else {
        return .string(text)
      }
      return .string(
        String(decoding: name == "removeprefix" ? bytes.dropFirst(part.count) : bytes.dropLast(part.count), as: UTF8.self))
    case "replace":
      let bound = try arguments.bound(to: "old", "new", "count", required: 2, of: name)
      return try replace(text, bound, name)
    case "find", "rfind", "index", "rindex", "count":
      let needle = try requiredText(try arguments.bound(to: "sub", required: 1, of: name)[0], name)
      return try find(needle, in: text, name)
    case "join":
      guard let list = try arguments.bound(to: "iterable", required: 1, of: name)[0], case .sequence(let sequence) = list else {
        throw JinjaError.unsupported("'join' of something else than a list")
      }
      let parts = try sequence.items.map { try requiredText($0, name) }
      try budget.spend(parts.reduce(0) { $0 + $1.utf8.count + text.utf8.count })
      return .string(parts.joined(separator: text))
    default: throw JinjaError.unsupported("the method '\(name)' of a text")
    }
  }

  private func requiredText(_ value: JinjaValue?, _ name: String) throws -> String {
    guard case .string(let text)? = value else {
      if case .undefined(let what)? = value { throw JinjaError.invalid(what) }
      throw JinjaError.invalid("'\(name)': expected a text, found \(value?.typeName ?? "nothing")")
    }
    return text
  }

  private func optionalText(_ value: JinjaValue?, _ name: String) throws -> String? {
    if case .none? = value { return nil }
    return try value.map { try requiredText($0, name) }
  }

  private func number(_ value: JinjaValue?, _ name: String, standard: Int) throws -> Int {
    guard let value else { return standard }
    guard let number = value.integer else {
      throw JinjaError.invalid("'\(name)': expected a whole number, found \(value.typeName)")
    }
    return number
  }

  private func split(_ text: String, _ name: String, _ arguments: JinjaArguments) throws -> JinjaValue {
    let bound = try arguments.bound(to: "sep", "maxsplit", of: name)
    let most = try number(bound[1], name, standard: -1)
    let parts: [String]
    if let separator = try optionalText(bound[0], name) {
      guard !separator.isEmpty else { throw JinjaError.invalid("'\(name)': the separator is empty") }
      try budget.spendSearch(text.utf8.count, separator.utf8.count)
      parts = PythonText.split(text, by: separator, most: most, fromRight: name == "rsplit")
    } else {
      parts = PythonText.words(text, most: most, fromRight: name == "rsplit")
    }
    try budget.spend(parts.count * 4)
    return try .list(parts.map { .string($0) })
  }

  private func affix(_ text: String, _ name: String, _ arguments: JinjaArguments) throws -> JinjaValue {
    let value = try arguments.bound(to: "affix", required: 1, of: name)[0]
    var affixes: [String] = []
    if case .sequence(let sequence)? = value, sequence.kind == .tuple {
      affixes = try sequence.items.map { try requiredText($0, name) }
    } else {
      affixes = [try requiredText(value, name)]
    }
    return .bool(
      affixes.contains { affix in
        name == "startswith" ? text.utf8.starts(with: affix.utf8) : text.utf8.reversed().starts(with: affix.utf8.reversed())
      })
  }

  /// `old`, `new` and `count`.
  func replace(_ text: String, _ bound: [JinjaValue?], _ name: String) throws -> JinjaValue {
    let (old, new) = (try requiredText(bound[0], name), try requiredText(bound[1], name))
    var count = -1
    if let value = bound[2], !value.equals(.none) { count = try number(value, name, standard: -1) }
    try budget.spendSearch(text.utf8.count, old.utf8.count)
    // At worst every byte is replaced.
    let (size, overflow) = (text.utf8.count + 1).multipliedReportingOverflow(by: max(1, new.utf8.count))
    try budget.spend(
      overflow ? .max : min(size, text.utf8.count + new.utf8.count * max(1, text.utf8.count / max(1, old.utf8.count) + 1)))
    return .string(PythonText.replace(text, old, new, count: count))
  }

  private func find(_ needle: String, in text: String, _ name: String) throws -> JinjaValue {
    try budget.spendSearch(text.utf8.count, needle.utf8.count)
    let (all, part) = (PythonText.scalars(text), PythonText.scalars(needle))
    if name == "count" {
      return .integer(part.isEmpty ? all.count + 1 : PythonText.split(text, by: needle, most: -1).count - 1)
    }
    var place = PythonText.firstIndex(of: part, in: all)
    if name.utf8.first == 0x72, place != nil {
      place = PythonText.firstIndex(of: part.reversed(), in: all.reversed()).map { all.count - $0 - part.count }
    }
    if place == nil, name.hasSuffix("index") { throw JinjaError.invalid("'\(name)': '\(needle)' isn't in the text") }
    return .integer(place ?? -1)
  }

  // MARK: Lists and dictionaries

  private func call(_ sequence: JinjaSequence, _ name: String, _ arguments: JinjaArguments) throws -> JinjaValue {
    try budget.spend(sequence.size)
    switch name {
    case "count", "index":
      guard let wanted = try arguments.bound(to: "value", required: 1, of: name)[0] else { return .none }
      if name == "count" { return .integer(sequence.items.count { $0.equals(wanted) }) }
      guard let index = sequence.items.firstIndex(where: { $0.equals(wanted) }) else {
        throw JinjaError.invalid("'index': the value isn't in the list")
      }
      return .integer(index)
    case "copy": return .sequence(sequence)
    default: throw JinjaError.invalid("'\(name)' would change a list, which a chat template may not")
    }
  }

  private func call(_ dictionary: JinjaDictionary, _ name: String, _ arguments: JinjaArguments) throws -> JinjaValue {
    try budget.spend(dictionary.entries.count)
    switch name {
    case "get":
      let bound = try arguments.bound(to: "key", "default", required: 1, of: name)
      return dictionary[bound[0] ?? .none] ?? bound[1] ?? .none
    case "items":
      return .sequence(
        try JinjaSequence(.view, try dictionary.entries.map { .sequence(try JinjaSequence(.tuple, [$0.key, $0.value])) }))
    case "keys": return .sequence(try JinjaSequence(.view, dictionary.entries.map(\.key)))
    case "values": return .sequence(try JinjaSequence(.view, dictionary.entries.map(\.value)))
    case "copy": return .dictionary(dictionary)
    case "fromkeys": throw JinjaError.unsupported("the method 'fromkeys' of a dictionary")
    default: throw JinjaError.invalid("'\(name)' would change a dictionary, which a chat template may not")
    }
  }
}
