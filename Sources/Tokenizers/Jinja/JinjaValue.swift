/// A value while a template runs.
enum JinjaValue {
  /// What isn't there; its description for messages.
  case undefined(String)
  case none
  case bool(Bool)
  case integer(Int)
  case float(Double)
  case string(String)
  /// A text behind `safe`: printed as it is, not added to others.
  case safe(String)
  case sequence(JinjaSequence)
  case iterator(JinjaIterator)
  case dictionary(JinjaDictionary)
  case namespace(JinjaNamespace)
  case macro(JinjaMacro)
  case loop(JinjaLoop)
  case function(JinjaFunction)
  indirect case method(JinjaValue, String)

  /// Whether `if` takes it for true.
  var isTrue: Bool {
    switch self {
    case .undefined, .none: false
    case .bool(let value): value
    case .integer(let value): value != 0
    case .float(let value): value != 0
    case .string(let text), .safe(let text): !text.isEmpty
    case .sequence(let sequence): !sequence.items.isEmpty
    case .dictionary(let dictionary): !dictionary.entries.isEmpty
    case .iterator, .namespace, .macro, .loop, .function, .method: true
    }
  }

  var isUndefined: Bool { if case .undefined = self { true } else { false } }

  /// A text, safe or not.
  var text: String? {
    switch self {
    case .string(let text), .safe(let text): text
    default: nil
    }
  }

  /// A whole number; truth values count, as in Python.
  var integer: Int? {
    switch self {
    case .integer(let value): value
    case .bool(let value): value ? 1 : 0
    default: nil
    }
  }

  /// A number as a floating one.
  var double: Double? {
    if case .float(let value) = self { return value }
    return integer.map(Double.init)
  }

  /// The name of its Python type, for messages.
  var typeName: String {
    switch self {
    case .undefined: "undefined"
    case .none: "None"
    case .bool: "bool"
    case .integer: "int"
    case .float: "float"
    case .string, .safe: "str"
    case .sequence(let sequence): sequence.kind == .tuple ? "tuple" : "list"
    case .iterator: "generator"
    case .dictionary: "dict"
    case .namespace: "namespace"
    case .macro, .method, .function: "function"
    case .loop: "loop"
    }
  }

  /// How deep lists and dictionaries lie within it.
  var depth: Int {
    switch self {
    case .sequence(let sequence): sequence.depth
    case .dictionary(let dictionary): dictionary.depth
    case .iterator(let iterator): iterator.depth
    case .method(let value, _): value.depth
    default: 0
    }
  }

  /// Whether it is or holds something that can refer to itself.
  var holdsReference: Bool {
    switch self {
    case .namespace, .loop: true
    case .sequence(let sequence): sequence.holdsReference
    case .dictionary(let dictionary): dictionary.holdsReference
    case .iterator(let iterator): iterator.holdsReference
    case .method(let value, _): value.holdsReference
    default: false
    }
  }

  /// How long its text is, roughly: what printing or comparing it costs.
  ///
  /// A value that occurs twice counts twice.
  var size: Int {
    switch self {
    case .string(let text), .safe(let text): text.utf8.count
    case .sequence(let sequence): sequence.size
    case .dictionary(let dictionary): dictionary.size
    case .iterator(let iterator): iterator.size
    default: 8
    }
  }

  /// The size of a list.
  static func size(of items: [JinjaValue]) -> Int {
    // Far above any budget, so that the sum of two never overflows.
    items.reduce(8) { min($0 + $1.size + 2, 1 << 60) }
  }

  static let deepest = 50

  static func list(_ items: [JinjaValue]) throws -> JinjaValue { .sequence(try JinjaSequence(.list, items)) }
}

/// A list, a tuple, a range or a view of a dictionary.
final class JinjaSequence {
  enum Kind { case list, tuple, range, view }

  let kind: Kind
  let items: [JinjaValue]
  let depth: Int
  let size: Int
  let holdsReference: Bool

  init(_ kind: Kind, _ items: [JinjaValue]) throws {
    self.kind = kind
    self.items = items
    size = JinjaValue.size(of: items)
    depth = 1 + (items.lazy.map(\.depth).max() ?? 0)
    holdsReference = items.contains(where: \.holdsReference)
    guard depth <= JinjaValue.deepest else {
      throw JinjaError(kind: .tooMuch, message: "lists more than \(JinjaValue.deepest) deep")
    }
  }
}

/// Elements that are given once: what `map`, `select` and their like make.
final class JinjaIterator {
  private var rest: ArraySlice<JinjaValue>
  let depth: Int
  let size: Int
  let holdsReference: Bool

  init(_ items: [JinjaValue]) throws {
    let list = try JinjaSequence(.list, items)
    rest = items[...]
    (depth, size, holdsReference) = (list.depth, list.size, list.holdsReference)
  }

  func takeFirst() -> JinjaValue? { rest.popFirst() }

  func takeAll() -> [JinjaValue] {
    defer { rest = [] }
    return Array(rest)
  }
}

/// A dictionary in the order of its entries.
final class JinjaDictionary {
  let entries: [(key: JinjaValue, value: JinjaValue)]
  let depth: Int
  let size: Int
  let holdsReference: Bool

  /// Takes entries; of equal keys the first stands and the last value counts, as in Python.
  init(_ entries: [(key: JinjaValue, value: JinjaValue)]) throws {
    var result: [(key: JinjaValue, value: JinjaValue)] = []
    for entry in entries {
      switch entry.key {
      case .none, .bool, .integer, .float, .string: break
      default: throw JinjaError.unsupported("a key of type \(entry.key.typeName) in a dictionary")
      }
      if let index = result.firstIndex(where: { $0.key.equals(entry.key) }) {
        result[index].value = entry.value
      } else {
        result.append(entry)
      }
    }
    self.entries = result
    size = JinjaValue.size(of: result.flatMap { [$0.key, $0.value] })
    depth = 1 + (result.lazy.map(\.value.depth).max() ?? 0)
    holdsReference = result.contains { $0.value.holdsReference }
    guard depth <= JinjaValue.deepest else {
      throw JinjaError(kind: .tooMuch, message: "dictionaries more than \(JinjaValue.deepest) deep")
    }
  }

  subscript(_ key: JinjaValue) -> JinjaValue? { entries.first { $0.key.equals(key) }?.value }
  subscript(_ key: String) -> JinjaValue? { self[.string(key)] }
}

/// What `namespace(…)` makes: the one thing whose attributes a template may set.
final class JinjaNamespace {
  private(set) var attributes: [(name: String, value: JinjaValue)] = []

  subscript(_ name: String) -> JinjaValue? { attributes.first { PythonText.areEqual($0.name, name) }?.value }

  func set(_ name: String, _ value: JinjaValue) throws {
    guard name.utf8.first != 0x5F else { throw JinjaError.invalid("the attribute '\(name)' of a namespace begins with '_'") }
    guard !value.holdsReference else { throw JinjaError.unsupported("a namespace within a namespace") }
    if let index = attributes.firstIndex(where: { PythonText.areEqual($0.name, name) }) {
      attributes[index].value = value
    } else {
      attributes.append((name, value))
    }
  }
}

/// A macro with the place where it was written.
final class JinjaMacro {
  let definition: JinjaStatement.Macro
  let scope: JinjaScope

  init(_ definition: JinjaStatement.Macro, scope: JinjaScope) {
    self.definition = definition
    self.scope = scope
  }
}

/// `loop` within a loop.
final class JinjaLoop {
  let items: [JinjaValue]
  var index = 0
  var lastChanged: [JinjaValue]?

  init(_ items: [JinjaValue]) { self.items = items }

  /// An attribute of `loop`; nil when it has no such.
  func attribute(_ name: String) -> JinjaValue? {
    switch name {
    case "index": .integer(index + 1)
    case "index0": .integer(index)
    case "revindex": .integer(items.count - index)
    case "revindex0": .integer(items.count - index - 1)
    case "first": .bool(index == 0)
    case "last": .bool(index == items.count - 1)
    case "length": .integer(items.count)
    case "depth": .integer(1)
    case "depth0": .integer(0)
    case "previtem": index > 0 ? items[index - 1] : .undefined("there is no previous item")
    case "nextitem": index + 1 < items.count ? items[index + 1] : .undefined("there is no next item")
    case "cycle", "changed": .method(.loop(self), name)
    default: nil
    }
  }
}

/// A function that every template sees.
enum JinjaFunction: String {
  case range
  case dict
  case namespace
  case raiseException = "raise_exception"
  case strftimeNow = "strftime_now"
  case lipsum
  case cycler
  case joiner
}

/// The variables of a part of a template.
final class JinjaScope {
  private(set) var values: [String: JinjaValue] = [:]  // names are ASCII
  let parent: JinjaScope?

  init(parent: JinjaScope?) { self.parent = parent }

  subscript(_ name: String) -> JinjaValue? {
    var scope: JinjaScope? = self
    while let current = scope {
      if let value = current.values[name] { return value }
      scope = current.parent
    }
    return nil
  }

  func set(_ name: String, _ value: JinjaValue) { values[name] = value }

  /// Lets go of everything: macros refer to the scope that holds them.
  func clear() { values = [:] }
}
