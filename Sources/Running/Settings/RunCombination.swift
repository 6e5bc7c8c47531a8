import GenBackend
import KernelContract
import Reporting
import Tensors

/// One value of each setting that was given.
package struct RunCombination: Sendable, Hashable {
  private(set) var values: [RunAxis: RunValue] = [:]

  /// Nothing is given.
  package init() {}

  /// Takes values as text.
  ///
  /// - Throws: When a setting can't have its value.
  package init(_ texts: [RunAxis: String]) throws(SettingError) {
    for (axis, text) in texts { values[axis] = try RunValue(text, for: axis) }
  }

  /// Reads `key=value,key=value`.
  package init(parsing text: String, option: String) throws(SettingError) {
    for part in text.split(separator: ",") {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { $0.trimmingSpaces() }
      guard pair.count == 2, !pair[0].isEmpty, !pair[1].isEmpty else {
        throw SettingError("The value '\(text)' is invalid for '\(option)': expected KEY=VALUE,KEY=VALUE")
      }
      let axis = try RunAxis(named: pair[0], option: option)
      values[axis] = try RunValue(pair[1], for: axis)
    }
    guard !values.isEmpty else { throw SettingError("The value '\(text)' is invalid for '\(option)': it's empty") }
  }

  subscript(axis: RunAxis) -> RunValue? {
    get { values[axis] }
    set { values[axis] = newValue }
  }

  /// These values where there are some, else those of `other`.
  func over(_ other: RunCombination) -> RunCombination {
    var whole = other
    whole.values.merge(values) { $1 }
    return whole
  }

  /// Whether all values of a rule are these.
  func matches(_ rule: RunCombination) -> Bool { rule.values.allSatisfy { values[$0.key] == $0.value } }

  /// The values of the engine and its model alone.
  var ofSubject: RunCombination {
    var part = RunCombination()
    part.values = values.filter { $0.key.scope == .subject }
    return part
  }

  // MARK: - Typed

  /// The text as it was given.
  func text(_ axis: RunAxis) -> String? { values[axis]?.text }

  func whole(_ axis: RunAxis) -> Int? {
    if case .whole(let value)? = values[axis]?.content { value } else { nil }
  }

  func number(_ axis: RunAxis) -> Double? {
    if case .number(let value)? = values[axis]?.content { value } else { nil }
  }

  var reducesMemory: Bool { values[.reduceMemory]?.content == .flag(true) }

  var size: ImageSize? {
    if case .size(let value)? = values[.size]?.content { value } else { nil }
  }

  var scenario: Scenario {
    if case .scenario(let value)? = values[.scenario]?.content { value } else { .single }
  }

  var kernels: RunPlan.Kernels? {
    if case .kernels(let value)? = values[.kernels]?.content { value } else { nil }
  }

  var precision: Precision {
    if case .precision(let value)? = values[.precision]?.content { value } else { .f32 }
  }

  /// The settings of requests beyond those that have a place of their own.
  func requestSettings(isText: Bool) -> RequestSettings {
    var settings = RequestSettings()
    if isText {
      settings.temperature = number(.temperature)
      return settings
    }
    settings.eta = number(.eta)
    settings.guidanceRescale = number(.guidanceRescale)
    settings.timestepSpacing = text(.timestepSpacing)
    settings.clipSkip = whole(.clipSkip)
    if case .longPrompt(let value)? = values[.longPrompt]?.content { settings.longPrompt = value }
    if case .randomSource(let value)? = values[.rng]?.content { settings.randomSource = value }
    return settings
  }
}

/// The values of settings, which make combinations.
package struct RunAxes: Sendable, Hashable {
  /// The values of each setting.
  private(set) var values: [RunAxis: [RunValue]] = [:]
  /// Combinations beside the product.
  package var included: [RunCombination] = []
  /// What a combination mustn't be; it goes when all settings of one of these agree.
  package var excluded: [RunCombination] = []

  /// Nothing is given.
  package init() {}

  /// Sets the values of a setting in place of those that it had; no values leave it alone.
  ///
  /// - Throws: When the setting can't have one of them.
  package mutating func set(_ axis: RunAxis, _ texts: [String]) throws(SettingError) {
    var list: [RunValue] = []
    for text in texts { list.append(try RunValue(text, for: axis)) }
    if !list.isEmpty { values[axis] = list }
  }

  /// Whether nothing is given.
  var isEmpty: Bool { values.isEmpty }

  /// Whether a setting was given.
  package func has(_ axis: RunAxis) -> Bool { values[axis] != nil }

  /// The first value of each setting.
  var first: RunCombination {
    var combination = RunCombination()
    for (axis, list) in values { combination[axis] = list.first }
    return combination
  }

  /// These values over those of a suite.
  func over(_ other: RunAxes) -> RunAxes {
    var whole = other
    whole.values.merge(values) { $1 }
    whole.included += included
    whole.excluded += excluded
    return whole
  }

  /// The product without the excluded, then the included ones.
  var combinations: [RunCombination] {
    var product = [RunCombination()]
    for axis in RunAxis.allCases {
      guard let list = values[axis] else { continue }
      product = product.flatMap { combination in
        list.map { value in
          var next = combination
          next[axis] = value
          return next
        }
      }
    }
    product = product.filter { combination in !excluded.contains { combination.matches($0) } }
    // What an included combination leaves open is what the product has one value of.
    var common = RunCombination()
    for (axis, list) in values where list.count == 1 { common[axis] = list[0] }
    for extra in included {
      let whole = extra.over(common)
      if !product.contains(whole) { product.append(whole) }
    }
    return product
  }
}
