/// An expression of a template.
indirect enum JinjaExpression: Sendable {
  case none
  case bool(Bool)
  case integer(Int)
  case float(Double)
  case string(String)
  case name(String)
  case list([JinjaExpression])
  case tuple([JinjaExpression])
  case dictionary([(key: JinjaExpression, value: JinjaExpression)])
  case not(JinjaExpression)
  case negative(JinjaExpression)
  case positive(JinjaExpression)
  /// Operators of one rank, from the left.
  case arithmetic(JinjaExpression, [(symbol: String, operand: JinjaExpression)])
  case concatenation([JinjaExpression])
  /// `a < b <= c`: each neighbour is compared, until one comparison fails.
  case comparison(JinjaExpression, [(symbol: String, operand: JinjaExpression)])
  case and([JinjaExpression])
  case or([JinjaExpression])
  /// `then if condition else otherwise`
  case conditional(then: JinjaExpression, condition: JinjaExpression, otherwise: JinjaExpression?)
  case postfix(JinjaExpression, [JinjaPostfix])
}

/// What is applied to a value, one after the other.
enum JinjaPostfix: Sendable {
  /// `.name`
  case attribute(String)
  /// `[expression]`
  case item(JinjaExpression)
  /// `[start:end:step]`
  case slice(JinjaExpression?, JinjaExpression?, JinjaExpression?)
  case call(JinjaArgumentList)
  /// `| name(…)`
  case filter(String, JinjaArgumentList)
  /// `is name(…)`, `is not name(…)`
  case test(String, JinjaArgumentList, isNegated: Bool)
}

/// The arguments of a call, unevaluated.
struct JinjaArgumentList: Sendable {
  var positional: [JinjaExpression] = []
  var keywords: [(name: String, value: JinjaExpression)] = []
}

/// A statement and its line.
struct JinjaStatement: Sendable {
  indirect enum Kind: Sendable {
    case text(String)
    case output(JinjaExpression)
    case branches([(condition: JinjaExpression, body: [JinjaStatement])], otherwise: [JinjaStatement])
    case loop(Loop)
    case set(Target, JinjaExpression)
    /// `{% set name %}…{% endset %}`, and the same with filters.
    case setBlock(Target, [JinjaPostfix], [JinjaStatement])
    case macro(Macro)
    /// `{% call(…) macro(…) %}…{% endcall %}`; the macro is the caller that is handed over.
    case call(JinjaExpression, JinjaArgumentList, caller: Macro)
    case with([(target: Target, value: JinjaExpression)], [JinjaStatement])
    case filter([JinjaPostfix], [JinjaStatement])
    /// transformers' mark of what the assistant said; the text is as without it.
    case generation([JinjaStatement])
    case leave
    case next
  }

  /// Where a value goes.
  indirect enum Target: Sendable {
    case name(String)
    case tuple([Target])
    /// `namespace.attribute`
    case attribute(String, String)
  }

  struct Loop: Sendable {
    var target: Target
    var sequence: JinjaExpression
    var condition: JinjaExpression?
    var body: [JinjaStatement]
    var otherwise: [JinjaStatement]
  }

  struct Macro: Sendable {
    var name: String
    var parameters: [(name: String, standard: JinjaExpression?)]
    var body: [JinjaStatement]
    /// Whether the body mentions `caller`, without which it takes none.
    var takesCaller: Bool
  }

  var kind: Kind
  var line: Int
}
