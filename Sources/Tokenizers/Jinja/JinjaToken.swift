/// A piece of a template: text as it is, the borders of tags, and what stands in them.
struct JinjaToken: Sendable {
  enum Kind: Sendable {
    case data(String)
    case blockBegin
    case blockEnd
    case variableBegin
    case variableEnd
    case name(String)
    case string(String)
    case integer(Int)
    case float(Double)
    /// An operator or a bracket.
    case symbol(String)
    case end
  }

  var kind: Kind
  var line: Int

  /// How messages call it.
  var summary: String {
    switch kind {
    case .data: "text"
    case .blockBegin: "'{%'"
    case .blockEnd: "'%}'"
    case .variableBegin: "'{{'"
    case .variableEnd: "'}}'"
    case .name(let name): "'\(name)'"
    case .string: "a text in quotes"
    case .integer(let value): "\(value)"
    case .float(let value): "\(value)"
    case .symbol(let symbol): "'\(symbol)'"
    case .end: "the end of the template"
    }
  }
}
