import Reporting

/// What can be set or swept in a run, by the names of `--param`, `--side` and suite files.
struct RunAxes: Sendable, Hashable {
  /// One value of each setting that was given.
  typealias Combination = [String: String]

  /// Settings of the engine and its model, which need a load of their own.
  static let subjectNames = [
    "variant", "model", "mmproj", "backend", "kernels", "precision", "threads", "reduce_memory",
  ]
  /// Settings of image requests.
  static let imageNames = [
    "size", "scheduler", "steps", "guidance_scale", "batch", "eta", "timestep_spacing", "guidance_rescale", "clip_skip",
    "long_prompt", "rng",
  ]
  /// Settings of text requests.
  static let textNames = ["max_tokens", "temperature"]
  /// All of them, in the order in which they vary: the last one fastest.
  static let names = subjectNames + ["scenario"] + imageNames + textNames

  static let scenarios = Scenario.allCases.map(\.rawValue)

  /// The values of each setting.
  private(set) var values: [String: [String]] = [:]
  /// Combinations beside the product.
  var included: [Combination] = []
  /// What a combination mustn't be; it goes when all settings of one of these agree.
  var excluded: [Combination] = []

  /// Refuses names that are no setting.
  static func check(_ name: String, option: String) throws(UsageError) {
    guard names.contains(name) else {
      throw UsageError(
        "The setting '\(name)' is unknown in '\(option)'\(Suggestion.text(for: name, among: names)) (settings: "
          + names.joined(separator: ", ") + ")")
    }
  }

  /// Sets the values of a setting in place of those that it had; no values leave it alone.
  mutating func set(_ name: String, _ list: [String]) {
    if !list.isEmpty { values[name] = list }
  }

  /// Reads `key=value,key=value`.
  static func combination(_ text: String, option: String) throws(UsageError) -> Combination {
    var result: Combination = [:]
    for part in text.split(separator: ",") {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { $0.trimmingSpaces() }
      guard pair.count == 2, !pair[0].isEmpty, !pair[1].isEmpty else {
        throw UsageError("The value '\(text)' is invalid for '\(option)': expected KEY=VALUE,KEY=VALUE")
      }
      let name = pair[0].replacing("-", with: "_")
      try check(name, option: option)
      result[name] = pair[1]
    }
    guard !result.isEmpty else { throw UsageError("The value '\(text)' is invalid for '\(option)': it's empty") }
    return result
  }

  /// The product without the excluded, then the included ones.
  var combinations: [Combination] {
    var product: [Combination] = [[:]]
    for name in Self.names {
      guard let list = values[name] else { continue }
      product = product.flatMap { combination in
        list.map { value in combination.merging([name: value]) { $1 } }
      }
    }
    product = product.filter { combination in
      !excluded.contains { rule in rule.allSatisfy { combination[$0.key] == $0.value } }
    }
    // What an included combination leaves open is what the product has one value of.
    let common = values.compactMapValues { $0.count == 1 ? $0[0] : nil }
    for extra in included {
      let whole = common.merging(extra) { $1 }
      if !product.contains(whole) { product.append(whole) }
    }
    return product
  }
}

/// Lists of whole numbers: `4,8`, `1-4`, `16-64*2`, `10-50+10`.
enum NumberList {
  /// The numbers that texts stand for, in order.
  ///
  /// - Throws: When one is malformed, out of range, or the list grows beyond 1000 numbers.
  static func parse(_ texts: [String], option: String, in range: ClosedRange<Int>) throws(UsageError) -> [Int] {
    var numbers: [Int] = []
    for text in texts {
      guard let part = expand(text), part.allSatisfy(range.contains), numbers.count + part.count <= 1000 else {
        throw UsageError(
          "The value '\(text)' is invalid for '\(option)': expected whole numbers in \(range.lowerBound)...\(range.upperBound), or "
            + "ranges such as 1-4, 10-50+10 or 16-64*2")
      }
      numbers += part
    }
    return numbers
  }

  private static func expand(_ text: String) -> [Int]? {
    if let number = Int(text) { return [number] }
    let ends = text.split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Int(ends[0]) else { return nil }
    for (mark, grows) in [
      ("*", { (value: Int, step: Int) in value.multipliedReportingOverflow(by: step) }),
      ("+", { (value: Int, step: Int) in value.addingReportingOverflow(step) }),
    ] {
      let parts = ends[1].split(separator: Character(mark), omittingEmptySubsequences: false)
      if parts.count == 2 {
        guard let last = Int(parts[0]), let step = Int(parts[1]), first >= 1, step >= (mark == "*" ? 2 : 1) else { return nil }
        var list: [Int] = []
        var value = first
        while value <= last, list.count <= 1000 {
          list.append(value)
          let (next, isTooLarge) = grows(value, step)
          if isTooLarge { break }
          value = next
        }
        return list.isEmpty ? nil : list
      }
    }
    guard let last = Int(ends[1]), last >= first, last - first < 1000 else { return nil }
    return Array(first...last)
  }
}
