/// The arguments of a call.
struct JinjaArguments {
  var positional: [JinjaValue] = []
  var keywords: [(name: String, value: JinjaValue)] = []

  var isEmpty: Bool { positional.isEmpty && keywords.isEmpty }

  /// The arguments in the order of the parameters' names; nil for those that aren't given.
  func bound(to names: String..., required: Int = 0, of function: String) throws -> [JinjaValue?] {
    guard positional.count <= names.count else {
      throw JinjaError.invalid("'\(function)': expected at most \(names.count) arguments, found \(positional.count)")
    }
    var values = [JinjaValue?](repeating: nil, count: names.count)
    for (index, value) in positional.enumerated() { values[index] = value }
    for keyword in keywords {
      guard let index = names.firstIndex(of: keyword.name) else {
        throw JinjaError.invalid("'\(function)' has no argument '\(keyword.name)'")
      }
      guard values[index] == nil else { throw JinjaError.invalid("'\(function)': '\(keyword.name)' is given twice") }
      values[index] = keyword.value
    }
    for index in 0..<required where values[index] == nil {
      throw JinjaError.invalid("'\(function)': the argument '\(names[index])' is missing")
    }
    return values
  }

  /// Without the first so many arguments.
  func dropping(_ count: Int) -> JinjaArguments {
    JinjaArguments(positional: Array(positional.dropFirst(count)), keywords: keywords)
  }
}
