extension JinjaEvaluator {
  // MARK: Elements

  /// What a loop over a value runs through.
  func elements(of value: JinjaValue) throws -> [JinjaValue] {
    let items: [JinjaValue]
    switch value {
    case .sequence(let sequence): items = sequence.items
    case .iterator(let iterator): items = iterator.takeAll()
    case .dictionary(let dictionary): items = dictionary.entries.map(\.key)
    case .string(let text), .safe(let text): items = text.unicodeScalars.map { .string(String($0)) }
    case .undefined: items = []
    default: throw JinjaError.invalid("a value of type \(value.typeName) has no elements")
    }
    try budget.spend(items.count * 4)
    return items
  }

  /// `value[key]`: an element, else an attribute of that name, else undefined.
  func item(of value: JinjaValue, _ key: JinjaValue) throws -> JinjaValue {
    switch value {
    case .undefined(let what): throw JinjaError.invalid(what)
    case .sequence(let sequence) where sequence.kind != .view:
      if let index = key.integer {
        let place = index < 0 ? index + sequence.items.count : index
        if sequence.items.indices.contains(place) { return sequence.items[place] }
      }
    case .string(let text), .safe(let text):
      if let index = key.integer {
        try budget.spend(text.utf8.count)
        let scalars = PythonText.scalars(text)
        let place = index < 0 ? index + scalars.count : index
        if scalars.indices.contains(place) { return .string(String(scalars[place])) }
      }
    case .dictionary(let dictionary):
      try budget.spend(dictionary.entries.count)
      if let found = dictionary[key] { return found }
    default: break
    }
    guard let name = key.text else { return .undefined("there is no element \(try key.represented())") }
    return try method(of: value, name) ?? .undefined("there is no '\(name)' in a value of type \(value.typeName)")
  }

  /// `value.name`: an attribute, else an element of that name, else undefined.
  func attribute(of value: JinjaValue, _ name: String) throws -> JinjaValue {
    if case .undefined(let what) = value { throw JinjaError.invalid(what) }
    if let method = try method(of: value, name) { return method }
    if case .dictionary(let dictionary) = value {
      try budget.spend(dictionary.entries.count)
      if let found = dictionary[name] { return found }
    }
    return .undefined("a value of type \(value.typeName) has no '\(name)'")
  }

  /// What Python's own type of a value has under a name; nil when it has nothing.
  private func method(of value: JinjaValue, _ name: String) throws -> JinjaValue? {
    guard name.utf8.first != 0x5F else {
      throw JinjaError.unsupported("the attribute '\(name)'")
    }
    switch value {
    case .namespace(let namespace): return namespace[name]
    case .loop(let loop): return loop.attribute(name)
    default: return JinjaMethods.names(of: value).contains(name) ? .method(value, name) : nil
    }
  }

  /// `value[start:end:stride]`.
  func slice(of value: JinjaValue, _ start: JinjaValue?, _ end: JinjaValue?, _ stride: JinjaValue?) throws -> JinjaValue {
    func bound(_ value: JinjaValue?) throws -> Int? {
      guard let value else { return nil }
      if case .none = value { return nil }
      guard let number = value.integer else { throw JinjaError.invalid("a slice needs whole numbers, found \(value.typeName)") }
      return number
    }
    func indices(_ count: Int) throws -> [Int] {
      let step = try bound(stride) ?? 1
      guard step != 0 else { throw JinjaError.invalid("a slice's step can't be 0") }
      try budget.spend(count * 4)
      let (lowest, highest) = step > 0 ? (0, count) : (-1, count - 1)
      func clamped(_ bound: Int?, _ standard: Int) -> Int {
        guard let bound else { return standard }
        let (place, overflow) = bound < 0 ? bound.addingReportingOverflow(count) : (bound, false)
        return overflow ? lowest : min(max(place, lowest), highest)
      }
      let first = clamped(try bound(start), step > 0 ? 0 : count - 1)
      let last = clamped(try bound(end), step > 0 ? count : -1)
      return Array(Swift.stride(from: first, to: last, by: step))
    }
    switch value {
    case .undefined(let what): throw JinjaError.invalid(what)
    case .string(let text):
      let scalars = PythonText.scalars(text)
      return .string(PythonText.text(try indices(scalars.count).map { scalars[$0] }))
    case .sequence(let sequence) where sequence.kind != .view:
      return .sequence(try JinjaSequence(sequence.kind, try indices(sequence.items.count).map { sequence.items[$0] }))
    case .safe: throw JinjaError.unsupported("a slice of a text behind 'safe'")
    // Jinja gives "undefined" where it knows the value beforehand, and fails where it doesn't.
    default: throw JinjaError.unsupported("a slice of a value of type \(value.typeName)")
    }
  }

  // MARK: Calls

  mutating func call(_ callee: JinjaValue, _ arguments: JinjaArguments) throws -> JinjaValue {
    switch callee {
    case .undefined(let what): throw JinjaError.invalid(what)
    case .macro(let macro): return try call(macro, arguments)
    case .function(let function): return try call(function, arguments)
    case .method(.loop(let loop), let name): return try call(loop, name, arguments)
    case .method(let value, let name): return try JinjaMethods(budget: budget).call(value, name, arguments)
    default: throw JinjaError.invalid("a value of type \(callee.typeName) can't be called")
    }
  }

  private func call(_ loop: JinjaLoop, _ name: String, _ arguments: JinjaArguments) throws -> JinjaValue {
    if name == "cycle" {
      guard !arguments.positional.isEmpty else { throw JinjaError.invalid("'loop.cycle': no items for cycling given") }
      return arguments.positional[loop.index % arguments.positional.count]
    }
    try budget.spend(JinjaValue.size(of: arguments.positional))
    let same = loop.lastChanged.map { last in
      last.count == arguments.positional.count && zip(last, arguments.positional).allSatisfy { $0.equals($1) }
    }
    if same == true { return .bool(false) }
    loop.lastChanged = arguments.positional
    return .bool(true)
  }

  private func call(_ function: JinjaFunction, _ arguments: JinjaArguments) throws -> JinjaValue {
    switch function {
    case .range: return try range(arguments)
    case .dict: return .dictionary(try JinjaDictionary(try entries(arguments, of: "dict")))
    case .namespace:
      let namespace = JinjaNamespace()
      for entry in try entries(arguments, of: "namespace") {
        guard let name = entry.key.text else { throw JinjaError.invalid("'namespace': a name must be a text") }
        try namespace.set(name, entry.value)
      }
      return .namespace(namespace)
    case .raiseException:
      let message = try arguments.bound(to: "message", required: 1, of: "raise_exception")[0] ?? .none
      throw JinjaError(kind: .raised, message: try message.printed())
    case .strftimeNow:
      guard let format = try arguments.bound(to: "format", required: 1, of: "strftime_now")[0]?.text else {
        throw JinjaError.invalid("'strftime_now': the format must be a text")
      }
      try budget.spend(format.utf8.count * 64)
      return .string(try clock.text(format))
    case .lipsum, .cycler, .joiner: throw JinjaError.unsupported("the function '\(function.rawValue)'")
    }
  }

  /// The entries of a dictionary or of the named arguments.
  private func entries(_ arguments: JinjaArguments, of function: String) throws -> [(key: JinjaValue, value: JinjaValue)] {
    var entries: [(key: JinjaValue, value: JinjaValue)] = []
    if let first = arguments.positional.first {
      guard arguments.positional.count == 1, case .dictionary(let dictionary) = first else {
        throw JinjaError.unsupported("'\(function)' of something else than a dictionary or names")
      }
      entries = dictionary.entries
    }
    return entries + arguments.keywords.map { (.string($0.name), $0.value) }
  }

  private func range(_ arguments: JinjaArguments) throws -> JinjaValue {
    let numbers = try arguments.positional.map { value in
      guard let number = value.integer else { throw JinjaError.invalid("'range' needs whole numbers, found \(value.typeName)") }
      return number
    }
    guard 1...3 ~= numbers.count, arguments.keywords.isEmpty else { throw JinjaError.invalid("'range' takes 1 to 3 numbers") }
    let step = numbers.count == 3 ? numbers[2] : 1
    guard step != 0 else { throw JinjaError.invalid("'range': the step can't be 0") }
    let numbersInRange = stride(
      from: numbers.count == 1 ? 0 : numbers[0], to: numbers.count == 1 ? numbers[0] : numbers[1], by: step)
    var items: [JinjaValue] = []
    for number in numbersInRange {
      // As Jinja's sandbox has it.
      guard items.count < 100_000 else { throw JinjaError(kind: .tooMuch, message: "'range' of more than 100000 numbers") }
      items.append(.integer(number))
    }
    try budget.spend(items.count * 4)
    return .sequence(try JinjaSequence(.range, items))
  }
}
