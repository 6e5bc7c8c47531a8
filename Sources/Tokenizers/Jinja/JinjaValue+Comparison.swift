extension JinjaValue {
  /// Python's `==`.
  func equals(_ other: JinjaValue) -> Bool {
    if let left = text, let right = other.text { return PythonText.areEqual(left, right) }
    if let left = integer, let right = other.integer { return left == right }
    if let left = double, let right = other.double { return left == right }
    switch (self, other) {
    case (.undefined, .undefined), (.none, .none): return true
    case (.sequence(let left), .sequence(let right)):
      return left.kind == right.kind && left.items.count == right.items.count
        && zip(left.items, right.items).allSatisfy { $0.equals($1) }
    case (.dictionary(let left), .dictionary(let right)):
      return left.entries.count == right.entries.count
        && left.entries.allSatisfy { entry in right[entry.key].map { entry.value.equals($0) } ?? false }
    case (.namespace(let left), .namespace(let right)): return left === right
    case (.loop(let left), .loop(let right)): return left === right
    case (.macro(let left), .macro(let right)): return left === right
    case (.iterator(let left), .iterator(let right)): return left === right
    case (.function(let left), .function(let right)): return left == right
    default: return false
    }
  }

  /// Python's `<`.
  func isLess(than other: JinjaValue) throws -> Bool {
    if let left = text, let right = other.text { return PythonText.isLess(left, right) }
    if let left = integer, let right = other.integer { return left < right }
    if let left = double, let right = other.double { return left < right }
    if case .sequence(let left) = self, case .sequence(let right) = other, left.kind == right.kind {
      for (first, second) in zip(left.items, right.items) where !first.equals(second) { return try first.isLess(than: second) }
      return left.items.count < right.items.count
    }
    throw JinjaError.invalid("values of type \(typeName) and \(other.typeName) have no order")
  }

  /// Python's `in`, for the right side.
  func contains(_ element: JinjaValue) throws -> Bool {
    switch self {
    case .string(let text), .safe(let text):
      guard let needle = element.text else {
        throw JinjaError.invalid("only a text can be 'in' a text, found \(element.typeName)")
      }
      return needle.isEmpty || text.utf8.count >= needle.utf8.count && Array(text.utf8).contains(Array(needle.utf8))
    case .sequence(let sequence): return sequence.items.contains { $0.equals(element) }
    case .iterator(let iterator): return iterator.takeAll().contains { $0.equals(element) }
    case .dictionary(let dictionary): return dictionary[element] != nil
    case .undefined: return false
    default: throw JinjaError.invalid("nothing can be 'in' a value of type \(typeName)")
    }
  }
}
