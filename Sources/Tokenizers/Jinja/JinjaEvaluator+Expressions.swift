extension JinjaEvaluator {
  /// The value of an expression.
  mutating func evaluate(_ expression: JinjaExpression, _ scope: JinjaScope) throws -> JinjaValue {
    try budget.spend()
    try budget.enter()
    defer { budget.exit() }
    switch expression {
    case .none: return .none
    case .bool(let value): return .bool(value)
    case .integer(let value): return .integer(value)
    case .float(let value): return .float(value)
    case .string(let text): return .string(text)
    case .name("self"): throw JinjaError.unsupported("'self'")
    case .name(let name): return scope[name] ?? .undefined("'\(name)' is undefined")
    case .list(let items): return try .list(try values(items, scope))
    case .tuple(let items): return .sequence(try JinjaSequence(.tuple, try values(items, scope)))
    case .dictionary(let entries):
      var result: [(key: JinjaValue, value: JinjaValue)] = []
      for entry in entries { result.append((try evaluate(entry.key, scope), try evaluate(entry.value, scope))) }
      return .dictionary(try JinjaDictionary(result))
    case .not(let operand): return .bool(!(try evaluate(operand, scope).isTrue))
    case .negative(let operand), .positive(let operand): return try signed(expression, try evaluate(operand, scope))
    case .arithmetic(let first, let steps):
      var value = try evaluate(first, scope)
      for step in steps { value = try arithmetic(step.symbol, value, try evaluate(step.operand, scope)) }
      return value
    case .concatenation(let operands):
      var text = ""
      for operand in operands {
        let value = try evaluate(operand, scope)
        try budget.spend(value.size)
        text += try value.printed()
      }
      try budget.spend(text.utf8.count)
      return .string(text)
    case .comparison(let first, let steps): return try comparison(first, steps, scope)
    case .and(let operands), .or(let operands):
      var wanted = false
      if case .or = expression { wanted = true }
      var value = JinjaValue.none
      for operand in operands {
        value = try evaluate(operand, scope)
        if value.isTrue == wanted { return value }
      }
      return value
    case .conditional(let then, let condition, let otherwise):
      if try evaluate(condition, scope).isTrue { return try evaluate(then, scope) }
      guard let otherwise else { return .undefined("the condition is false and there is no 'else'") }
      return try evaluate(otherwise, scope)
    case .postfix(let operand, let steps):
      var value = try evaluate(operand, scope)
      for step in steps { value = try apply(step, to: value, scope) }
      return value
    }
  }

  private mutating func values(_ expressions: [JinjaExpression], _ scope: JinjaScope) throws -> [JinjaValue] {
    var values: [JinjaValue] = []
    for expression in expressions { values.append(try evaluate(expression, scope)) }
    return values
  }

  mutating func evaluate(_ list: JinjaArgumentList, _ scope: JinjaScope) throws -> JinjaArguments {
    var arguments = JinjaArguments(positional: try values(list.positional, scope))
    for keyword in list.keywords { arguments.keywords.append((keyword.name, try evaluate(keyword.value, scope))) }
    return arguments
  }

  /// Applies an attribute, an index, a call, a filter or a test.
  mutating func apply(_ step: JinjaPostfix, to value: JinjaValue, _ scope: JinjaScope) throws -> JinjaValue {
    switch step {
    case .attribute(let name): return try attribute(of: value, name)
    case .item(let key): return try item(of: value, try evaluate(key, scope))
    case .slice(let start, let end, let stride):
      return try slice(
        of: value, try start.map { try evaluate($0, scope) }, try end.map { try evaluate($0, scope) },
        try stride.map { try evaluate($0, scope) })
    case .call(let list): return try call(value, try evaluate(list, scope))
    case .filter(let name, let list): return try filter(name, value, try evaluate(list, scope))
    case .test(let name, let list, let isNegated):
      return .bool(try test(name, value, try evaluate(list, scope)) != isNegated)
    }
  }

  // MARK: Comparisons

  private mutating func comparison(
    _ first: JinjaExpression, _ steps: [(symbol: String, operand: JinjaExpression)], _ scope: JinjaScope
  ) throws -> JinjaValue {
    var left = try evaluate(first, scope)
    for step in steps {
      let right = try evaluate(step.operand, scope)
      guard try compare(step.symbol, left, right) else { return .bool(false) }
      left = right
    }
    return .bool(true)
  }

  func compare(_ symbol: String, _ left: JinjaValue, _ right: JinjaValue) throws -> Bool {
    if symbol == "in" || symbol == "not in" {
      try budget.spendSearch(right.size, left.text?.utf8.count ?? 1)
      return try right.contains(left) == (symbol == "in")
    }
    try budget.spend(min(left.size, right.size))
    switch symbol {
    case "==": return left.equals(right)
    case "!=": return !left.equals(right)
    case "<": return try left.isLess(than: right)
    case ">": return try right.isLess(than: left)
    case "<=": return try left.equals(right) || left.isLess(than: right)
    default: return try left.equals(right) || right.isLess(than: left)
    }
  }

  // MARK: Arithmetic

  private func signed(_ expression: JinjaExpression, _ value: JinjaValue) throws -> JinjaValue {
    var isNegative = false
    if case .negative = expression { isNegative = true }
    if let number = value.integer {
      guard isNegative else { return .integer(number) }
      let (result, overflow) = Int(0).subtractingReportingOverflow(number)
      guard !overflow else { throw JinjaError.unsupported("a whole number beyond 64 bits") }
      return .integer(result)
    }
    if case .float(let number) = value { return .float(isNegative ? -number : number) }
    throw try mismatch(isNegative ? "-" : "+", value, nil)
  }

  private func mismatch(_ symbol: String, _ left: JinjaValue, _ right: JinjaValue?) throws -> JinjaError {
    for value in [left, right].compactMap({ $0 }) { if case .undefined(let what) = value { return .invalid(what) } }
    if case .safe = left { return .unsupported("'\(symbol)' with a text behind 'safe'") }
    if case .safe? = right { return .unsupported("'\(symbol)' with a text behind 'safe'") }
    return .invalid("'\(symbol)' can't be done with values of type \(left.typeName)\(right.map { " and \($0.typeName)" } ?? "")")
  }

  func arithmetic(_ symbol: String, _ left: JinjaValue, _ right: JinjaValue) throws -> JinjaValue {
    if let first = left.integer, let second = right.integer { return try whole(symbol, first, second) }
    if let first = left.double, let second = right.double { return .float(try floating(symbol, first, second)) }
    switch (symbol, left, right) {
    case ("+", .string(let first), .string(let second)):
      try budget.spend(first.utf8.count + second.utf8.count)
      return .string(first + second)
    case ("+", .sequence(let first), .sequence(let second))
    where first.kind == second.kind && (first.kind == .list || first.kind == .tuple):
      try budget.spend((first.items.count + second.items.count) * 16)
      return .sequence(try JinjaSequence(first.kind, first.items + second.items))
    case ("*", .string(let text), _), ("*", _, .string(let text)):
      guard let count = right.integer ?? left.integer else { break }
      let (size, overflow) = text.utf8.count.multipliedReportingOverflow(by: max(0, count))
      try budget.spend(overflow ? .max : size)
      return .string(text.isEmpty ? "" : String(repeating: text, count: max(0, count)))
    case ("*", .sequence, _), ("*", _, .sequence): throw JinjaError.unsupported("a list times a number")
    case ("%", .string, _): throw JinjaError.unsupported("'%' with a text on its left")
    default: break
    }
    throw try mismatch(symbol, left, right)
  }

  private func whole(_ symbol: String, _ left: Int, _ right: Int) throws -> JinjaValue {
    var result: (partialValue: Int, overflow: Bool)
    switch symbol {
    case "+": result = left.addingReportingOverflow(right)
    case "-": result = left.subtractingReportingOverflow(right)
    case "*": result = left.multipliedReportingOverflow(by: right)
    case "**": throw JinjaError.unsupported("'**'")
    default:
      guard right != 0 else { throw JinjaError.invalid("division by zero") }
      if symbol == "/" { return .float(Double(left) / Double(right)) }
      result = left.dividedReportingOverflow(by: right)
      // Towards minus infinity, and the remainder has the divisor's sign.
      let remainder = result.overflow ? 0 : left % right
      let isBelow = remainder != 0 && (remainder < 0) != (right < 0)
      if symbol == "%" { return .integer(isBelow ? remainder + right : remainder) }
      if isBelow { result.partialValue -= 1 }
    }
    guard !result.overflow else { throw JinjaError.unsupported("a whole number beyond 64 bits") }
    return .integer(result.partialValue)
  }

  private func floating(_ symbol: String, _ left: Double, _ right: Double) throws -> Double {
    switch symbol {
    case "+": return left + right
    case "-": return left - right
    case "*": return left * right
    case "/":
      guard right != 0 else { throw JinjaError.invalid("division by zero") }
      return left / right
    default: throw JinjaError.unsupported("'\(symbol)' with floating-point numbers")
    }
  }
}
