import Foundation
import GenBackend
import KernelContract
import Reporting

/// Turns settings into a plan: which subjects to load, which cases to measure.
package struct RunPlanner {
  /// Families of text models, each with a small one in the repository.
  package static let textVariants = ["smolvlm", "qwen2vl"]
  package static let variants = ModelLocation.variants + textVariants

  let host: any RunHost
  let fixtures: String?
  let isFullSize: Bool

  private struct SubjectKey: Hashable {
    var settings: RunCombination
    var side: Int?
    /// Scenarios that need a process of their own.
    var ownProcess: String?
  }

  /// Adds the subjects and cases of combinations to a plan.
  ///
  /// - Throws: `SettingError` for values that a setting can't have, `CommandError` for models that aren't there.
  func fill(_ plan: inout RunPlan, _ combinations: [RunCombination], sides: [RunSide]) throws {
    plan.sides = sides.map { .init(name: $0.name, executable: $0.executable, environment: $0.environment) }
    let swept = Self.swept(combinations)
    var places: [SubjectKey: Int] = [:]
    for (number, side) in (sides.isEmpty ? [nil] : sides.map { Optional($0) }).enumerated() {
      var keys: Set<String> = []
      for combination in combinations {
        let whole = side?.overrides.over(combination) ?? combination
        let subject = try subject(whole, side: side == nil ? nil : number)
        var planned = try makeCase(combination, whole: whole, subject: subject, swept: swept)
        guard keys.insert(planned.key).inserted else { continue }
        let key = SubjectKey(
          settings: whole.ofSubject, side: subject.side,
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
    guard !plan.cases.isEmpty else { throw SettingError("nothing is left to measure: every combination is excluded") }
  }

  /// Settings with several values, which ids must tell.
  private static func swept(_ combinations: [RunCombination]) -> [RunAxis] {
    RunAxis.allCases.filter { axis in !axis.isInID && Set(combinations.map { $0.text(axis) }).count > 1 }
  }

  private func subject(_ settings: RunCombination, side: Int?) throws -> RunPlan.Subject {
    let variant = settings.text(.variant)
    var subject: RunPlan.Subject
    let isText = variant.map(Self.textVariants.contains) ?? false
    if let model = settings.text(.model) {
      let location = try host.userModel(model, variant: variant)
      subject = RunPlan.Subject(
        name: location.name, path: location.path,
        isText: isText || settings[.mmproj] != nil || host.holdsLanguageModel(location.path))
      subject.variant = variant
      // A downloaded model brings its own projector.
      subject.projector =
        try settings.text(.mmproj).map { try host.userModel($0, variant: nil).path } ?? location.projectorPath
    } else if isText, let variant {
      if isFullSize { throw SettingError("--full-size generates image models; leave \(variant) out") }
      let folder = try ModelLocation.fixtures(explicit: fixtures, environment: host.environment).appendingPathComponent(
        "Models/\(variant)")
      subject = RunPlan.Subject(name: variant, path: folder.appendingPathComponent("model.gguf").path, isText: true)
      subject.projector = folder.appendingPathComponent("mmproj.gguf").path
      guard FileManager.default.fileExists(atPath: subject.path) else {
        throw CommandError(.inputMissing, "\(subject.path): no such file; the small model of \(variant) isn't in the fixtures")
      }
      subject.isFixture = true
    } else {
      let location =
        isFullSize
        ? ModelLocation.fullSize(variant ?? "")
        : try ModelLocation.small(variant ?? "", fixtures: fixtures, environment: host.environment)
      subject = RunPlan.Subject(name: location.name, path: location.path)
      subject.variant = location.variant
      subject.isFullSize = location.isFullSize
      subject.isFixture = !location.isFullSize
    }
    subject.side = side
    subject.backend = settings.text(.backend) ?? BackendSpecification.Kind.reference.rawValue
    subject.kernels = settings.kernels
    subject.threads = settings.whole(.threads)
    subject.precision = settings.precision.rawValue
    subject.reducesMemory = settings.reducesMemory
    return subject
  }

  private func makeCase(
    _ combination: RunCombination, whole: RunCombination, subject: RunPlan.Subject, swept: [RunAxis]
  ) throws -> RunPlan.Case {
    let scenario = whole.scenario
    let foreign: RunAxis.Scope = subject.isText ? .image : .text
    var suffix = scenario == .single ? "" : "/\(scenario)"
    for axis in swept where axis.scope != foreign {
      if let value = combination.text(axis) { suffix += "+\(axis.rawValue)=\(value)" }
    }
    // Within a side the model has its own name; across sides the key must be the same.
    let model =
      combination.text(.model).map { URL(fileURLWithPath: $0).lastPathComponent } ?? combination.text(.variant).map {
        subject.isFullSize ? $0 + "-full" : $0
      } ?? subject.name
    let parts =
      subject.isText
      ? [model, "text", combination.text(.maxTokens) ?? "default"]
      : [model] + [RunAxis.size, .scheduler, .steps].map { combination.text($0) ?? "default" }
    var planned = RunPlan.Case(key: parts.joined(separator: "/") + suffix, subject: 0, scenario: scenario)
    planned.suffix = suffix
    planned.settings = whole.requestSettings(isText: subject.isText)
    if subject.isText {
      planned.maxTokens = whole.whole(.maxTokens)
      return planned
    }
    planned.steps = whole.whole(.steps)
    if let size = whole.size {
      try check(size, of: subject)
      (planned.width, planned.height) = (size.width, size.height)
    }
    planned.scheduler = whole.text(.scheduler)
    planned.guidance = whole.number(.guidanceScale)
    planned.batch = whole.whole(.batch) ?? (scenario == .offline ? 4 : 1)
    return planned
  }

  /// Refuses a size that the model can't make, before anything is loaded.
  private func check(_ size: ImageSize, of subject: RunPlan.Subject) throws {
    guard let multiple = host.sizeMultiple(of: subject), size.width % multiple != 0 || size.height % multiple != 0 else { return }
    throw SettingError("size \(size): \(subject.name) makes images whose sides are multiples of \(multiple)")
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
      "kernels": joined(subjects.map { $0.kernels?.rawValue ?? "default" }),
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
