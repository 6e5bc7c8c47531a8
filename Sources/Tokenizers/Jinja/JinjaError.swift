/// What is wrong with a template, or what it does that isn't supported.
struct JinjaError: Error, Equatable {
  enum Kind {
    /// The template isn't one, or fails as it would in Jinja.
    case invalid
    /// Jinja can do it, the evaluator can't.
    case unsupported
    /// The template called `raise_exception`.
    case raised
    /// The template does more than any real one.
    case tooMuch
  }

  var kind: Kind
  var message: String
  /// The line of the template, from 1; 0 where it isn't known yet.
  var line = 0

  static func invalid(_ message: String, line: Int = 0) -> JinjaError { .init(kind: .invalid, message: message, line: line) }
  static func unsupported(_ what: String, line: Int = 0) -> JinjaError { .init(kind: .unsupported, message: what, line: line) }
}
