import Foundation
import GenBackend
import Goldens
import Measurement
import Reporting

/// Measures engines.
struct RunCommand: Command {
  static let configuration = CommandDescription(
    name: "run", abstract: "Measure how fast and how big an engine is.",
    discussion: """
      Makes the images of many prompts with each model and writes a table, run.json, the images and the figures into a folder. \
      Lists are separated by commas and measured in full product.
      """,
    options: [
      .value(
        "variant", "list",
        "Families, each with the repository's small model of it: \(ModelLocation.variants.joined(separator: ", ")).",
        default: "all", isRepeatable: true, section: "WHAT"),
      .value(
        "model", short: "m", "path|id",
        "A diffusers folder, a .safetensors or a .gguf file, or a downloaded model's id; may be repeated.", isRepeatable: true,
        section: "WHAT"),
      .flag(
        "full-size", "The published sizes with generated weights; by default one prompt of 4 steps and no warm-up.",
        section: "WHAT"),
      .value("fixtures", "dir", "The folder with the small models.", default: "found by itself", section: "WHAT"),
      .value(
        "prompts", "n|file", "The first n of \(Prompts.standard.count) built-in prompts, or a file with one a line.",
        default: "all", section: "WHAT"),
      .value("steps", short: "s", "list", "Denoising steps.", default: "the model's", isRepeatable: true, section: "WHAT"),
      .value("size", "list", "Sizes as WIDTHxHEIGHT.", default: "the model's", isRepeatable: true, section: "WHAT"),
      .value("scheduler", "list", "Samplers.", default: "the model's", isRepeatable: true, section: "WHAT"),
      .value("guidance-scale", "x", "Weight of the prompt.", default: "the model's", section: "WHAT"),
      .value("negative-prompt", "text", "What to avoid.", section: "WHAT"),
      .value("seed", "n", "Seed of the first prompt; the next one has the next seed.", default: "0", section: "WHAT"),
      .value("repetitions", short: "r", "n", "How often each prompt is measured.", default: "1", section: "HOW"),
      .value("warmup", "n", "Images before the first that counts.", default: "1", section: "HOW"),
      .value("out", short: "o", "dir", "The folder for all files.", default: "Reports/run-TIME", section: "HOW"),
      .value("label", "key=value", "Something to remember with the run; may be repeated.", isRepeatable: true, section: "HOW"),
      .invertible("plots", "Draw the figures.", default: "draw them", section: "HOW"),
      .flag("json", "Print run.json in place of the table.", section: "HOW"),
    ] + BackendSpecification.options + [
      .value("precision", "type", "The arithmetic.", default: "f32", values: ["f32", "bf16"], section: "ENGINE"),
      .flag("reduce-memory", "One component at a time, guidance in two passes, the VAE in tiles.", section: "ENGINE"),
    ])

  private let variants: [String]
  private let models: [String]
  private let isFullSize: Bool
  private let fixtures: String?
  private let prompts: String?
  private let out: String?
  private let labels: [String: String]
  private let drawsFigures: Bool
  private let isJSON: Bool
  private var settings: RunSettings

  init(_ values: ParsedValues) throws(UsageError) {
    variants = values.list("variant")
    models = values.strings("model")
    for variant in variants where !ModelLocation.variants.contains(variant) {
      throw UsageError(
        "The value '\(variant)' is invalid for '--variant <list>'. Please provide some of "
          + ModelLocation.variants.joined(separator: ", ") + Suggestion.text(for: variant, among: ModelLocation.variants))
    }
    if models.count > 0, variants.count > 1 { throw UsageError("--model takes one --variant, or none to read it from the files") }
    if models.count > 1, variants.count > 0 { throw UsageError("--variant belongs to one --model; leave it out with several") }
    fixtures = values.string("fixtures")
    isFullSize = values.flag("full-size") ?? false
    try ModelLocation.check(model: models.first, variant: variants.first, isFullSize: isFullSize)
    prompts = values.string("prompts")
    out = values.string("out")
    drawsFigures = values.flag("plots") ?? true
    isJSON = values.flag("json") ?? false
    var labels: [String: String] = [:]
    for text in values.strings("label") {
      let pair = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard pair.count == 2, !pair[0].isEmpty else {
        throw UsageError("The value '\(text)' is invalid for '--label <key=value>': expected KEY=VALUE")
      }
      labels[pair[0]] = pair[1]
    }
    self.labels = labels
    settings = RunSettings(models: [], backend: try BackendSpecification(values), prompts: [], folder: URL(fileURLWithPath: "."))
    settings.steps = try values.ints("steps", in: 1...10_000)
    settings.sizes = try values.sizes("size")
    settings.schedulers = values.list("scheduler")
    settings.guidanceScale = try values.double("guidance-scale", in: 0...1000)
    settings.negativePrompt = values.string("negative-prompt")
    settings.seed = try values.seed("seed") ?? 0
    settings.repetitions = try values.int("repetitions", in: 1...100_000) ?? 1
    settings.warmups = try values.int("warmup", in: 0...1000) ?? (isFullSize ? 0 : 1)
    if isFullSize, settings.steps.isEmpty { settings.steps = [4] }
    settings.precision = values.string("precision") ?? "f32"
    settings.reduceMemory = values.flag("reduce-memory") ?? false
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let date = Date()
    var settings = settings
    settings.prompts = try Prompts.choose(prompts, default: isFullSize ? 1 : Prompts.standard.count)
    settings.models = try locations(context)
    let folder = out ?? "Reports/run-\(Self.folderName(date))"
    try OutputFiles.makeFolder(folder)
    settings.folder = URL(fileURLWithPath: folder)

    let engine = try await context.makeBackend(settings.backend)
    let info = try await engine.info
    var random = SystemRandomNumberGenerator()
    let revision = ProjectHome.fixtures(explicit: fixtures, environment: context.environment)
      .flatMap { GitRevision(folder: $0.path) }
    var run = RunDocument(
      runID: RunDocument.makeRunID(date: date, using: &random), createdAt: RunDocument.timestamp(date),
      tool: .init(
        name: "genbench", version: GenbenchCommandLine.version, commit: revision?.commit, dirty: revision?.isDirty,
        build: .current),
      command: ["genbench"] + context.words, config: settings.record, labels: labels, environment: EnvironmentProbe().read())

    let display = ProgressDisplay("run", total: settings.imageCount, console: context.console)
    let measurer = RunMeasurer(
      settings: settings, context: context, engine: engine, engineInfo: info, display: display, fixtures: fixtures)
    let status: ProgramExit
    do {
      try await measurer.measure(into: &run)
      status = Self.status(of: run, signal: context.interrupts.signal)
    } catch {
      // Whatever went wrong, what was measured so far is written.
      status = ProgramExit(error, signal: context.interrupts.signal)
    }
    display.finish()
    run.status = status.code == 0 || status.code == ProgramExit.Kind.caseFailed.rawValue ? .complete : .incomplete
    run.exit = .init(code: status.code, reason: status.reason)
    try RunFiles(folder: settings.folder, console: context.console, environment: context.environment)
      .write(run, drawsFigures: drawsFigures)
    context.console.print(isJSON ? try run.json().trimmingSpaces() : RunTable.markdown(run).trimmingSpaces())
    context.console.say("Files are in \(folder)")
    return status
  }

  private func locations(_ context: CommandContext) throws -> [ModelLocation] {
    if !models.isEmpty {
      return try models.map { try ModelLocation.user($0, variant: variants.first, environment: context.environment) }
    }
    if isFullSize { return variants.map { ModelLocation.fullSize($0) } }
    return try (variants.isEmpty ? ModelLocation.variants : variants).map {
      try ModelLocation.small($0, fixtures: fixtures, environment: context.environment)
    }
  }

  /// Interrupted beats failed beats passed.
  private static func status(of run: RunDocument, signal: Int32?) -> ProgramExit {
    if let signal {
      return ProgramExit(
        signal == 15 ? .terminated : .interrupted,
        "stopped by a signal; what was measured until then is written, the run is marked incomplete")
    }
    let failed = run.cases.filter { $0.status != .pass }
    guard let first = failed.first else { return .success }
    return ProgramExit(
      .caseFailed,
      "\(failed.count) of \(run.cases.count) cases failed to run: \(first.caseID): \(first.statusReason ?? "no reason")")
  }

  private static func folderName(_ date: Date) -> String {
    let format = Date.VerbatimFormatStyle(
      format: """
        \(year: .defaultDigits)\(month: .twoDigits)\(day: .twoDigits)-\(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased))\
        \(minute: .twoDigits)\(second: .twoDigits)
        """, timeZone: .gmt, calendar: Calendar(identifier: .gregorian))
    return date.formatted(format)
  }
}
