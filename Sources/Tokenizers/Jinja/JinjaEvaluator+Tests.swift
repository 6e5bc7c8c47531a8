extension JinjaEvaluator {
  /// Whether a value passes a test.
  func test(_ name: String, _ value: JinjaValue, _ arguments: JinjaArguments) throws -> Bool {
    try budget.spend()
    func one() throws -> JinjaValue { try arguments.bound(to: "other", required: 1, of: name)[0] ?? .none }
    switch name {
    case "eq", "equalto", "==": return try compare("==", value, one())
    case "ne", "!=": return try compare("!=", value, one())
    case "lt", "lessthan", "<": return try compare("<", value, one())
    case "le", "<=": return try compare("<=", value, one())
    case "gt", "greaterthan", ">": return try compare(">", value, one())
    case "ge", ">=": return try compare(">=", value, one())
    case "in": return try compare("in", value, one())
    case "divisibleby":
      guard let number = value.integer, let divisor = try one().integer, divisor != 0 else {
        throw JinjaError.invalid("'divisibleby' needs two whole numbers, the second not 0")
      }
      return divisor == -1 || number % divisor == 0
    case "sameas":
      switch (value, try one()) {
      case (.none, .none): return true
      case (.bool(let left), .bool(let right)): return left == right
      case (.none, _), (.bool, _), (_, .none), (_, .bool): return false
      default: throw JinjaError.unsupported("'sameas' of values other than none, true and false")
      }
    case "escaped", "filter", "test": throw JinjaError.unsupported("the test '\(name)'")
    default: break
    }
    _ = try arguments.bound(of: name)
    switch name {
    case "defined": return !value.isUndefined
    case "undefined": return value.isUndefined
    case "none": if case .none = value { return true } else { return false }
    case "boolean": if case .bool = value { return true } else { return false }
    case "true": if case .bool(true) = value { return true } else { return false }
    case "false": if case .bool(false) = value { return true } else { return false }
    case "integer": if case .integer = value { return true } else { return false }
    case "float": if case .float = value { return true } else { return false }
    case "number": return value.double != nil
    case "string": return value.text != nil
    case "mapping": if case .dictionary = value { return true } else { return false }
    case "sequence":
      switch value {
      case .string, .safe, .dictionary, .undefined: return true
      case .sequence(let sequence): return sequence.kind != .view
      default: return false
      }
    case "iterable":
      switch value {
      case .string, .safe, .dictionary, .sequence, .iterator, .undefined, .loop: return true
      default: return false
      }
    case "callable":
      switch value {
      case .macro, .function, .method, .undefined: return true
      default: return false
      }
    case "odd", "even":
      guard let number = value.integer else {
        throw JinjaError.invalid("'\(name)' needs a whole number, found \(value.typeName)")
      }
      return (number % 2 == 0) == (name == "even")
    case "lower", "upper":
      // Some letter has case, and all that have it have this one.
      let text = try value.printed()
      let cased = text.unicodeScalars.filter(\.properties.isCased)
      return !cased.isEmpty && cased.allSatisfy { name == "lower" ? $0.properties.isLowercase : $0.properties.isUppercase }
    default: throw JinjaError.invalid("there is no test '\(name)'")
    }
  }
}
