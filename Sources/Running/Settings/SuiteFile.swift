import Checkpoints
import Foundation

/// A suite: what to measure as a JSON file, schema `genbench.suite/1`; the command line wins over it.
package struct SuiteFile {
  /// Settings of `matrix`, `cases`, `include` and `exclude`.
  private(set) var axes = RunAxes()
  /// Combinations that are measured as they are, in place of a product.
  private(set) var cases: [RunCombination] = []
  /// Options of `run` with their values: `sessions`, `repetitions`, `min-time`.
  private(set) var defaults: [String: String] = [:]

  private let path: String

  /// Reads a file; lines whose first characters are `//` are left out.
  ///
  /// - Throws: `inputMissing`, or `badInput` that says what was expected where.
  package init(path: String) throws {
    self.path = path
    guard let data = FileManager.default.contents(atPath: path) else {
      throw CommandError(.inputMissing, "--suite \(path): no such file, or it can't be read")
    }
    let lines = String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    let text = lines.map { $0.trimmingSpaces().hasPrefix("//") ? "" : String($0) }.joined(separator: "\n")
    guard let root = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)), let members = root.object else {
      throw CommandError(.badInput, "--suite \(path): expected a JSON object with \"schema\": \"genbench.suite/1\"")
    }
    guard root["schema"]?.string == "genbench.suite/1" else {
      throw CommandError(
        .badInput, "--suite \(path): schema: expected genbench.suite/1, found \(root["schema"]?.description ?? "none")")
    }
    let known = ["schema", "name", "defaults", "matrix", "include", "exclude", "cases"]
    for key in members.keys.sorted() where !known.contains(key) {
      throw failure("\(key)", "one of \(known.joined(separator: ", "))\(Suggestion.text(for: key, among: known))")
    }
    for (name, value) in try object(root["defaults"], at: "defaults") {
      defaults[name.replacing("_", with: "-")] = try scalar(value, at: "defaults.\(name)")
    }
    for (name, value) in try object(root["matrix"], at: "matrix") {
      let list = value.array ?? [value]
      guard !list.isEmpty else { throw failure("matrix.\(name)", "at least one value") }
      let texts = try list.map { try scalar($0, at: "matrix.\(name)") }
      try checked { () throws(SettingError) in try axes.set(RunAxis(named: name, option: "matrix.\(name)"), texts) }
    }
    axes.included = try combinations(root["include"], at: "include")
    axes.excluded = try combinations(root["exclude"], at: "exclude")
    cases = try combinations(root["cases"], at: "cases")
  }

  private func failure(_ place: String, _ expected: String) -> CommandError {
    CommandError(.badInput, "--suite \(path): \(place): expected \(expected)")
  }

  /// Settings with the name of the file in their refusals.
  private func checked<Value>(_ body: () throws(SettingError) -> Value) throws -> Value {
    do { return try body() } catch { throw CommandError(.badInput, "--suite \(path): \(error.message)") }
  }

  private func object(_ value: JSONValue?, at place: String) throws -> [(String, JSONValue)] {
    guard let value else { return [] }
    guard let members = value.object else { throw failure(place, "an object") }
    return members.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private func scalar(_ value: JSONValue, at place: String) throws -> String {
    switch value {
    case .string(let text): return text
    case .integer(let number): return String(number)
    case .number(let number): return "\(number)"
    case .bool(let flag): return flag ? "true" : "false"
    default: throw failure(place, "a text, a number, true or false")
    }
  }

  private func combinations(_ value: JSONValue?, at place: String) throws -> [RunCombination] {
    guard let value else { return [] }
    guard let list = value.array else { throw failure(place, "a list of objects") }
    return try list.enumerated().map { index, item in
      var combination = RunCombination()
      for (name, value) in try object(item, at: "\(place)[\(index)]") {
        let text = try scalar(value, at: "\(place)[\(index)].\(name)")
        try checked { () throws(SettingError) in
          let axis = try RunAxis(named: name, option: "\(place)[\(index)].\(name)")
          combination[axis] = try RunValue(text, for: axis)
        }
      }
      guard combination != RunCombination() else { throw failure("\(place)[\(index)]", "at least one setting") }
      return combination
    }
  }
}
