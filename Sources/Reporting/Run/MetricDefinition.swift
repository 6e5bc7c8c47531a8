public import GenBackend
import Measurement

/// What a measured quantity is and how it comes out of a session; ``all`` is the one list of them.
public struct MetricDefinition: Sendable {
  /// The name in files.
  public let name: MetricName
  /// What heads its column.
  public let title: String
  /// The unit.
  public let unit: MetricUnit
  /// Which way is better.
  public let polarity: RunCase.Metric.Polarity
  /// What one value is of.
  public let scope: RunCase.Metric.Scope
  /// Whether comparisons judge it; the others are told without a verdict.
  public let isJudged: Bool
  /// The scenarios that measure it.
  let scenarios: Set<Scenario>
  /// The values of a session.
  let values: @Sendable (RunSession) -> [Double]

  private init(
    _ name: MetricName, _ title: String, unit: MetricUnit = .nanoseconds, polarity: RunCase.Metric.Polarity = .lower,
    scope: RunCase.Metric.Scope, isJudged: Bool = false, scenarios: Set<Scenario> = Scenario.withRequests,
    _ values: @escaping @Sendable (RunSession) -> [Double]
  ) {
    self.name = name
    self.title = title
    self.unit = unit
    self.polarity = polarity
    self.scope = scope
    self.isJudged = isJudged
    self.scenarios = scenarios
    self.values = values
  }

  /// The quantities with names of their own, in the order in which files have them.
  public static let all: [MetricDefinition] = beforeStages + steps + afterSteps

  private static let beforeStages: [MetricDefinition] = [
    .init(.loadCold, "load", scope: .load, scenarios: Scenario.all) { ns([$0.loadNs].compactMap { $0 }) },
    .init(.loadWarm, "load", scope: .load, isJudged: true, scenarios: Scenario.all) { ns($0.samples.compactMap(\.loadNs)) },
    .init(.cancel, "cancelled in", scope: .run, isJudged: true, scenarios: [.cancel]) { ns($0.samples.compactMap(\.cancelNs)) },
    .init(.endToEnd, "total", scope: .run, isJudged: true) { ns($0.samples.map(\.e2eNs)) },
    .init(
      .imagesPerSecond, "images", unit: .perSecond, polarity: .higher, scope: .run, isJudged: true, scenarios: [.offline]
    ) { session in
      session.samples.compactMap { $0.e2eNs == 0 ? nil : Double($0.images) / (Double($0.e2eNs) / 1e9) }
    },
  ]

  private static let steps: [MetricDefinition] = [
    .init(.firstStep, "first step", scope: .step) { ns($0.samples.compactMap(\.stepsNs.first)) },
    .init(.step, "step", scope: .step, isJudged: true) { ns($0.samples.flatMap(\.stepsNs)) },
  ]

  private static let afterSteps: [MetricDefinition] = [
    .init(.timeToFirstToken, "first token", scope: .token, isJudged: true) { ns($0.samples.compactMap { $0.text?.ttftNs }) },
    .init(.token, "token", scope: .token) { ns($0.samples.flatMap { $0.text?.tokensNs ?? [] }) },
    .init(.prefillRate, "prefill", unit: .perSecond, polarity: .higher, scope: .token, isJudged: true) {
      $0.samples.compactMap { $0.text?.prefillTokensPerSecond }
    },
    .init(.decodeRate, "decode", unit: .perSecond, polarity: .higher, scope: .token, isJudged: true) {
      $0.samples.compactMap { $0.text?.decodeTokensPerSecond }
    },
    .init(.unaccounted, "in no stage", polarity: .none, scope: .run) { ns($0.samples.map(\.unaccountedNs)) },
    .init(.idle, "between requests", polarity: .none, scope: .run) { ns($0.samples.compactMap(\.idleNs)) },
    .init(.harnessOverhead, "harness", polarity: .none, scope: .run, scenarios: Scenario.all) {
      ns([$0.overheadNs].compactMap { $0 })
    },
    .init(.peakResident, "peak memory", unit: .bytes, scope: .run, isJudged: true, scenarios: Scenario.all) {
      ns([$0.peakBytes].compactMap { $0 })
    },
    .init(.peakResidentGrowth, "memory growth", unit: .bytes, polarity: .none, scope: .run, scenarios: Scenario.all) { session in
      guard let peak = session.peakBytes, let baseline = session.baselineBytes else { return [] }
      return [Double(peak) - Double(min(baseline, peak))]
    },
  ]

  /// Stages that comparisons judge.
  private static let judgedStages: Set<Stage> = [.textEncode, .vaeDecode, .visionEncode]
  /// Stages whose columns have another head than their name.
  private static let stageTitles: [Stage: String] = [.vaeDecode: "VAE", .visionEncode: "vision"]

  /// The time of a stage; engines have stages of their own.
  public static func stage(_ stage: Stage) -> MetricDefinition {
    let title = stageTitles[stage] ?? stage.rawValue.replacing("_", with: " ")
    return .init(.stage(stage), title, scope: .stage, isJudged: judgedStages.contains(stage)) {
      ns($0.samples.compactMap { $0.stagesNs[stage.rawValue] })
    }
  }

  /// The time of a stage within the denoising steps.
  public static func stepPart(_ stage: Stage) -> MetricDefinition {
    .init(.stepPart(stage), stage.rawValue.replacing("_", with: " "), scope: .step) {
      ns($0.samples.flatMap { $0.stepPartsNs[stage.rawValue] ?? [] })
    }
  }

  /// The quantities of some sessions; what no session measured is left out.
  static func metrics(of sessions: [RunSession], scenario: Scenario = .single) -> [RunCase.Metric] {
    let samples = sessions.flatMap(\.samples)
    func sorted(_ names: [String]) -> [Stage] { Set(names).sorted().map { Stage(rawValue: $0) } }
    let stages = sorted(samples.flatMap(\.stagesNs.keys)).filter { $0 != .step }.map(stage)
    let parts = sorted(samples.flatMap(\.stepPartsNs.keys)).map(stepPart)
    return (beforeStages + stages + steps + parts + afterSteps).compactMap { definition in
      guard definition.scenarios.contains(scenario) else { return nil }
      let values = sessions.map(definition.values)
      guard values.contains(where: { !$0.isEmpty }) else { return nil }
      var metric = RunCase.Metric(definition, sessions: values)
      // The first load is what the scenario `cold` measures, and by the way elsewhere.
      if definition.name == .loadCold, scenario != .cold { metric.polarity = .none }
      return metric
    }
  }

  private static func ns(_ values: [UInt64]) -> [Double] { values.map { Double($0) } }
}

extension MetricDefinition {
  private static let byName = Dictionary(
    uniqueKeysWithValues: (all + [Stage.textEncode, .vaeDecode, .visionEncode, .tokenize].map(stage)).map { ($0.name, $0) })

  /// What a name stands for; of a stage that isn't in the lists only the name is known.
  public static func of(_ name: MetricName) -> MetricDefinition {
    byName[name] ?? .init(name, name.rawValue, polarity: .none, scope: .run) { _ in [] }
  }
}

extension MetricName {
  /// What heads its column.
  var title: String { MetricDefinition.of(self).title }
  /// Whether comparisons judge it.
  public var isJudged: Bool { MetricDefinition.of(self).isJudged }
}
