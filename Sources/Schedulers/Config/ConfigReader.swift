import JSON

/// Reads a class's options out of a config: a stored value of the right kind, or the class's default.
///
/// A stored `null` counts as absent.
struct ConfigReader {
  let className: String
  let config: SchedulerConfig

  private func stored(_ key: String) -> JSONValue? {
    guard let value = config.values[key], !value.isNull else { return nil }
    return value
  }

  private func refusal(_ key: String, expected: String, found: JSONValue) -> SchedulerError {
    SchedulerError(.invalidConfig, "\(className): \(key): expected \(expected), found \(found)")
  }

  func bool(_ key: String, default fallback: Bool) throws(SchedulerError) -> Bool {
    guard let value = stored(key) else { return fallback }
    switch (value.bool, value.int) {
    case (let bool?, _): return bool
    case (nil, 0): return false
    case (nil, 1): return true
    default: throw refusal(key, expected: "true or false", found: value)
    }
  }

  func optionalDouble(_ key: String) throws(SchedulerError) -> Double? {
    guard let value = stored(key) else { return nil }
    if let number = value.double { return number }
    switch value {
    case .string("Infinity"): return .infinity
    case .string("-Infinity"): return -.infinity
    default: throw refusal(key, expected: "a number", found: value)
    }
  }

  func double(_ key: String, default fallback: Double, in range: ClosedRange<Double>) throws(SchedulerError) -> Double {
    let value = try optionalDouble(key) ?? fallback
    guard range.contains(value) else {
      throw refusal(key, expected: "a number in \(range.lowerBound)...\(range.upperBound)", found: .number(value))
    }
    return value
  }

  func int(_ key: String, default fallback: Int, in range: ClosedRange<Int>) throws(SchedulerError) -> Int {
    guard let value = stored(key) else { return fallback }
    guard let exact = value.int, range.contains(exact) else {
      throw refusal(key, expected: "a whole number in \(range.lowerBound)...\(range.upperBound)", found: value)
    }
    return exact
  }

  /// One of the words in `allowed`; words in `aliases` are other classes' words that diffusers maps to `fallback`.
  func choice<Choice: RawRepresentable<String>>(
    _ key: String, default fallback: Choice, allowed: [Choice], aliases: Set<String> = []
  ) throws(SchedulerError) -> Choice {
    guard let value = stored(key) else { return fallback }
    if case .string(let word) = value {
      if let choice = allowed.first(where: { $0.rawValue == word }) { return choice }
      if aliases.contains(word) { return fallback }
    }
    throw refusal(key, expected: "one of \(allowed.map(\.rawValue).joined(separator: ", "))", found: value)
  }

  func floats(_ key: String) throws(SchedulerError) -> [Float]? {
    guard let value = stored(key) else { return nil }
    guard case .array(let elements) = value else { throw refusal(key, expected: "a list of numbers", found: value) }
    var result: [Float] = []
    for element in elements {
      guard let number = element.double else { throw refusal(key, expected: "a list of numbers", found: element) }
      result.append(Float(number))
    }
    return result
  }

  func ints(_ key: String) throws(SchedulerError) -> [Int] {
    guard let value = stored(key) else { return [] }
    guard case .array(let elements) = value else { throw refusal(key, expected: "a list of whole numbers", found: value) }
    var result: [Int] = []
    for element in elements {
      guard let exact = element.int else {
        throw refusal(key, expected: "a list of whole numbers", found: element)
      }
      result.append(exact)
    }
    return result
  }

  /// Refuses a switch that turns on something that isn't implemented.
  func refuse(_ key: String, because reason: String) throws(SchedulerError) {
    if try bool(key, default: false) { throw SchedulerError(.unsupported, "\(className): \(key): \(reason)") }
  }
}
