/// Reads the keys of a configuration object; absent and `null` keys take the default of the class in diffusers or transformers.
struct ConfigReader {
  /// What messages call the file.
  let file: String
  /// Where inside the file, such as `vision_config.`.
  let prefix: String
  /// The members.
  let values: JSONObject

  /// The largest extent that a configuration may ask for: far above any real model, far below an overflow.
  static let largestExtent = 1 << 20

  init(_ json: JSONValue, file: String, prefix: String = "") throws(CheckpointError) {
    guard let values = json.object else {
      throw CheckpointError(
        .invalid, file: file, "\(prefix.isEmpty ? "configuration" : prefix): expected a JSON object, found \(json.brief)")
    }
    self.file = file
    self.prefix = prefix
    self.values = values
  }

  func invalid(_ key: String, expected: String) -> CheckpointError {
    CheckpointError(
      .invalid, file: file, "key '\(prefix)\(key)': expected \(expected), found \(values[key]?.brief ?? "nothing")")
  }

  func unsupported(_ key: String, supported: String) -> CheckpointError {
    CheckpointError(
      .unsupported, file: file,
      "key '\(prefix)\(key)': \(values[key]?.brief ?? "nothing") isn't supported; supported: \(supported)")
  }

  /// The value, or nil when it's absent or null.
  func value(_ key: String) -> JSONValue? {
    guard let value = values[key], !value.isNull else { return nil }
    return value
  }

  /// A count or an extent: a whole number of at least `minimum`.
  func int(_ key: String, default fallback: Int, minimum: Int = 1) throws(CheckpointError) -> Int {
    try optionalInt(key, minimum: minimum) ?? fallback
  }

  func optionalInt(_ key: String, minimum: Int = 1) throws(CheckpointError) -> Int? {
    guard let value = value(key) else { return nil }
    guard let int = value.int, int >= minimum, int <= Self.largestExtent else {
      throw invalid(key, expected: "a whole number from \(minimum) to \(Self.largestExtent)")
    }
    return int
  }

  func double(_ key: String, default fallback: Double) throws(CheckpointError) -> Double {
    guard let value = value(key) else { return fallback }
    guard let double = value.double, double.isFinite else { throw invalid(key, expected: "a finite number") }
    return double
  }

  func bool(_ key: String, default fallback: Bool) throws(CheckpointError) -> Bool {
    guard let value = value(key) else { return fallback }
    guard let bool = value.bool else { throw invalid(key, expected: "true or false") }
    return bool
  }

  func string(_ key: String, default fallback: String) throws(CheckpointError) -> String {
    guard let value = value(key) else { return fallback }
    guard let string = value.string else { throw invalid(key, expected: "a string") }
    return string
  }

  /// A list of whole numbers; a single number stands for `count` equal ones.
  func ints(_ key: String, default fallback: JSONValue, count: Int? = nil, minimum: Int = 1) throws(CheckpointError) -> [Int] {
    let value = value(key) ?? fallback
    if let count, let single = value.int, single >= minimum, single <= Self.largestExtent {
      return Array(repeating: single, count: count)
    }
    guard let elements = value.array else {
      throw invalid(key, expected: count == nil ? "a list of whole numbers" : "a whole number or a list of them")
    }
    let ints = elements.compactMap { $0.int.flatMap { $0 >= minimum && $0 <= Self.largestExtent ? $0 : nil } }
    guard ints.count == elements.count, !ints.isEmpty, count == nil || ints.count == count else {
      throw invalid(
        key, expected: "a list of \(count.map { "\($0) " } ?? "")whole numbers from \(minimum) to \(Self.largestExtent)")
    }
    return ints
  }

  func doubles(_ key: String, default fallback: [Double]) throws(CheckpointError) -> [Double] {
    guard let value = value(key) else { return fallback }
    let doubles = value.array?.compactMap { $0.double.flatMap { $0.isFinite ? $0 : nil } }
    guard let doubles, doubles.count == value.array?.count else { throw invalid(key, expected: "a list of finite numbers") }
    return doubles
  }

  /// A list of names out of an enumeration.
  func names<Name: RawRepresentable & CaseIterable>(_ key: String, default fallback: [Name]) throws(CheckpointError) -> [Name]
  where Name.RawValue == String {
    guard let value = value(key) else { return fallback }
    let names = value.array?.compactMap { $0.string.flatMap { Name(rawValue: $0) } }
    guard let names, names.count == value.array?.count, !names.isEmpty else {
      throw unsupported(key, supported: "a list of " + Name.allCases.map(\.rawValue).joined(separator: ", "))
    }
    return names
  }

  /// Refuses a key whose value asks for something that isn't built; absent and null always pass.
  func require(_ key: String, isOneOf allowed: [JSONValue]) throws(CheckpointError) {
    guard let value = value(key) else { return }
    func matches(_ value: JSONValue) -> Bool {
      allowed.contains { $0 == value || ($0.double != nil && $0.double == value.double) }
    }
    // A list says it for each level.
    if let elements = value.array, elements.allSatisfy({ matches($0) }) { return }
    guard matches(value) else {
      throw unsupported(key, supported: allowed.map(\.description).joined(separator: " or ") + ", or leaving it out")
    }
  }
}

extension JSONValue {
  /// The value for a message: cut when it's long.
  var brief: String {
    let text = description
    return text.count <= 80 ? text : text.prefix(77) + "..."
  }
}
