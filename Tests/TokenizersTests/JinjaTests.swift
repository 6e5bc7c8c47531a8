import Foundation
import Goldens
import TestSupport
import Testing

@testable import Tokenizers

/// The evaluator against Jinja 3.1 with transformers' settings: expressions, statements and whitespace, one template a row.
struct JinjaTests {
  struct Attributes: Decodable {
    var messages: [Message]
    var bos: String
    var now: String
  }

  struct Message: Decodable {
    var role: String
    var content: String
  }

  struct Row: Decodable {
    var template: String
    var rendered: String?
    var refused: String?
  }

  /// A text, or the error.
  static func render(_ template: String, _ attributes: Attributes, budget: JinjaBudget = JinjaBudget()) throws -> String {
    let messages = try attributes.messages.map { message in
      JinjaValue.dictionary(
        try JinjaDictionary([(.string("role"), .string(message.role)), (.string("content"), .string(message.content))]))
    }
    var evaluator = JinjaEvaluator(
      variables: [
        ("messages", try .list(messages)), ("add_generation_prompt", .bool(true)), ("tools", .none), ("documents", .none),
        ("bos_token", .string(attributes.bos)),
      ], clock: JinjaClock(now: try time(attributes.now), timeZone: .gmt), budget: budget)
    return try evaluator.render(try JinjaParser.parse(template))
  }

  /// The fixed time of the goldens, taken as that of Greenwich.
  static func time(_ text: String) throws -> Date {
    let formatter = ISO8601DateFormatter()
    return try #require(formatter.date(from: text + "Z"))
  }

  @Test(arguments: try Fixtures.cases(in: "tokenizers/jinja"))
  func equalsJinja(_ golden: GoldenCase) throws {
    let attributes: Attributes = try golden.attributes()
    var unsupported: [String] = []
    for row in try rows(of: golden, as: Row.self) {
      do {
        let text = try Self.render(row.template, attributes)
        guard let rendered = row.rendered else {
          Issue.record("\(row.template): expected a refusal (\(row.refused ?? "")), found '\(text)'")
          continue
        }
        if Array(text.utf8) != Array(rendered.utf8) { Issue.record("\(row.template): expected '\(rendered)', found '\(text)'") }
      } catch let error as JinjaError {
        if row.rendered != nil, error.kind == .unsupported {
          unsupported.append(row.template)
        } else if let rendered = row.rendered {
          Issue.record("\(row.template): expected '\(rendered)', found \(error)")
        }
      }
    }
    // What Jinja can do and the evaluator refuses by name, complete.
    let expected = [
      "tokenizers/jinja/expressions": Self.unsupportedExpressions, "tokenizers/jinja/statements": Self.unsupportedStatements,
    ]
    if let list = expected[golden.id] {
      #expect(unsupported == list)
    } else {
      #expect(unsupported.count <= 70, "\(unsupported)")
    }
  }

  static let unsupportedExpressions = [
    "{{ '<b>'|safe, ('<b>'|safe) ~ '&', '<'|safe|upper }}", "{{ loop is defined, self is defined, caller is defined }}",
    "{{ 'ab'.center(6), 'x'.zfill(3) }}", "{{ '%s and %s' % ('a', 'b') }}", "{{ '{} {}'.format(1, 2) }}", "{{ 'abc'|wordcount }}",
    "{{ 'a b'|urlencode }}", "{{ 'abc'|format }}", "{{ [1,2,3]|batch(2)|list }}", "{{ ''.__class__ }}",
    "{{ messages.__len__ }}", "{{ 2 ** 10 }}", "{{ [1] * 2 }}",
  ]
  static let unsupportedStatements = [
    "{% block a %}{% endblock %}", "{% for x in [1] recursive %}{{ x }}{% endfor %}",
  ]

  private let none = Attributes(messages: [], bos: "", now: "2024-07-06T15:04:09")

  @Test func refusalsNameThePlace() throws {
    for (template, line, word) in [
      ("a\n\n{{ x.y.z }}", 3, "x"), ("{% if true %}\n{{ 1|batch }}\n{% endif %}", 2, "batch"),
      ("\n{% include 'x' %}", 2, "include"),
      ("{{ 'x'.center(3) }}", 1, "center"), ("{{ 1 +\n }}", 2, "}}"), ("{#\n#}{{ lipsum() }}", 2, "lipsum"),
      ("{% macro f() %}\n{{ 1 // 0 }}{% endmacro %}\n\n{{ f() }}", 2, "zero"), ("é {{ é }}", 1, "é"),
    ] {
      let error = #expect(throws: JinjaError.self, "\(template)") { _ = try Self.render(template, none) }
      #expect(error?.line == line, "\(template)")
      #expect(error?.message.contains(word) == true, "\(template): \(error?.message ?? "")")
    }
  }

  /// Hostile templates end with a refusal: loops, doubling texts, deep brackets, recursion, deep values.
  @Test(arguments: [
    "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}",
    "{% set ns = namespace(x='abcdefgh') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "{% set ns = namespace(x='abcdefgh') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}{% endfor %}",
    "{% set ns = namespace(x={}) %}{% for i in range(99999) %}{% set ns.x = {'a': ns.x} %}{% endfor %}",
    "{% set ns = namespace(x=none) %}{% for i in range(99999) %}{% set ns.x = namespace(y=ns.x) %}{% set ns.x = ns %}{% endfor %}",
    "{{ 'x' * 9223372036854775807 }}", "{{ ('x' * 99999).replace('', 'y' * 99999) }}", "{{ 'a' | indent(9223372036854775807) }}",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
    "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(40) }}",
    "{{ range(100001) }}", "{{ [1] | tojson(indent=1000000000) }}",
    "{% set a = 'a' * 999999 %}{% set b = 'a' * 499999 ~ 'b' %}{% for i in range(999) %}{{ b in a }}{{ a.find(b) }}{% endfor %}",
    "{% set a = 'a' * 999999 %}{% for i in range(99999) %}{{ a | upper | length }}{% endfor %}",
    "{% set a = range(99999) | list %}{% for i in range(99999) %}{% set b = a == a %}{% set c = a | sort %}{% endfor %}",
    "{% set a = range(99999) | list | unique | list %}",
    "{% set m = [1, 2] %}{% set ns = namespace(m=m) %}{% for i in range(40) %}{% set ns.m = [ns.m, ns.m] %}{% endfor %}{{ ns.m }}",
    "{% set ns = namespace(m=[1]) %}{% for i in range(40) %}{% set ns.m = [ns.m, ns.m] %}{% endfor %}{{ ns.m == ns.m }}",
    "{% set ns = namespace(m=[1]) %}{% for i in range(40) %}{% set ns.m = [ns.m, ns.m] %}{% endfor %}{{ ns.m | tojson | length }}",
  ])
  func hostileTemplatesEnd(_ template: String) throws {
    #expect(throws: JinjaError.self) { _ = try Self.render(template, none, budget: JinjaBudget(1 << 18)) }
  }

  @Test func deepTemplatesAreRefused() throws {
    let many = 20_000
    for (open, close) in [("(", ")"), ("[", "]"), ("{'a': ", "}"), ("not ", ""), ("-", ""), ("x if ", ""), ("f(", ")")] {
      let template = "{{ " + String(repeating: open, count: many) + "1" + String(repeating: close, count: many) + " }}"
      #expect(throws: JinjaError.self, "\(open)") { _ = try Self.render(template, none) }
    }
    let tags = String(repeating: "{% if 1 %}", count: many) + String(repeating: "{% endif %}", count: many)
    #expect(throws: JinjaError.self) { _ = try Self.render(tags, none) }
    // Long chains aren't deep.
    let chain = "{{ " + Array(repeating: "1", count: many).joined(separator: " + ") + " }}"
    #expect(try Self.render(chain, none) == "\(many)")
    let filters = "{{ 'a'" + String(repeating: " | upper", count: many) + " }}"
    #expect(try Self.render(filters, none) == "A")
  }

  /// Any cut and any changed byte of a template gives a text or a refusal.
  @Test func damagedTemplates() throws {
    var generator = SystemRandomNumberGenerator()
    for golden in try Fixtures.cases(in: "tokenizers/chat-templates") {
      let attributes: ChatTemplateTests.Attributes = try golden.attributes()
      let scalars = Array(attributes.template.unicodeScalars)
      for _ in 0..<40 {
        var damaged = scalars
        let place = Int.random(in: 0..<damaged.count, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: damaged.removeSubrange(place...)
        case 1: damaged.remove(at: place)
        default: damaged[place] = "{}%-'()[]|.,=x \n".unicodeScalars.randomElement(using: &generator) ?? " "
        }
        _ = try? Self.render(PythonText.text(damaged), none, budget: JinjaBudget(1 << 16))
      }
    }
  }
}
