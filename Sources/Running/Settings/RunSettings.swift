import Foundation
package import Reporting

/// What the command line of a run says, as far as that can be checked without a file.
package struct RunRequest: Sendable {
  /// Swept and single settings.
  package var axes: RunAxes
  /// What is measured in turns; empty for one thing.
  package var sides: [RunSide]
  /// Other options as they were given, by name.
  package var options: [String: String]
  /// Whether published sizes are measured with generated weights.
  package var isFullSize = false
  /// The folder of the fixtures.
  package var fixtures: String?
  /// What vision-language models are asked about.
  package var image: String?
  /// Whether images are kept.
  package var keepsImages = true

  /// The options that ``options`` holds.
  package static let optionNames = RunOptions.names

  /// Takes the parts of a command line.
  ///
  /// - Throws: When an option can't have its value.
  package init(axes: RunAxes, sides: [RunSide], options: [String: String], isFullSize: Bool) throws(SettingError) {
    self.axes = axes
    self.sides = sides
    self.options = options
    self.isFullSize = isFullSize
    _ = try RunOptions(isFullSize: isFullSize) { options[$0] }
    for (index, side) in sides.enumerated() where sides[..<index].contains(where: { $0.name == side.name }) {
      throw SettingError("--side \(side.name) is given twice")
    }
    if sides.count == 1 { throw SettingError("--side needs at least two, which are measured in turns") }
  }
}

/// All that a run shall do: the command line over a suite over the defaults, each value parsed once.
package struct RunSettings: Sendable {
  let request: RunRequest
  let options: RunOptions
  /// What is measured, each a combination of settings.
  let combinations: [RunCombination]
  private let prompts: String?
  private let isOfSuite: Bool

  /// Puts a command line and a suite together.
  ///
  /// - Parameter defaults: What options are when neither says.
  /// - Throws: `CommandError` `.badInput` for what is wrong in the suite, ``SettingError`` for the rest.
  package init(_ request: RunRequest, suite: SuiteFile?, defaults: [String: String] = [:]) throws {
    for name in suite?.defaults.keys.sorted() ?? [] where !RunOptions.names.contains(name) {
      throw CommandError(
        .badInput,
        "--suite: defaults.\(name) is unknown: expected some of \(RunOptions.names.joined(separator: ", "))"
          + Suggestion.text(for: name, among: RunOptions.names))
    }
    let lookUp: (String) -> String? = { request.options[$0] ?? suite?.defaults[$0] ?? defaults[$0] }
    self.request = request
    isOfSuite = suite != nil
    options = try RunOptions(isFullSize: request.isFullSize, lookUp)
    prompts = lookUp("prompts")
    let cases = suite?.cases ?? []
    var axes = request.axes.over(suite?.axes ?? RunAxes())
    if !axes.has(.variant), !axes.has(.model), cases.isEmpty {
      try axes.set(.variant, request.isFullSize ? ModelLocation.variants : RunPlanner.variants)
    }
    let isListOnly = !cases.isEmpty && suite?.axes.isEmpty == true
    combinations = (isListOnly ? [] : axes.combinations) + cases.map { request.axes.first.over($0) }
  }

  /// The plan: every subject, case, prompt, and how often.
  ///
  /// - Throws: ``SettingError`` for values that don't go together, `CommandError` for files and models that aren't there.
  package func plan(_ host: any RunHost) throws -> RunPlan {
    var plan = RunPlan()
    plan.effort = options.effort
    plan.interleaving = options.interleaving
    plan.gate = options.gate
    plan.seed = options.seed
    plan.negativePrompt = options.negativePrompt
    plan.image = request.image
    if let image = plan.image, !FileManager.default.fileExists(atPath: image) {
      throw CommandError(.inputMissing, "--image \(image): no such file")
    }
    plan.keepsImages = request.keepsImages
    plan.questions = try Prompts.choose(prompts, from: Prompts.questions, default: nil)
    let isSmall = !request.isFullSize && !combinations.contains { $0[.model] != nil }
    plan.prompts = try Prompts.choose(
      prompts, from: isSmall ? Prompts.shapes : Prompts.standard, default: request.isFullSize ? 1 : nil)
    let planner = RunPlanner(host: host, fixtures: request.fixtures, isFullSize: request.isFullSize)
    do { try planner.fill(&plan, combinations, sides: request.sides) } catch let error as SettingError where isOfSuite {
      throw CommandError(.badInput, "--suite: \(error.message)")
    }
    return plan
  }
}
