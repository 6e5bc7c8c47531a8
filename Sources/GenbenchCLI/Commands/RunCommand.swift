import Checkpoints
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
      Measures requests with each model and writes a table, run.json, a journal, the images and the figures into a folder. Lists \
      are separated by commas and measured in full product; numbers may be ranges: 1-4, 10-50+10, 16-64*2. A number counts only \
      beside the verdict on the configuration's results.
      """,
    options: [
      .value(
        "variant", "list",
        "Families, each with the repository's small model of it: \(RunPlanner.variants.joined(separator: ", ")).",
        default: "all", isRepeatable: true, section: "WHAT"),
      .value(
        "model", short: "m", "path|id",
        "A diffusers folder, a .safetensors or a .gguf file, or a downloaded model's id; may be repeated.", isRepeatable: true,
        section: "WHAT"),
      .value("mmproj", "path", "The projector of a vision-language --model.", section: "WHAT"),
      .flag(
        "full-size", "The published sizes with generated weights; by default one prompt of 4 steps and no warm-up.",
        section: "WHAT"),
      .value("fixtures", "dir", "The folder with the small models.", default: "found by itself", section: "WHAT"),
      .value(
        "prompts", "n|file",
        "The first n of \(Prompts.standard.count) built-in prompts (and of \(Prompts.questions.count) questions), or a file with one a line; of shapes for the small models.",
        default: "all", section: "WHAT"),
      .value("image", "file", "What vision-language models are asked about.", default: "a drawn one", section: "WHAT"),
      .value("steps", short: "s", "list", "Denoising steps.", default: "the model's", isRepeatable: true, section: "WHAT"),
      .value("size", "list", "Sizes as WIDTHxHEIGHT.", default: "the model's", isRepeatable: true, section: "WHAT"),
      .value("scheduler", "list", "Samplers.", default: "the model's", isRepeatable: true, section: "WHAT"),
      .value("batch", "list", "Images of one request.", default: "1, 4 offline", isRepeatable: true, section: "WHAT"),
      .value("max-tokens", "list", "The most tokens of an answer.", default: "32", isRepeatable: true, section: "WHAT"),
      .value("guidance-scale", "list", "Weights of the prompt.", default: "the model's", isRepeatable: true, section: "WHAT"),
      .value("negative-prompt", "text", "What to avoid.", section: "WHAT"),
      .value("seed", "n", "Seed of the first prompt; the next one has the next seed.", default: "0", section: "WHAT"),
      .value(
        "param", "key=list", "Sweeps any setting: \(RunAxes.names.joined(separator: ", ")).", isRepeatable: true, section: "WHAT"),
      .value("include", "key=value,…", "A combination beside the product; may be repeated.", isRepeatable: true, section: "WHAT"),
      .value(
        "exclude", "key=value,…", "Leaves out combinations that have all of these; may be repeated.", isRepeatable: true,
        section: "WHAT"),
      .value(
        "suite", "file",
        "All of this as a JSON file; the command line wins over it. 'kernels' measures each operator at the published models' shapes.",
        section: "WHAT"),
      .value(
        "scenario", "list", "What is done: \(RunAxes.scenarios.joined(separator: ", ")).", default: "single", isRepeatable: true,
        section: "HOW"),
      .value("sessions", "n", "Fresh processes, the unit of comparisons; 10 for a gate.", default: "1", section: "HOW"),
      .value("repetitions", short: "r", "n", "How often each prompt is measured in a session.", default: "1", section: "HOW"),
      .value("warmup", "n", "Requests before the first that counts, in each session.", default: "1", section: "HOW"),
      .value("min-time", "time", "Repeat for at least so long a session (10s), or so often (30x).", section: "HOW"),
      .value("until-ci", "percent", "Repeat until the 95 % interval of the median is within so much.", section: "HOW"),
      .value("max-repetitions", "n", "Never repeat more often.", default: "1000", section: "HOW"),
      .value(
        "side", "name:settings",
        "Measures several things in turns: old:exe=PATH, fast:kernels=fast, x:env.NAME=VALUE; may be repeated.",
        isRepeatable: true, section: "HOW"),
      .value("interleave", "order", "Order of the processes: off, abba, random.", default: "abba", section: "HOW"),
      .value(
        "gate", "by", "What results are judged by: auto (goldens), reference (plain loops), off.", default: "auto", section: "HOW"
      ),
      .value("delay", "time", "A pause before each request.", section: "HOW"),
      .value("timeout", "time", "End a process that says nothing for so long.", default: "10m", section: "HOW"),
      .value(
        "isolation", "mode", "Sessions as processes of their own, or in this one.", default: "process",
        values: ["process", "inline"], section: "HOW"),
      .value("shard", "i/n", "Only a part of the plan; auto asks the cluster's scheduler.", section: "MACHINES"),
      .value(
        "emit", "kind", "Print the job file that runs this in parts.", values: JobFile.Kind.allCases.map(\.rawValue),
        section: "MACHINES"),
      .value("shards", "n", "Parts of the job file.", default: "4", section: "MACHINES"),
      .value("merge", "dir", "Put the parts of one plan together; may be repeated.", isRepeatable: true, section: "MACHINES"),
      .flag("merge-anyway", "Merge in spite of holes, duplicates and mixed plans.", section: "MACHINES"),
      .value("resume", "dir", "Go on with a run that was stopped.", section: "FILES"),
      .value("out", short: "o", "dir", "The folder for all files.", default: "Reports/run-TIME", section: "FILES"),
      .value("label", "key=value", "Something to remember with the run; may be repeated.", isRepeatable: true, section: "FILES"),
      .invertible("images", "Keep the images.", default: "keep them", section: "FILES"),
      .invertible("plots", "Draw the figures.", default: "draw them", section: "FILES"),
      .flag("json", "Print run.json in place of the table.", section: "FILES"),
      .flag("dry-run", "Print the plan and stop.", section: "FILES"),
      .value(
        "backend", "spec", "The engine: ref, or with settings as in ref:threads=1; null does nothing.", default: "ref",
        isRepeatable: true, section: "ENGINE"),
      .value("kernels", "list", "The operators: fast, reference.", default: "fast", isRepeatable: true, section: "ENGINE"),
      .value("threads", "list", "Worker threads.", default: "one a core", isRepeatable: true, section: "ENGINE"),
      .value("precision", "list", "The arithmetic: f32, bf16.", default: "f32", isRepeatable: true, section: "ENGINE"),
      .flag(
        "reduce-memory", "One component at a time, guidance in two passes, the VAE in small bands, in tiles beyond 512 pixels.",
        section: "ENGINE"),
    ])

  private let values: ParsedValues
  private let axes: RunAxes
  private let sides: [RunPlanner.Side]
  private let labels: [String: String]
  private let isFullSize: Bool
  /// What options are when neither the command line nor a suite says.
  private let defaults: [String: String]

  init(_ values: ParsedValues) throws(UsageError) { try self.init(values, sides: nil, defaults: [:]) }

  /// Takes the values of a command with the same options.
  ///
  /// - Parameters:
  ///   - sides: In place of `--side`.
  ///   - defaults: What options are when neither the command line nor a suite says.
  init(_ values: ParsedValues, sides fixedSides: [RunPlanner.Side]?, defaults: [String: String]) throws(UsageError) {
    self.values = values
    self.defaults = defaults
    isFullSize = values.flag("full-size") ?? false
    let models = values.strings("model")
    let variants = values.list("variant")
    for variant in variants where !RunPlanner.variants.contains(variant) {
      throw UsageError(
        "The value '\(variant)' is invalid for '--variant <list>'. Please provide some of "
          + RunPlanner.variants.joined(separator: ", ") + Suggestion.text(for: variant, among: RunPlanner.variants))
    }
    if models.count > 0, variants.count > 1 { throw UsageError("--model takes one --variant, or none to read it from the files") }
    if models.count > 1, variants.count > 0 { throw UsageError("--variant belongs to one --model; leave it out with several") }
    if models.isEmpty, values.string("mmproj") != nil {
      throw UsageError("--mmproj needs --model, the language model that it belongs to")
    }
    try ModelLocation.check(model: models.first, variant: variants.first, isFullSize: isFullSize)
    axes = try Self.axes(values, isFullSize: isFullSize)
    var sides: [RunPlanner.Side] = []
    for text in values.strings("side") {
      let side = try RunPlanner.Side(parsing: text)
      if sides.contains(where: { $0.name == side.name }) { throw UsageError("--side \(side.name) is given twice") }
      sides.append(side)
    }
    if let fixedSides {
      guard sides.isEmpty else { throw UsageError("--side doesn't belong here: both sides are one and the same") }
      sides = fixedSides
    }
    if sides.count == 1 { throw UsageError("--side needs at least two, which are measured in turns") }
    self.sides = sides
    _ = try RunOptions(isFullSize: isFullSize) { values.string($0) }
    var labels: [String: String] = [:]
    for text in values.strings("label") {
      let pair = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard pair.count == 2, !pair[0].isEmpty else {
        throw UsageError("The value '\(text)' is invalid for '--label <key=value>': expected KEY=VALUE")
      }
      labels[pair[0]] = pair[1]
    }
    self.labels = labels
    if let text = values.string("shard"), text != "auto" { _ = try ShardOption.parse(text, environment: [:]) }
    _ = try values.int("shards", in: 1...10_000)
    if values.string("resume") != nil, values.string("out") != nil {
      throw UsageError("--resume names the folder; leave --out out")
    }
  }

  /// The settings of the command line, each checked where that needs no file.
  private static func axes(_ values: ParsedValues, isFullSize: Bool) throws(UsageError) -> RunAxes {
    var axes = RunAxes()
    axes.set("model", values.strings("model"))
    axes.set("variant", values.list("variant"))
    axes.set("mmproj", values.string("mmproj").map { [$0] } ?? [])
    for (option, name, range) in [
      ("steps", "steps", 1...10_000), ("batch", "batch", 1...256), ("max-tokens", "max_tokens", 1...1_000_000),
      ("threads", "threads", 1...1024),
    ] {
      axes.set(name, try NumberList.parse(values.list(option), option: "--\(option) <list>", in: range).map(String.init))
    }
    if isFullSize, axes.values["steps"] == nil { axes.set("steps", ["4"]) }
    var sizes: [String] = []
    for text in values.list("size") { sizes.append(try RunPlanner.size(text).description) }
    axes.set("size", sizes)
    for (option, name) in [
      ("scheduler", "scheduler"), ("guidance-scale", "guidance_scale"), ("scenario", "scenario"), ("kernels", "kernels"),
      ("precision", "precision"),
    ] {
      axes.set(name, values.list(option))
    }
    // A comma within a backend's settings is its own.
    axes.set("backend", values.strings("backend"))
    if values.flag("reduce-memory") == true { axes.set("reduce_memory", ["true"]) }
    for text in values.strings("param") {
      let pair = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard pair.count == 2, !pair[1].isEmpty else {
        throw UsageError("The value '\(text)' is invalid for '--param <key=list>': expected KEY=VALUE,VALUE")
      }
      let name = pair[0].replacing("-", with: "_")
      try RunAxes.check(name, option: "--param")
      let list = pair[1].split(separator: ",").map { $0.trimmingSpaces() }
      let isNumber = ["steps", "batch", "max_tokens", "threads"].contains(name)
      axes.set(name, isNumber ? try NumberList.parse(list, option: "--param", in: 1...1_000_000).map(String.init) : list)
    }
    for text in values.strings("include") { axes.included.append(try RunAxes.combination(text, option: "--include")) }
    for text in values.strings("exclude") { axes.excluded.append(try RunAxes.combination(text, option: "--exclude")) }
    return axes
  }

  // MARK: - Running

  func run(_ context: CommandContext) async throws -> ProgramExit {
    if let kind = values.string("emit").flatMap({ JobFile.Kind(rawValue: $0) }) { return emit(kind, context) }
    if !values.strings("merge").isEmpty { return try merge(context) }
    let date = Date()
    if values.string("suite") == "kernels" {
      let folder = URL(fileURLWithPath: values.string("out") ?? "Reports/kernels-\(RunFinisher.folderName(date))")
      return try KernelSuite(values, folder: folder).run(context)
    }
    let start = try start(context, date: date)
    if values.flag("dry-run") ?? false { return try show(start.plan, keys: start.keys, context) }
    let (run, status) = try await measure(start, date: date, context)
    context.console.print(values.flag("json") == true ? try run.json().trimmingSpaces() : RunTable.markdown(run).trimmingSpaces())
    if values.flag("json") != true { printSides(run, context) }
    context.console.say("Files are in \(start.folder.relativePath)")
    return status
  }

  /// Measures without printing; for commands that do more with it.
  func measure(_ context: CommandContext) async throws -> (run: RunDocument, status: ProgramExit, folder: URL) {
    let date = Date()
    let start = try start(context, date: date)
    let (run, status) = try await measure(start, date: date, context)
    return (run, status, start.folder)
  }

  private func measure(_ start: Start, date: Date, _ context: CommandContext) async throws -> (RunDocument, ProgramExit) {
    var execution = RunExecution(plan: start.plan, folder: start.folder, context: context)
    execution.keys = start.keys
    execution.shard = start.shard
    execution.labels = labels
    execution.fixtures = values.string("fixtures")
    execution.isIsolated = context.executable != nil && values.string("isolation") != "inline"
    execution.drawsFigures = values.flag("plots") ?? true
    execution.resumed = start.isResumed ? start.journal ?? .init(events: [], isTorn: false, wholeBytes: 0) : nil
    return try await execution.run(date: date)
  }

  /// What a run begins with: a new plan, or one that was begun before.
  private struct Start {
    var plan: RunPlan
    var keys: Set<String>?
    var shard: RunDocument.Shard?
    var folder: URL
    var isResumed = false
    var journal: Journal.Content?
  }

  private func start(_ context: CommandContext, date: Date) throws -> Start {
    if let path = values.string("resume") { return try resumed(path) }
    let plan = try plan(context)
    var shard: RunDocument.Shard?
    if let text = values.string("shard") ?? context.environment["GENBENCH_SHARD"] {
      shard = try ShardOption.parse(text, environment: context.environment)
    }
    let keys = shard.map { plan.keys(ofShard: $0.index, of: $0.count) }
    let folder = values.string("out") ?? "Reports/run-\(RunFinisher.folderName(date))"
    if !(values.flag("dry-run") ?? false) { try OutputFiles.makeFolder(folder) }
    return Start(plan: plan, keys: keys, shard: shard, folder: URL(fileURLWithPath: folder))
  }

  private func resumed(_ path: String) throws -> Start {
    let folder = URL(fileURLWithPath: path)
    guard let data = FileManager.default.contents(atPath: folder.appendingPathComponent("plan.json").path) else {
      throw CommandError(.inputMissing, "--resume \(path): no plan.json there; expected the folder of a run")
    }
    do {
      let plan = try RunPlan(json: data)
      var start = Start(plan: plan, folder: folder, isResumed: true)
      let file = folder.appendingPathComponent(Journal.fileName)
      if FileManager.default.fileExists(atPath: file.path) {
        let journal = try Journal.read(file)
        start.journal = journal
        if case .runStart(let first)? = journal.events.first?.content {
          start.shard = first.shard
          if first.planHash != plan.hash {
            throw RunDocumentError(
              "the journal is of another plan (\(first.planHash.prefix(8)), plan.json is \(plan.hash.prefix(8)))")
          }
        }
      }
      start.keys = start.shard.map { plan.keys(ofShard: $0.index, of: $0.count) }
      return start
    } catch let error as RunDocumentError {
      throw CommandError(.badInput, "--resume \(path): \(error.message)")
    }
  }

  private func plan(_ context: CommandContext) throws -> RunPlan {
    let suite = try values.string("suite").map { try SuiteFile(path: $0) }
    for name in suite?.defaults.keys.sorted() ?? [] where !RunOptions.names.contains(name) {
      throw CommandError(
        .badInput,
        "--suite: defaults.\(name) is unknown: expected some of \(RunOptions.names.joined(separator: ", "))"
          + Suggestion.text(for: name, among: RunOptions.names))
    }
    let values = values
    let defaults = defaults
    let lookUp: (String) -> String? = { values.string($0) ?? suite?.defaults[$0] ?? defaults[$0] }
    let options = try RunOptions(isFullSize: isFullSize, lookUp)
    var plan = RunPlan()
    plan.effort = options.effort
    plan.interleaving = options.interleaving
    plan.gate = options.gate
    plan.seed = options.seed
    plan.negativePrompt = options.negativePrompt
    plan.image = values.string("image")
    if let image = plan.image, !FileManager.default.fileExists(atPath: image) {
      throw CommandError(.inputMissing, "--image \(image): no such file")
    }
    plan.keepsImages = values.flag("images") ?? true
    plan.questions = try Prompts.choose(lookUp("prompts"), from: Prompts.questions, default: nil)
    var combined = suite?.axes ?? RunAxes()
    for (name, list) in axes.values { combined.set(name, list) }
    combined.included += axes.included
    combined.excluded += axes.excluded
    if combined.values["variant"] == nil, combined.values["model"] == nil, suite?.cases.isEmpty ?? true {
      combined.set("variant", isFullSize ? ModelLocation.variants : RunPlanner.variants)
    }
    let explicit = (suite?.cases ?? []).map { $0.merging(axes.values.compactMapValues(\.first)) { $1 } }
    let planner = RunPlanner(fixtures: values.string("fixtures"), environment: context.environment, isFullSize: isFullSize)
    let product = suite?.cases.isEmpty == false && suite?.axes.values.isEmpty == true ? [] : combined.combinations
    let isSmall = !isFullSize && !(product + explicit).contains { $0["model"] != nil }
    plan.prompts = try Prompts.choose(
      lookUp("prompts"), from: isSmall ? Prompts.shapes : Prompts.standard, default: isFullSize ? 1 : nil)
    do { try planner.fill(&plan, product + explicit, sides: sides) } catch let error as UsageError where suite != nil {
      throw CommandError(.badInput, "--suite: \(error.message)")
    }
    return plan
  }

  private func show(_ plan: RunPlan, keys: Set<String>?, _ context: CommandContext) throws -> ProgramExit {
    if values.flag("json") == true {
      context.console.print(String(decoding: try plan.json(), as: UTF8.self))
      return .success
    }
    for unit in plan.units(of: keys) {
      let subject = plan.subjects[unit.subject]
      let side = subject.side.map { " [\(plan.sides[$0].name)]" } ?? ""
      for key in unit.keys { context.console.print("session \(unit.session + 1)\(side) \(key)") }
    }
    context.console.print("plan \(plan.hash)")
    return .success
  }

  private func printSides(_ run: RunDocument, _ context: CommandContext) {
    guard let first = run.sides.first else { return }
    for other in run.sides.dropFirst() {
      let comparison = RunComparison(
        base: (run.side(first), first), candidate: (run.side(other), other), policy: ComparisonPolicy(ignoresEnvironment: true))
      context.console.print("\n" + ComparisonTable.markdown(comparison).trimmingSpaces())
    }
  }

  // MARK: - Many machines

  private func emit(_ kind: JobFile.Kind, _ context: CommandContext) -> ProgramExit {
    let shards = (try? values.int("shards", in: 1...10_000)) ?? 4
    context.console.print(
      JobFile(words: context.words, shards: shards, out: values.string("out") ?? "Reports/run").text(kind).trimmingSpaces())
    return .success
  }

  private func merge(_ context: CommandContext) throws -> ProgramExit {
    let sources = values.strings("merge")
    let out = URL(fileURLWithPath: values.string("out") ?? "Reports/run-\(RunFinisher.folderName(Date()))")
    var parts: [RunMerge.Part] = []
    for source in sources {
      let reference = try RunReference.load(source, store: nil)
      parts.append(RunMerge.Part(name: source, run: reference.run, folder: reference.folder))
    }
    let merged: RunDocument
    do {
      merged = try RunMerge.merge(parts, anyway: values.flag("merge-anyway") ?? false)
    } catch {
      throw CommandError(error.isIncomplete ? .incomplete : .badInput, error.message)
    }
    try OutputFiles.makeFolder(out.path)
    for part in parts { try RunMerge.copyFiles(of: part, to: out) }
    try RunFiles(folder: out, console: context.console, environment: context.environment)
      .write(merged, drawsFigures: values.flag("plots") ?? true)
    context.console.print(
      values.flag("json") == true ? try merged.json().trimmingSpaces() : RunTable.markdown(merged).trimmingSpaces())
    context.console.say("Files are in \(out.path)")
    return RunFinisher.status(of: merged, signal: nil)
  }
}
