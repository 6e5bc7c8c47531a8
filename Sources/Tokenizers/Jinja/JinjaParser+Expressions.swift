extension JinjaParser {
  /// An expression, or several with commas between them.
  mutating func tuple(allowsConditional: Bool = true, isEnclosed: Bool = false) throws -> JinjaExpression {
    var items: [JinjaExpression] = []
    var isTuple = false
    while !endsTuple {
      items.append(try expression(allowsConditional: allowsConditional))
      guard skipSymbol(",") else { break }
      isTuple = true
    }
    if isTuple || (items.isEmpty && isEnclosed) { return .tuple(items) }
    guard let item = items.first else { throw unexpected("an expression") }
    return item
  }

  private var endsTuple: Bool {
    switch current.kind {
    case .variableEnd, .blockEnd, .end: true
    case .symbol(")"): true
    default: false
    }
  }

  mutating func expression(allowsConditional: Bool = true) throws -> JinjaExpression {
    try nested { parser in
      var value = try parser.disjunction()
      var count = 0
      while allowsConditional, parser.skipName("if") {
        let condition = try parser.disjunction()
        let otherwise = parser.skipName("else") ? try parser.expression() : nil
        value = .conditional(then: value, condition: condition, otherwise: otherwise)
        count += 1
        if count > 20 { throw JinjaError(kind: .tooMuch, message: "more than 20 conditions in a row", line: parser.current.line) }
      }
      return value
    }
  }

  private mutating func disjunction() throws -> JinjaExpression {
    var operands = [try conjunction()]
    while skipName("or") { operands.append(try conjunction()) }
    return operands.count == 1 ? operands[0] : .or(operands)
  }

  private mutating func conjunction() throws -> JinjaExpression {
    var operands = [try negation()]
    while skipName("and") { operands.append(try negation()) }
    return operands.count == 1 ? operands[0] : .and(operands)
  }

  private mutating func negation() throws -> JinjaExpression {
    guard skipName("not") else { return try comparison() }
    return .not(try nested { try $0.negation() })
  }

  private mutating func comparison() throws -> JinjaExpression {
    let first = try arithmetic(["+", "-"]) { try $0.concatenation() }
    var steps: [(symbol: String, operand: JinjaExpression)] = []
    while true {
      var symbol = ""
      if case .symbol(let found) = current.kind, ["==", "!=", "<", "<=", ">", ">="].contains(found) {
        advance()
        symbol = found
      } else if skipName("in") {
        symbol = "in"
      } else if isName("not"), case .name("in") = following.kind {
        advance()
        advance()
        symbol = "not in"
      } else {
        return steps.isEmpty ? first : .comparison(first, steps)
      }
      steps.append((symbol, try arithmetic(["+", "-"]) { try $0.concatenation() }))
    }
  }

  /// Operands with operators of one rank between them.
  private mutating func arithmetic(_ symbols: [String], _ operand: (inout JinjaParser) throws -> JinjaExpression) throws
    -> JinjaExpression
  {
    let first = try operand(&self)
    var steps: [(symbol: String, operand: JinjaExpression)] = []
    while case .symbol(let symbol) = current.kind, symbols.contains(symbol) {
      advance()
      steps.append((symbol, try operand(&self)))
    }
    return steps.isEmpty ? first : .arithmetic(first, steps)
  }

  private mutating func concatenation() throws -> JinjaExpression {
    var operands = [try product()]
    while skipSymbol("~") { operands.append(try product()) }
    return operands.count == 1 ? operands[0] : .concatenation(operands)
  }

  private mutating func product() throws -> JinjaExpression {
    try arithmetic(["*", "/", "//", "%"]) { try $0.arithmetic(["**"]) { try $0.unary(takesFilters: true) } }
  }

  private mutating func unary(takesFilters: Bool) throws -> JinjaExpression {
    var value: JinjaExpression
    if skipSymbol("-") {
      value = .negative(try nested { try $0.unary(takesFilters: false) })
    } else if skipSymbol("+") {
      value = .positive(try nested { try $0.unary(takesFilters: false) })
    } else {
      value = try primary()
    }
    var steps: [JinjaPostfix] = []
    while let step = try postfix() { steps.append(step) }
    while takesFilters {
      if skipSymbol("|") {
        steps.append(try filter())
      } else if skipName("is") {
        steps.append(try test())
      } else if isSymbol("(") {
        steps.append(.call(try arguments()))
      } else {
        break
      }
    }
    if !steps.isEmpty { value = .postfix(value, steps) }
    return value
  }

  private mutating func primary() throws -> JinjaExpression {
    let token = current
    switch token.kind {
    case .name(let name):
      advance()
      switch name {
      case "true", "True": return .bool(true)
      case "false", "False": return .bool(false)
      case "none", "None": return .none
      default:
        try read(name)
        return .name(name)
      }
    case .string(let text):
      advance()
      var whole = text
      while case .string(let more) = current.kind {
        whole += more
        advance()
      }
      return .string(whole)
    case .integer(let value):
      advance()
      return .integer(value)
    case .float(let value):
      advance()
      return .float(value)
    case .symbol("("):
      advance()
      let value = try nested { try $0.tuple(isEnclosed: true) }
      try expectSymbol(")")
      return value
    case .symbol("["):
      return .list(try enclosed("[", "]") { try $0.expression() })
    case .symbol("{"):
      return .dictionary(
        try enclosed("{", "}") { parser in
          let key = try parser.expression()
          try parser.expectSymbol(":")
          return (key: key, value: try parser.expression())
        })
    default: throw unexpected("an expression")
    }
  }

  /// Items with commas between them; one may follow the last.
  private mutating func enclosed<Item>(_ open: String, _ close: String, _ item: (inout JinjaParser) throws -> Item) throws
    -> [Item]
  {
    try expectSymbol(open)
    var items: [Item] = []
    while !isSymbol(close) {
      if !items.isEmpty { try expectSymbol(",") }
      if isSymbol(close) { break }
      items.append(try item(&self))
    }
    try expectSymbol(close)
    return items
  }

  private mutating func postfix() throws -> JinjaPostfix? {
    if skipSymbol(".") {
      if case .integer(let index) = current.kind {
        advance()
        return .item(.integer(index))
      }
      return .attribute(try expectName())
    }
    if isSymbol("[") { return try subscripted() }
    return isSymbol("(") ? .call(try arguments()) : nil
  }

  private mutating func subscripted() throws -> JinjaPostfix {
    try expectSymbol("[")
    var bounds: [JinjaExpression?] = [nil]
    while !isSymbol("]") {
      if skipSymbol(":") {
        bounds.append(nil)
        guard bounds.count <= 3 else { throw unexpected("']'") }
      } else {
        guard bounds[bounds.count - 1] == nil else {
          throw isSymbol(",") ? JinjaError.unsupported("several indices in brackets", line: current.line) : unexpected("']'")
        }
        bounds[bounds.count - 1] = try expression()
      }
    }
    let line = current.line
    try expectSymbol("]")
    guard bounds.count > 1 else {
      guard let index = bounds[0] else { throw JinjaError.invalid("expected an index in the brackets", line: line) }
      return .item(index)
    }
    return .slice(bounds[0], bounds[1], bounds.count == 3 ? bounds[2] : nil)
  }

  private mutating func arguments() throws -> JinjaArgumentList {
    var list = JinjaArgumentList()
    var isFirst = true
    try expectSymbol("(")
    while !isSymbol(")") {
      if !isFirst { try expectSymbol(",") }
      isFirst = false
      if isSymbol(")") { break }
      if isSymbol("*") || isSymbol("**") { throw JinjaError.unsupported("'*' before an argument", line: current.line) }
      if case .name(let name) = current.kind, case .symbol("=") = following.kind {
        advance()
        advance()
        list.keywords.append((name, try expression()))
      } else {
        guard list.keywords.isEmpty else {
          throw JinjaError.invalid("an argument without name follows one with name", line: current.line)
        }
        list.positional.append(try expression())
      }
    }
    try expectSymbol(")")
    return list
  }

  private mutating func dottedName() throws -> String {
    var name = try expectName()
    while skipSymbol(".") { name += "." + (try expectName()) }
    return name
  }

  /// A filter's name and arguments, behind its bar.
  mutating func filter() throws -> JinjaPostfix {
    let name = try dottedName()
    return .filter(name, isSymbol("(") ? try arguments() : JinjaArgumentList())
  }

  private mutating func test() throws -> JinjaPostfix {
    let isNegated = skipName("not")
    let name = try dottedName()
    var list = JinjaArgumentList()
    if isSymbol("(") {
      list = try arguments()
    } else if startsTestArgument {
      guard !isName("is") else { throw JinjaError.invalid("tests can't be chained with 'is'", line: current.line) }
      // One argument may stand without brackets.
      var argument = try nested { try $0.primary() }
      var steps: [JinjaPostfix] = []
      while let step = try postfix() { steps.append(step) }
      if !steps.isEmpty { argument = .postfix(argument, steps) }
      list.positional = [argument]
    }
    return .test(name, list, isNegated: isNegated)
  }

  private var startsTestArgument: Bool {
    switch current.kind {
    case .name(let name): !["else", "or", "and"].contains(name)
    case .string, .integer, .float, .symbol("["), .symbol("{"): true
    default: false
    }
  }
}
