import Checkpoints
import ModelRegistry
import Reporting
import Running
import Tensors

/// Reads models again.
struct ModelsVerifyCommand: Command {
  static let configuration = CommandDescription(
    name: "verify", abstract: "Read the files of downloaded models and compare them with their checksums.",
    discussion: "Exits with 65 when a file is missing, of another size or of another content.",
    arguments: [
      CommandArgument("id", "The models; all that are downloaded when none is named.", isOptional: true, isRepeatable: true)
    ],
    options: [.flag("json", "Print JSON.")] + ModelStore.options)

  private let ids: [String]
  private let isJSON: Bool
  private let store: String?
  private let fixtures: String?

  init(_ values: ParsedValues) throws(UsageError) {
    ids = values.positionals
    isJSON = values.flag("json") ?? false
    store = values.string("store")
    fixtures = values.string("fixtures")
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let models = try ModelStore(store: store, fixtures: fixtures, environment: context.environment)
    let chosen = try ids.map { id in
      guard let model = try models.registered(id) else {
        throw CommandError(.inputMissing, "'\(id)' isn't registered; see `genbench models list`")
      }
      return model.id
    }
    let all = chosen.isEmpty ? try models.registry.availableModels().filter(\.isDownloaded).map(\.id) : chosen
    var damaged: [String] = []
    var rows: [JSONValue] = []
    for id in all {
      let display = ProgressDisplay("verify \(id)", total: 1000, console: context.console)
      let work = Task { try await models.registry.verifyModel(id) { display.update(done: Int($0 * 1000)) } }
      // Ctrl-C sets a flag; somebody has to look at it.
      let watch = Task {
        while !context.cancellation.isCancelled { try await Task.sleep(for: .milliseconds(50)) }
        work.cancel()
      }
      defer { watch.cancel() }
      let report = try await work.value
      display.finish()
      if !report.isIntact { damaged.append(id) }
      rows.append([
        "id": .string(id), "intact": .bool(report.isIntact), "files": .integer(report.fileCount), "bytes": .integer(report.bytes),
        "problems": .object(report.problems.mapValues { .string($0.rawValue) }),
      ])
      if isJSON { continue }
      context.console.print(
        "\(id): \(report.isIntact ? "intact" : "damaged"), \(report.fileCount) files, \(Units.bytes(Double(report.bytes)))")
      for (path, problem) in report.problems.sorted(by: { $0.key < $1.key }) {
        context.console.print("  \(path): \(Self.words[problem] ?? problem.rawValue)")
      }
    }
    if isJSON { context.console.print(JSONValue.array(rows).text()) }
    guard damaged.isEmpty else {
      return ProgramExit(
        .badInput, "damaged: \(damaged.joined(separator: ", ")); `genbench models remove` and download again")
    }
    return .success
  }

  private static let words: [VerificationReport.Problem: String] = [
    .missing: "missing", .wrongSize: "another size", .wrongChecksum: "another content",
    .foreignContent: "no model, though it's as it was installed",
  ]
}
