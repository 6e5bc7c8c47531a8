/// Runs a template.
struct JinjaEvaluator {
  let budget: JinjaBudget
  let clock: JinjaClock
  /// Variables and functions that the template finds.
  private let root: JinjaScope
  private var line = 0
  /// Scopes that macros refer to; they are emptied at the end, since they refer to the macros too.
  private var scopesOfMacros: [JinjaScope] = []

  private enum Flow { case onward, leave, next }

  init(variables: [(name: String, value: JinjaValue)], clock: JinjaClock, budget: JinjaBudget = JinjaBudget()) {
    self.budget = budget
    self.clock = clock
    root = JinjaScope(parent: nil)
    for function in [JinjaFunction.range, .dict, .namespace, .raiseException, .strftimeNow, .lipsum, .cycler, .joiner] {
      root.set(function.rawValue, .function(function))
    }
    for variable in variables { root.set(variable.name, variable.value) }
  }

  /// The text of a template.
  ///
  /// - Throws: ``JinjaError`` with the line.
  mutating func render(_ body: [JinjaStatement]) throws -> String {
    let scope = JinjaScope(parent: root)
    defer {
      for scope in scopesOfMacros + [scope] { scope.clear() }
      scopesOfMacros = []
    }
    var text = ""
    do {
      _ = try run(body, scope, &text)
    } catch var error as JinjaError {
      if error.line == 0 { error.line = line }
      throw error
    }
    return text
  }

  // MARK: Statements

  private mutating func run(_ body: [JinjaStatement], _ scope: JinjaScope, _ text: inout String) throws -> Flow {
    for statement in body {
      line = statement.line
      try budget.spend()
      let flow = try run(statement.kind, scope, &text)
      if flow != .onward { return flow }
    }
    return .onward
  }

  private mutating func run(_ statement: JinjaStatement.Kind, _ scope: JinjaScope, _ text: inout String) throws -> Flow {
    switch statement {
    case .text(let data):
      try budget.spend(data.utf8.count)
      text += data
    case .output(let expression):
      let value = try evaluate(expression, scope)
      try budget.spend(value.size)
      text += try value.printed()
    case .branches(let branches, let otherwise):
      for branch in branches where try evaluate(branch.condition, scope).isTrue { return try deeper(branch.body, scope, &text) }
      return try deeper(otherwise, scope, &text)
    case .loop(let loop): return try run(loop, scope, &text)
    case .set(let target, let expression): try assign(try evaluate(expression, scope), to: target, scope)
    case .setBlock(let target, let filters, let body):
      try assign(try filtered(body, filters, scope), to: target, scope)
    case .macro(let macro):
      scopesOfMacros.append(scope)
      scope.set(macro.name, .macro(JinjaMacro(macro, scope: scope)))
    case .call(let callee, let list, let caller):
      scopesOfMacros.append(scope)
      let function = try evaluate(callee, scope)
      var arguments = try evaluate(list, scope)
      arguments.keywords.append(("caller", .macro(JinjaMacro(caller, scope: scope))))
      text += try call(function, arguments).printed()
    case .with(let values, let body):
      let inner = JinjaScope(parent: scope)
      // The values see the scope outside.
      for (target, value) in values { try assign(try evaluate(value, scope), to: target, inner) }
      return try deeper(body, inner, &text)
    case .filter(let filters, let body): text += try filtered(body, filters, scope).printed()
    case .generation(let body): _ = try deeper(body, JinjaScope(parent: scope), &text)
    case .leave: return .leave
    case .next: return .next
    }
    return .onward
  }

  private mutating func deeper(_ body: [JinjaStatement], _ scope: JinjaScope, _ text: inout String) throws -> Flow {
    try budget.enter()
    defer { budget.exit() }
    return try run(body, scope, &text)
  }

  private mutating func run(_ loop: JinjaStatement.Loop, _ scope: JinjaScope, _ text: inout String) throws -> Flow {
    var items = try elements(of: try evaluate(loop.sequence, scope))
    if let condition = loop.condition {
      items = try items.filter { item in
        let inner = JinjaScope(parent: scope)
        try assign(item, to: loop.target, inner)
        return try evaluate(condition, inner).isTrue
      }
    }
    if items.isEmpty { return try deeper(loop.otherwise, JinjaScope(parent: scope), &text) }
    let state = JinjaLoop(items)
    // As in Jinja, `else` is for a loop in which no round came to its end.
    var isCompleted = false
    for (index, item) in items.enumerated() {
      try budget.spend()
      state.index = index
      let inner = JinjaScope(parent: scope)
      inner.set("loop", .loop(state))
      try assign(item, to: loop.target, inner)
      let flow = try deeper(loop.body, inner, &text)
      if flow == .leave { break }
      if flow == .onward { isCompleted = true }
    }
    return isCompleted ? .onward : try deeper(loop.otherwise, JinjaScope(parent: scope), &text)
  }

  /// The text of statements through filters.
  private mutating func filtered(_ body: [JinjaStatement], _ filters: [JinjaPostfix], _ scope: JinjaScope) throws -> JinjaValue {
    var text = ""
    let inner = JinjaScope(parent: scope)
    _ = try deeper(body, inner, &text)
    return try filters.reduce(.string(text)) { try apply($1, to: $0, inner) }
  }

  private func assign(_ value: JinjaValue, to target: JinjaStatement.Target, _ scope: JinjaScope) throws {
    switch target {
    case .name(let name): scope.set(name, value)
    case .attribute(let name, let attribute):
      guard case .namespace(let namespace)? = scope[name] else {
        throw JinjaError.invalid("'\(name).\(attribute)' can't be set: '\(name)' is no namespace")
      }
      try namespace.set(attribute, value)
    case .tuple(let targets):
      let items = try elements(of: value)
      guard items.count == targets.count else {
        throw JinjaError.invalid("expected \(targets.count) values to assign, found \(items.count)")
      }
      for (target, item) in zip(targets, items) { try assign(item, to: target, scope) }
    }
  }

  // MARK: Macros

  /// Runs a macro in a scope of its own, within the one where it was written.
  mutating func call(_ macro: JinjaMacro, _ arguments: JinjaArguments) throws -> JinjaValue {
    let definition = macro.definition
    let scope = JinjaScope(parent: macro.scope)
    var keywords = arguments.keywords
    guard arguments.positional.count <= definition.parameters.count else {
      throw JinjaError.invalid(
        "the macro '\(definition.name)' takes \(definition.parameters.count) arguments, found \(arguments.positional.count)")
    }
    if let index = keywords.firstIndex(where: { $0.name == "caller" }) {
      guard definition.takesCaller else { throw JinjaError.invalid("the macro '\(definition.name)' doesn't use its caller") }
      scope.set("caller", keywords.remove(at: index).value)
    } else if definition.takesCaller {
      scope.set("caller", .undefined("no caller was given"))
    }
    for (index, parameter) in definition.parameters.enumerated() {
      let named = keywords.firstIndex { $0.name == parameter.name }.map { keywords.remove(at: $0).value }
      if index < arguments.positional.count {
        guard named == nil else { throw JinjaError.invalid("the macro '\(definition.name)' got '\(parameter.name)' twice") }
        scope.set(parameter.name, arguments.positional[index])
      } else if let named {
        scope.set(parameter.name, named)
      } else if let standard = parameter.standard {
        scope.set(parameter.name, try evaluate(standard, scope))
      } else {
        scope.set(parameter.name, .undefined("the parameter '\(parameter.name)' was not given"))
      }
    }
    if let unknown = keywords.first {
      throw JinjaError.invalid("the macro '\(definition.name)' has no parameter '\(unknown.name)'")
    }
    let outer = line
    var text = ""
    _ = try deeper(definition.body, scope, &text)
    line = outer
    return .string(text)
  }
}
