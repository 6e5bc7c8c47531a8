package import GenBackend
import KernelContract
import Reporting
import Schedulers
import Tensors

/// A setting that can be given or swept: the names of `--param`, `--side` and suite files, in the order in which they vary.
package enum RunAxis: String, Sendable, CaseIterable {
  case variant, model, mmproj, backend, kernels, precision, threads
  case reduceMemory = "reduce_memory"
  case scenario
  case size, scheduler, steps
  case guidanceScale = "guidance_scale"
  case batch, eta
  case timestepSpacing = "timestep_spacing"
  case guidanceRescale = "guidance_rescale"
  case clipSkip = "clip_skip"
  case longPrompt = "long_prompt"
  case rng
  case maxTokens = "max_tokens"
  case temperature

  /// What a setting is of.
  enum Scope {
    /// The engine and its model: a load of its own for each value.
    case subject
    /// What is done.
    case scenario
    /// Image requests.
    case image
    /// Text requests.
    case text
  }

  var scope: Scope {
    switch self {
    case .variant, .model, .mmproj, .backend, .kernels, .precision, .threads, .reduceMemory: .subject
    case .scenario: .scenario
    case .size, .scheduler, .steps, .guidanceScale, .batch, .eta, .timestepSpacing, .guidanceRescale, .clipSkip, .longPrompt,
      .rng:
      .image
    case .maxTokens, .temperature: .text
    }
  }

  /// Whether the ids of cases tell it anyway.
  var isInID: Bool {
    switch self {
    case .variant, .model, .mmproj, .size, .scheduler, .steps, .maxTokens, .scenario: true
    default: false
    }
  }

  /// The names.
  package static let names = allCases.map(\.rawValue)

  /// Takes a name; dashes count as underscores.
  ///
  /// - Throws: When it's no setting.
  package init(named name: String, option: String) throws(SettingError) {
    guard let axis = RunAxis(rawValue: name.replacing("-", with: "_")) else {
      throw SettingError(
        "The setting '\(name)' is unknown in '\(option)'\(Suggestion.text(for: name, among: Self.names)) (settings: "
          + Self.names.joined(separator: ", ") + ")")
    }
    self = axis
  }

  /// The numbers that lists of this setting may hold; nil when it isn't a whole number.
  package var range: ClosedRange<Int>? {
    switch self {
    case .steps: 1...10_000
    case .batch: 1...256
    case .maxTokens: 1...1_000_000
    case .threads: 1...1024
    case .clipSkip: 0...100
    default: nil
    }
  }
}

/// A value of a setting: parsed once, kept with its text, which ids and records show.
package struct RunValue: Sendable, Hashable {
  /// What a value may be.
  enum Content: Sendable, Hashable {
    case text(String)
    case whole(Int)
    case number(Double)
    case flag(Bool)
    case size(ImageSize)
    case scenario(Scenario)
    case backend(BackendSpecification)
    case kernels(RunPlan.Kernels)
    case precision(Precision)
    case longPrompt(ImageRequest.LongPrompt)
    case randomSource(RandomSource)
  }

  /// As it was given; sizes as `512x768`.
  let text: String
  let content: Content

  /// Reads a value of a setting.
  ///
  /// - Throws: When the setting can't have it.
  init(_ text: String, for axis: RunAxis) throws(SettingError) {
    func choice<Value: RawRepresentable & CaseIterable>(
      _ what: String, _ wrap: (Value) -> Content
    ) throws(SettingError) -> Content where Value.RawValue == String {
      if let value = Value(rawValue: text) { return wrap(value) }
      let names = Value.allCases.map(\.rawValue)
      throw SettingError(
        "The \(what) '\(text)' is unknown: expected \(names.dropLast().joined(separator: ", ")) or \(names.last ?? "")"
          + Suggestion.text(for: text, among: names))
    }
    func number(_ range: ClosedRange<Double>) throws(SettingError) -> Content {
      guard let value = Double(text), range.contains(value) else {
        throw SettingError("\(axis.rawValue): expected a number in \(range.lowerBound)...\(range.upperBound), found '\(text)'")
      }
      return .number(value)
    }
    var shown = text
    switch axis {
    case .model, .mmproj: content = .text(text)
    case .variant:
      guard RunPlanner.variants.contains(text) else {
        throw SettingError(
          "The variant '\(text)' is unknown. Please provide some of \(RunPlanner.variants.joined(separator: ", "))"
            + Suggestion.text(for: text, among: RunPlanner.variants))
      }
      content = .text(text)
    case .scheduler:
      do { _ = try SchedulerName(text) } catch { throw SettingError("scheduler: \(error.message)") }
      content = .text(text)
    case .timestepSpacing: content = try choice("timestep spacing") { (value: TimestepSpacing) in .text(value.rawValue) }
    case .rng: content = try choice("generator") { .randomSource($0) }
    case .longPrompt: content = try choice("long_prompt") { .longPrompt($0) }
    case .scenario: content = try choice("scenario") { .scenario($0) }
    case .kernels: content = try choice("kernel set") { .kernels($0) }
    case .precision: content = try choice("precision") { .precision($0) }
    case .backend: content = .backend(try BackendSpecification(parsing: text))
    case .size:
      let size = try Self.size(text)
      shown = size.description
      content = .size(size)
    case .reduceMemory:
      guard let flag = Bool(text) else { throw SettingError("reduce_memory: expected true or false, found '\(text)'") }
      content = .flag(flag)
    case .guidanceScale: content = try number(0...1000)
    case .eta, .guidanceRescale: content = try number(0...1)
    case .temperature: content = try number(0...100)
    case .steps, .batch, .maxTokens, .threads, .clipSkip:
      guard let range = axis.range, let value = Int(text), range.contains(value) else {
        let range = axis.range.map { " in \($0.lowerBound)...\($0.upperBound)" } ?? ""
        throw SettingError("\(axis.rawValue): expected a whole number\(range), found '\(text)'")
      }
      content = .whole(value)
    }
    self.text = shown
  }

  /// Reads `512x768`, or `512` for both.
  package static func size(_ text: String) throws(SettingError) -> ImageSize {
    let parts = text.lowercased().split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
    guard let width = parts.first ?? nil, let height = parts.last ?? nil, parts.count <= 2, (1...16_384).contains(width),
      (1...16_384).contains(height)
    else {
      throw SettingError(
        "The value '\(text)' is invalid for '--size <list>': expected WIDTHxHEIGHT of 1...16384 pixels, such as 512x768")
    }
    return ImageSize(width: width, height: height)
  }
}
