import Checkpoints
import Foundation
import GenBackend
import Reporting
import VisionLanguageModels

/// Turns settings into a plan: which subjects to load, which cases to measure.
struct RunPlanner {
  /// Families of text models, each with a small one in the repository.
  static let textVariants = ["smolvlm", "qwen2vl"]
  static let variants = ModelLocation.variants + textVariants

  /// One of several things that are measured in turns.
  struct Side: Sendable, Hashable {
    var name: String
    var overrides: RunAxes.Combination
    var executable: String?
    var environment: [String: String]

    /// Reads `NAME:key=value,key=value`; keys are settings, `exe` and `env.NAME`.
    init(parsing text: String) throws(UsageError) {
      let option = "--side <name:settings>"
      let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let isName = !parts[0].isEmpty && parts[0].allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
      guard parts.count == 2, isName else {
        throw UsageError("The value '\(text)' is invalid for '\(option)': expected NAME:KEY=VALUE,KEY=VALUE")
      }
      name = parts[0]
      overrides = [:]
      environment = [:]
      for part in parts[1].split(separator: ",") {
        let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard pair.count == 2 else {
          throw UsageError("The value '\(text)' is invalid for '\(option)': '\(part)' isn't KEY=VALUE")
        }
        if pair[0] == "exe" {
          executable = pair[1]
        } else if pair[0].hasPrefix("env."), pair[0].count > 4 {
          environment[String(pair[0].dropFirst(4))] = pair[1]
        } else {
          let key = pair[0].replacing("-", with: "_")
          try RunAxes.check(key, option: option)
          overrides[key] = pair[1]
        }
      }
    }
  }

  let fixtures: String?
  let environment: [String: String]
  let isFullSize: Bool

  private struct SubjectKey: Hashable {
    var settings: RunAxes.Combination
    var side: Int?
    /// Scenarios that need a process of their own.
    var ownProcess: String?
  }

  /// Adds the subjects and cases of combinations to a plan.
  ///
  /// - Throws: `UsageError` for values that a setting can't have, `CommandError` for models that aren't there.
  func fill(_ plan: inout RunPlan, _ combinations: [RunAxes.Combination], sides: [Side]) throws {
    plan.sides = sides.map { .init(name: $0.name, executable: $0.executable, environment: $0.environment) }
    let swept = Self.swept(combinations)
    var places: [SubjectKey: Int] = [:]
    for (number, side) in (sides.isEmpty ? [nil] : sides.map { Optional($0) }).enumerated() {
      var keys: Set<String> = []
      for combination in combinations {
        let whole = combination.merging(side?.overrides ?? [:]) { $1 }
        let subject = try subject(whole, side: side == nil ? nil : number)
        var planned = try makeCase(combination, whole: whole, subject: subject, swept: swept, plan: plan)
        guard keys.insert(planned.key).inserted else { continue }
        let key = SubjectKey(
          settings: whole.filter { RunAxes.subjectNames.contains($0.key) }, side: subject.side,
          ownProcess: planned.scenario.needsOwnProcess ? planned.key : nil)
        if let place = places[key] {
          planned.subject = place
        } else {
          planned.subject = plan.subjects.count
          places[key] = plan.subjects.count
          plan.subjects.append(subject)
        }
        plan.cases.append(planned)
      }
    }
    guard !plan.cases.isEmpty else { throw UsageError("nothing is left to measure: every combination is excluded") }
  }

  /// Settings with several values, which ids must tell.
  private static func swept(_ combinations: [RunAxes.Combination]) -> [String] {
    let inID: Set<String> = ["variant", "model", "mmproj", "size", "scheduler", "steps", "max_tokens", "scenario"]
    return RunAxes.names.filter { name in
      !inID.contains(name) && Set(combinations.map { $0[name] ?? "" }).count > 1
    }
  }

  private func subject(_ settings: RunAxes.Combination, side: Int?) throws -> RunPlan.Subject {
    let variant = settings["variant"]
    var subject: RunPlan.Subject
    if let variant, !Self.variants.contains(variant) {
      throw UsageError(
        "The variant '\(variant)' is unknown. Please provide some of \(Self.variants.joined(separator: ", "))"
          + Suggestion.text(for: variant, among: Self.variants))
    }
    let isText = variant.map(Self.textVariants.contains) ?? false
    if let model = settings["model"] {
      let location = try ModelLocation.user(model, variant: variant, environment: environment)
      subject = RunPlan.Subject(
        name: location.name, path: location.path,
        isText: isText || settings["mmproj"] != nil || Self.holdsLanguageModel(location.path))
      subject.variant = variant
      if let projector = settings["mmproj"] {
        subject.projector = try ModelLocation.user(projector, variant: nil, environment: environment).path
      } else {
        // A downloaded model brings its own.
        subject.projector = location.projectorPath
      }
    } else if isText, let variant {
      if isFullSize { throw UsageError("--full-size generates image models; leave \(variant) out") }
      let folder = try ModelLocation.fixtures(explicit: fixtures, environment: environment).appendingPathComponent(
        "Models/\(variant)")
      subject = RunPlan.Subject(name: variant, path: folder.appendingPathComponent("model.gguf").path, isText: true)
      subject.projector = folder.appendingPathComponent("mmproj.gguf").path
      guard FileManager.default.fileExists(atPath: subject.path) else {
        throw CommandError(.inputMissing, "\(subject.path): no such file; the small model of \(variant) isn't in the fixtures")
      }
      subject.isFixture = true
    } else {
      let location = try ModelLocation.resolve(
        model: nil, variant: variant, isFullSize: isFullSize, fixtures: fixtures, environment: environment)
      subject = RunPlan.Subject(name: location.name, path: location.path)
      subject.variant = location.variant
      subject.isFullSize = location.isFullSize
      subject.isFixture = !location.isFullSize
    }
    subject.side = side
    subject.backend = settings["backend"] ?? "ref"
    _ = try BackendSpecification(parsing: subject.backend)
    subject.kernels = settings["kernels"]
    if let kernels = subject.kernels, !BackendSpecification.kernelSets.contains(kernels) {
      throw UsageError(
        "The kernels '\(kernels)' are unknown: expected \(BackendSpecification.kernelSets.joined(separator: " or "))")
    }
    if let text = settings["threads"] {
      subject.threads = try NumberList.parse([text], option: "--threads <list>", in: 1...1024).first
    }
    subject.precision = settings["precision"] ?? "f32"
    guard ["f32", "bf16"].contains(subject.precision) else {
      throw UsageError("The precision '\(subject.precision)' is unknown: expected f32 or bf16")
    }
    subject.reducesMemory = settings["reduce_memory"] == "true"
    return subject
  }

  private static func holdsLanguageModel(_ path: String) -> Bool {
    guard path.lowercased().hasSuffix(".gguf"), let file = try? GGUFFile(path: path) else { return false }
    if case .language = ModelFileKind(file) { return true }
    return false
  }

  private func makeCase(
    _ combination: RunAxes.Combination, whole: RunAxes.Combination, subject: RunPlan.Subject, swept: [String], plan: RunPlan
  ) throws -> RunPlan.Case {
    let word = whole["scenario"] ?? Scenario.single.rawValue
    guard let scenario = Scenario(rawValue: word) else {
      throw UsageError(
        "The scenario '\(word)' is unknown: expected some of \(RunAxes.scenarios.joined(separator: ", "))"
          + Suggestion.text(for: word, among: RunAxes.scenarios))
    }
    let foreign = subject.isText ? RunAxes.imageNames : RunAxes.textNames
    var suffix = scenario == .single ? "" : "/\(scenario)"
    for name in swept where !foreign.contains(name) {
      if let value = combination[name] { suffix += "+\(name)=\(value)" }
    }
    // Within a side the model has its own name; across sides the key must be the same.
    let model =
      combination["model"].map { URL(fileURLWithPath: $0).lastPathComponent } ?? combination["variant"].map {
        subject.isFullSize ? $0 + "-full" : $0
      } ?? subject.name
    let parts =
      subject.isText
      ? [model, "text", combination["max_tokens"] ?? "default"]
      : [model, combination["size"] ?? "default", combination["scheduler"] ?? "default", combination["steps"] ?? "default"]
    var planned = RunPlan.Case(key: parts.joined(separator: "/") + suffix, subject: 0, scenario: scenario)
    planned.suffix = suffix
    if subject.isText {
      planned.maxTokens = try whole["max_tokens"].map {
        try NumberList.parse([$0], option: "--max-tokens <list>", in: 1...1_000_000)[0]
      }
    } else {
      planned.steps = try whole["steps"].map { try NumberList.parse([$0], option: "--steps <list>", in: 1...10_000)[0] }
      if let size = try whole["size"].map({ try Self.size($0) }) { (planned.width, planned.height) = (size.width, size.height) }
      planned.scheduler = whole["scheduler"]
      planned.guidance = try whole["guidance_scale"].map { try Self.number($0, "guidance_scale", 0...1000) }
      planned.batch =
        try whole["batch"].map { try NumberList.parse([$0], option: "--batch <list>", in: 1...256)[0] }
        ?? (scenario == .offline ? 4 : 1)
    }
    for name in ["eta", "timestep_spacing", "guidance_rescale", "clip_skip", "long_prompt", "rng", "temperature"]
    where !foreign.contains(name) {
      if let value = whole[name] { planned.settings[name] = value }
    }
    try Self.check(planned.settings)
    return planned
  }

  private static func check(_ settings: [String: String]) throws(UsageError) {
    if let text = settings["eta"] { _ = try number(text, "eta", 0...1) }
    if let text = settings["guidance_rescale"] { _ = try number(text, "guidance_rescale", 0...1) }
    if let text = settings["temperature"] { _ = try number(text, "temperature", 0...100) }
    if let text = settings["clip_skip"] { _ = try NumberList.parse([text], option: "clip_skip", in: 0...100) }
    if let text = settings["long_prompt"], ImageRequest.LongPrompt(rawValue: text) == nil {
      throw UsageError("long_prompt: expected error, truncate or chunk, found '\(text)'")
    }
  }

  private static func number(_ text: String, _ name: String, _ range: ClosedRange<Double>) throws(UsageError) -> Double {
    guard let value = Double(text), range.contains(value) else {
      throw UsageError("\(name): expected a number in \(range.lowerBound)...\(range.upperBound), found '\(text)'")
    }
    return value
  }

  /// Reads `512x768`, or `512` for both.
  static func size(_ text: String) throws(UsageError) -> ImageSize {
    let parts = text.lowercased().split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
    guard let width = parts.first ?? nil, let height = parts.last ?? nil, parts.count <= 2, (1...16_384).contains(width),
      (1...16_384).contains(height)
    else {
      throw UsageError(
        "The value '\(text)' is invalid for '--size <list>': expected WIDTHxHEIGHT of 1...16384 pixels, such as 512x768")
    }
    return ImageSize(width: width, height: height)
  }
}

extension RunPlan {
  /// The settings for the record, in words.
  var record: [String: String] {
    func joined<Value>(_ values: [Value?]) -> String {
      var seen: [String] = []
      for text in values.map({ value in value.map { "\($0)" } ?? "model's own" }) where !seen.contains(text) { seen.append(text) }
      return seen.joined(separator: ",")
    }
    return [
      "models": joined(subjects.map { Optional($0.name) }), "backend": joined(subjects.map { Optional($0.backend) }),
      "kernels": joined(subjects.map { $0.kernels ?? "default" }),
      "threads": joined(subjects.map { $0.threads.map(String.init) ?? "default" }),
      "steps": joined(cases.map(\.steps)), "schedulers": joined(cases.map(\.scheduler)),
      "sizes": joined(cases.map { planned in planned.width.map { "\($0)x\(planned.height ?? $0)" } }),
      "guidance_scale": joined(cases.map(\.guidance)), "scenarios": joined(cases.map { Optional($0.scenario) }),
      "negative_prompt": negativePrompt ?? "none", "seed": String(seed), "prompts": String(prompts.count),
      "questions": String(questions.count), "sessions": String(effort.sessions), "repetitions": String(effort.repetitions),
      "warmups": String(effort.warmups), "minimum_ns": String(effort.minimumNs), "interleaving": interleaving.rawValue,
      "until_interval": effort.untilInterval.map { "\($0)" } ?? "off",
      "precision": joined(subjects.map { Optional($0.precision) }),
      "reduce_memory": joined(subjects.map { Optional($0.reducesMemory) }), "gate": gate.rawValue,
      "sides": sides.isEmpty ? "none" : sides.map(\.name).joined(separator: ","),
    ]
  }
}
