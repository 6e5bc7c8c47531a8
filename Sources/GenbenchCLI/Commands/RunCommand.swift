import Checkpoints
import Foundation
import GenBackend
import Goldens
import Measurement
import Reporting
import Running

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
        "param", "key=list", "Sweeps any setting: \(RunAxis.names.joined(separator: ", ")).", isRepeatable: true, section: "WHAT"),
      .value("include", "key=value,…", "A combination beside the product; may be repeated.", isRepeatable: true, section: "WHAT"),
      .value(
        "exclude", "key=value,…", "Leaves out combinations that have all of these; may be repeated.", isRepeatable: true,
        section: "WHAT"),
      .value(
        "suite", "file",
        "All of this as a JSON file; the command line wins over it. 'kernels' measures each operator at the published models' shapes.",
        section: "WHAT"),
      .value(
        "scenario", "list", "What is done: \(Scenario.allCases.map(\.rawValue).joined(separator: ", ")).", default: "single",
        isRepeatable: true,
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
  private let request: RunRequest
  private let labels: [String: String]
  /// What options are when neither the command line nor a suite says.
  private let defaults: [String: String]

  init(_ values: ParsedValues) throws(UsageError) { try self.init(values, sides: [], defaults: [:]) }

  /// Takes the values of a command with the same options.
  ///
  /// - Parameters:
  ///   - sides: In place of `--side`.
  ///   - defaults: What options are when neither the command line nor a suite says.
  init(_ values: ParsedValues, sides: [String], defaults: [String: String]) throws(UsageError) {
    self.values = values
    self.defaults = defaults
    if !sides.isEmpty, !values.strings("side").isEmpty {
      throw UsageError("--side doesn't belong here: both sides are one and the same")
    }
    do { request = try Self.request(values, sides: sides + values.strings("side")) } catch { throw UsageError("\(error)") }
    var labels: [String: String] = [:]
    for text in values.strings("label") {
      let pair = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard pair.count == 2, !pair[0].isEmpty else {
        throw UsageError("The value '\(text)' is invalid for '--label <key=value>': expected KEY=VALUE")
      }
      labels[pair[0]] = pair[1]
    }
    self.labels = labels
    if let text = values.string("shard"), text != "auto" {
      do { _ = try ShardOption.parse(text, environment: [:]) } catch { throw UsageError(error.message) }
    }
    _ = try values.int("shards", in: 1...10_000)
    if values.string("resume") != nil, values.string("out") != nil {
      throw UsageError("--resume names the folder; leave --out out")
    }
    if values.string("suite") == "kernels" { _ = try KernelSuite(values, folder: URL(fileURLWithPath: "/")) }
  }

  /// What is measured, as far as that can be checked without a file.
  private static func request(_ values: ParsedValues, sides: [String]) throws -> RunRequest {
    let isFullSize = values.flag("full-size") ?? false
    let models = values.strings("model")
    let variants = values.list("variant")
    if models.count > 0, variants.count > 1 { throw UsageError("--model takes one --variant, or none to read it from the files") }
    if models.count > 1, variants.count > 0 { throw UsageError("--variant belongs to one --model; leave it out with several") }
    if models.isEmpty, values.string("mmproj") != nil {
      throw UsageError("--mmproj needs --model, the language model that it belongs to")
    }
    var axes = RunAxes()
    // A comma within a backend's settings or a path is its own.
    try axes.set(.model, models)
    try axes.set(.mmproj, values.strings("mmproj"))
    try axes.set(.backend, values.strings("backend"))
    for (axis, option) in [
      (RunAxis.variant, "variant"), (.steps, "steps"), (.batch, "batch"), (.maxTokens, "max-tokens"), (.threads, "threads"),
      (.size, "size"), (.scheduler, "scheduler"), (.guidanceScale, "guidance-scale"), (.scenario, "scenario"),
      (.kernels, "kernels"), (.precision, "precision"),
    ] {
      var list = values.list(option)
      if let range = axis.range { list = try NumberList.parse(list, option: "--\(option) <list>", in: range).map(String.init) }
      try axes.set(axis, list)
    }
    if isFullSize, !axes.has(.steps) { try axes.set(.steps, ["4"]) }
    if values.flag("reduce-memory") == true { try axes.set(.reduceMemory, ["true"]) }
    for text in values.strings("param") {
      let pair = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard pair.count == 2, !pair[1].isEmpty else {
        throw UsageError("The value '\(text)' is invalid for '--param <key=list>': expected KEY=VALUE,VALUE")
      }
      let axis = try RunAxis(named: pair[0], option: "--param")
      let list = pair[1].split(separator: ",").map { $0.trimmingSpaces() }
      try axes.set(
        axis, try axis.range.map { try NumberList.parse(list, option: "--param", in: $0).map(String.init) } ?? list)
    }
    axes.included = try values.strings("include").map { try RunCombination(parsing: $0, option: "--include") }
    axes.excluded = try values.strings("exclude").map { try RunCombination(parsing: $0, option: "--exclude") }
    // After the variants' names were checked, which is what a mistyped one is told first.
    try ModelLocation.check(model: models.first, variant: variants.first, isFullSize: isFullSize)
    var options: [String: String] = [:]
    for name in RunRequest.optionNames { options[name] = values.string(name) }
    var request = try RunRequest(
      axes: axes, sides: try sides.map { try RunSide(parsing: $0) }, options: options, isFullSize: isFullSize)
    request.fixtures = values.string("fixtures")
    request.image = values.string("image")
    request.keepsImages = values.flag("images") ?? true
    return request
  }

  // MARK: - Running

  func run(_ context: CommandContext) async throws -> ProgramExit {
    if let kind = values.string("emit").flatMap({ JobFile.Kind(rawValue: $0) }) { return emit(kind, context) }
    if !values.strings("merge").isEmpty { return try merge(context) }
    let date = Date()
    let isDryRun = values.flag("dry-run") ?? false
    if values.string("suite") == "kernels" {
      let folder = URL(fileURLWithPath: values.string("out") ?? "Reports/kernels-\(RunFinisher.folderName(date))")
      let suite = try KernelSuite(values, folder: folder)
      return isDryRun ? try suite.show(context) : try suite.run(context)
    }
    let start = try start(context, date: date)
    if isDryRun { return try show(start.plan, keys: start.keys, context) }
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
    var execution = RunExecution(plan: start.plan, folder: start.folder, host: context)
    execution.keys = start.keys
    execution.shard = start.shard
    execution.labels = labels
    execution.fixtures = values.string("fixtures")
    execution.isIsolated = context.executable != nil && values.string("isolation") != "inline"
    execution.drawsFigures = values.flag("plots") ?? true
    execution.resumed = start.isResumed ? start.journal ?? .init(events: [], isTorn: false, wholeBytes: 0) : nil
    let run = try await execution.run(date: date)
    return (run, ProgramExit(run.exit))
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
    if !(values.flag("dry-run") ?? false) { try OutputFile.makeFolder(folder) }
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
        if case .runStart(_, _, let hash, let shard)? = journal.events.first?.content {
          start.shard = shard
          if hash != plan.hash {
            throw RunDocumentError(
              "the journal is of another plan (\(hash.prefix(8)), plan.json is \(plan.hash.prefix(8)))")
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
    return try RunSettings(request, suite: suite, defaults: defaults).plan(context)
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
    try OutputFile.makeFolder(out.path)
    for part in parts { try RunMerge.copyFiles(of: part, to: out) }
    try RunFiles(folder: out, host: context)
      .write(merged, drawsFigures: values.flag("plots") ?? true)
    context.console.print(
      values.flag("json") == true ? try merged.json().trimmingSpaces() : RunTable.markdown(merged).trimmingSpaces())
    context.console.say("Files are in \(out.path)")
    return ProgramExit(RunFinisher.exit(of: merged, signal: nil))
  }
}
