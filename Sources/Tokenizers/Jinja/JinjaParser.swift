/// Makes statements of a template's tokens.
struct JinjaParser {
  private let tokens: [JinjaToken]
  private var index = 0
  private var depth = 0
  /// Names read since the start of the innermost macro.
  private var namesRead: Set<String> = []

  /// Tags and brackets within each other; published templates stay below 20.
  private static let deepest = 50

  init(_ tokens: [JinjaToken]) { self.tokens = tokens }

  /// The statements of a template.
  static func parse(_ template: String) throws -> [JinjaStatement] {
    var parser = JinjaParser(try JinjaLexer.tokens(of: template))
    let (body, _) = try parser.statements(until: [], of: "template")
    return body
  }

  // MARK: Tokens

  var current: JinjaToken { tokens[min(index, tokens.count - 1)] }
  var following: JinjaToken { tokens[min(index + 1, tokens.count - 1)] }

  mutating func advance() { index += 1 }

  func isSymbol(_ symbol: String) -> Bool { if case .symbol(symbol) = current.kind { true } else { false } }
  func isName(_ name: String) -> Bool { if case .name(name) = current.kind { true } else { false } }

  mutating func skipSymbol(_ symbol: String) -> Bool {
    guard isSymbol(symbol) else { return false }
    advance()
    return true
  }

  mutating func skipName(_ name: String) -> Bool {
    guard isName(name) else { return false }
    advance()
    return true
  }

  mutating func expectSymbol(_ symbol: String) throws {
    guard skipSymbol(symbol) else { throw unexpected("'\(symbol)'") }
  }

  mutating func expectName() throws -> String {
    guard case .name(let name) = current.kind else { throw unexpected("a name") }
    advance()
    return name
  }

  func unexpected(_ expected: String) -> JinjaError {
    .invalid("expected \(expected), found \(current.summary)", line: current.line)
  }

  /// Runs a step one level deeper.
  mutating func nested<Result>(_ step: (inout JinjaParser) throws -> Result) throws -> Result {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.deepest else {
      throw JinjaError(kind: .tooMuch, message: "tags and brackets more than \(Self.deepest) deep", line: current.line)
    }
    return try step(&self)
  }

  /// Remembers a name that the macro around it may have to be given.
  mutating func read(_ name: String) throws {
    if name == "varargs" || name == "kwargs" { throw JinjaError.unsupported("'\(name)' in a macro", line: current.line) }
    namesRead.insert(name)
  }

  // MARK: Statements

  /// Statements up to a tag with one of the names, which is taken.
  private mutating func statements(until ends: [String], of tag: String) throws -> (body: [JinjaStatement], end: String) {
    try nested { parser in
      var body: [JinjaStatement] = []
      while true {
        let line = parser.current.line
        switch parser.current.kind {
        case .end:
          guard ends.isEmpty else { throw JinjaError.invalid("'\(tag)' has no '\(ends[ends.count - 1])'", line: line) }
          return (body, "")
        case .data(let text):
          parser.advance()
          body.append(JinjaStatement(kind: .text(text), line: line))
        case .variableBegin:
          parser.advance()
          let value = try parser.tuple()
          guard case .variableEnd = parser.current.kind else { throw parser.unexpected("'}}'") }
          parser.advance()
          body.append(JinjaStatement(kind: .output(value), line: line))
        case .blockBegin:
          parser.advance()
          let name = try parser.expectName()
          if ends.contains(name) { return (body, name) }
          body.append(JinjaStatement(kind: try parser.statement(name), line: line))
        default: throw parser.unexpected("text or a tag")
        }
      }
    }
  }

  mutating func endTag() throws {
    guard case .blockEnd = current.kind else { throw unexpected("'%}'") }
    advance()
  }

  /// The statements of a tag up to its end tag, with the ends of both.
  private mutating func body(of tag: String) throws -> [JinjaStatement] {
    try endTag()
    let (body, _) = try statements(until: ["end" + tag], of: tag)
    try endTag()
    return body
  }

  private mutating func statement(_ name: String) throws -> JinjaStatement.Kind {
    switch name {
    case "if": return try branches()
    case "for": return try loop()
    case "set": return try set()
    case "macro": return .macro(try macro())
    case "call": return try call()
    case "with": return try with()
    case "filter": return .filter(try filters(), try body(of: "filter"))
    case "generation": return .generation(try body(of: "generation"))
    case "break", "continue":
      try endTag()
      return name == "break" ? .leave : .next
    case "block", "extends", "include", "import", "from", "autoescape", "do", "trans", "print", "debug":
      throw JinjaError.unsupported("the tag '\(name)'", line: current.line)
    default: throw JinjaError.invalid("unknown tag '\(name)'", line: current.line)
    }
  }

  private mutating func branches() throws -> JinjaStatement.Kind {
    var branches: [(condition: JinjaExpression, body: [JinjaStatement])] = []
    while true {
      let condition = try tuple(allowsConditional: false)
      try endTag()
      let (body, end) = try statements(until: ["elif", "else", "endif"], of: "if")
      branches.append((condition, body))
      if end == "elif" { continue }
      try endTag()
      if end == "endif" { return .branches(branches, otherwise: []) }
      let (otherwise, _) = try statements(until: ["endif"], of: "if")
      try endTag()
      return .branches(branches, otherwise: otherwise)
    }
  }

  private mutating func loop() throws -> JinjaStatement.Kind {
    let target = try self.target(allowsAttribute: false)
    guard skipName("in") else { throw unexpected("'in'") }
    let sequence = try tuple(allowsConditional: false)
    let condition = skipName("if") ? try expression() : nil
    if isName("recursive") { throw JinjaError.unsupported("'recursive' in a loop", line: current.line) }
    try endTag()
    let (body, end) = try statements(until: ["else", "endfor"], of: "for")
    var otherwise: [JinjaStatement] = []
    if end == "else" {
      try endTag()
      (otherwise, _) = try statements(until: ["endfor"], of: "for")
    }
    try endTag()
    return .loop(.init(target: target, sequence: sequence, condition: condition, body: body, otherwise: otherwise))
  }

  private mutating func target(allowsAttribute: Bool) throws -> JinjaStatement.Target {
    var targets: [JinjaStatement.Target] = []
    var isTuple = false
    let isEnclosed = skipSymbol("(")
    repeat {
      if isTuple, !isStartOfTarget { break }
      let name = try expectName()
      guard !["true", "false", "none", "True", "False", "None"].contains(name) else {
        throw JinjaError.invalid("can't assign to '\(name)'", line: current.line)
      }
      if allowsAttribute, skipSymbol(".") {
        targets.append(.attribute(name, try expectName()))
      } else {
        targets.append(.name(name))
      }
      if !isSymbol(",") { break }
      isTuple = true
    } while skipSymbol(",")
    if isEnclosed { try expectSymbol(")") }
    return isTuple ? .tuple(targets) : targets[0]
  }

  private var isStartOfTarget: Bool { if case .name(let name) = current.kind { name != "in" } else { false } }

  private mutating func set() throws -> JinjaStatement.Kind {
    let target = try self.target(allowsAttribute: true)
    if skipSymbol("=") {
      let value = try tuple()
      try endTag()
      return .set(target, value)
    }
    var steps: [JinjaPostfix] = []
    if isSymbol("|") { steps = try filters(continued: true) }
    return .setBlock(target, steps, try body(of: "set"))
  }

  private mutating func with() throws -> JinjaStatement.Kind {
    var values: [(target: JinjaStatement.Target, value: JinjaExpression)] = []
    while case .name = current.kind {
      let target = JinjaStatement.Target.name(try expectName())
      try expectSymbol("=")
      values.append((target, try expression()))
      if !skipSymbol(",") { break }
    }
    return .with(values, try body(of: "with"))
  }

  private mutating func parameters() throws -> [(name: String, standard: JinjaExpression?)] {
    var parameters: [(name: String, standard: JinjaExpression?)] = []
    try expectSymbol("(")
    while !isSymbol(")") {
      if !parameters.isEmpty { try expectSymbol(",") }
      let name = try expectName()
      let standard = skipSymbol("=") ? try expression() : nil
      guard standard != nil || parameters.last?.standard == nil else {
        throw JinjaError.invalid("the parameter '\(name)' without default follows one with default", line: current.line)
      }
      parameters.append((name, standard))
    }
    try expectSymbol(")")
    return parameters
  }

  /// The statements of a macro or call tag and whether they mention the caller.
  private mutating func macroBody(of tag: String) throws -> (body: [JinjaStatement], takesCaller: Bool) {
    let outer = namesRead
    namesRead = []
    let body = try body(of: tag)
    let takesCaller = namesRead.contains("caller")
    namesRead.formUnion(outer)
    return (body, takesCaller)
  }

  private mutating func macro() throws -> JinjaStatement.Macro {
    let name = try expectName()
    let parameters = try parameters()
    let (body, takesCaller) = try macroBody(of: "macro")
    return .init(name: name, parameters: parameters, body: body, takesCaller: takesCaller)
  }

  private mutating func call() throws -> JinjaStatement.Kind {
    let parameters = isSymbol("(") ? try self.parameters() : []
    guard case .postfix(let value, var steps) = try expression(), case .call(let arguments)? = steps.popLast() else {
      throw JinjaError.invalid("'call' needs a call of a macro", line: current.line)
    }
    let callee = steps.isEmpty ? value : .postfix(value, steps)
    let (body, _) = try macroBody(of: "call")
    return .call(callee, arguments, caller: .init(name: "caller", parameters: parameters, body: body, takesCaller: false))
  }

  /// `name(…) | name(…)`, with the first bar when it's a continuation.
  private mutating func filters(continued: Bool = false) throws -> [JinjaPostfix] {
    var steps: [JinjaPostfix] = []
    if continued { try expectSymbol("|") }
    repeat { steps.append(try filter()) } while skipSymbol("|")
    return steps
  }
}
