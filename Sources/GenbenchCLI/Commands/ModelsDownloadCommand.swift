import Checkpoints
import Foundation
import GenBackend
import ModelRegistry
import Reporting
import Tensors

/// Brings models here.
struct ModelsDownloadCommand: Command {
  static let configuration = CommandDescription(
    name: "download", abstract: "Download models of the catalogue, or ones that were registered.",
    discussion: """
      Goes on where an earlier download stopped, retries what fails, checks sizes and checksums, and puts a model in place only \
      when it's complete. Prints the path of each model.
      """,
    arguments: [CommandArgument("id", "A model of `genbench models list`.", isRepeatable: true)],
    options: [
      .value("retries", "n", "Attempts in a row that may fail.", default: "3"), .flag("json", "Print JSON."),
    ] + ModelStore.options)

  private let ids: [String]
  private let retries: Int
  private let isJSON: Bool
  private let store: String?
  private let fixtures: String?

  init(_ values: ParsedValues) throws(UsageError) {
    ids = values.positionals
    retries = try values.int("retries", in: 0...1000) ?? 3
    isJSON = values.flag("json") ?? false
    store = values.string("store")
    fixtures = values.string("fixtures")
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let models = try ModelStore(
      store: store, fixtures: fixtures, environment: context.environment, policy: DownloadPolicy(retries: retries))
    // All of them are looked up before the first is transferred.
    let wanted = try ids.map { try models.resolve($0) }
    var rows: [JSONValue] = []
    for model in wanted {
      if !model.isDownloaded, let entry = models.entry(model.id) {
        context.console.say("\(entry.registration.name): licence \(entry.license), see \(entry.page)")
      }
      let here = try await download(model.id, from: models.registry, context)
      rows.append(ModelRow(here).json())
      if !isJSON { context.console.print(here.localPath?.path ?? "") }
    }
    if isJSON { context.console.print(rows.count == 1 ? rows[0].text() : JSONValue.array(rows).text()) }
    return .success
  }

  private func download(_ id: String, from registry: ModelRegistry, _ context: CommandContext) async throws -> ModelDescriptor {
    let display = TransferDisplay(id, console: context.console)
    defer { display.finish() }
    let events = try registry.downloadEvents(id)
    // Ctrl-C sets a flag; somebody has to look at it.
    let watch = Task {
      while !context.cancellation.isCancelled { try await Task.sleep(for: .milliseconds(50)) }
      registry.cancelDownload(id)
    }
    defer { watch.cancel() }
    for await event in events {
      switch event.kind {
      case .started: break
      case .progress(let progress): display.show(progress)
      case .retrying(let attempt, let reason, let delay):
        context.console.say("\(id): \(reason.message); retry \(attempt) in \(Units.significant(delay, digits: 2)) s")
      case .waiting: context.console.say("\(id): another process is downloading it; waiting")
      case .note(let text): context.console.say("\(id): \(text)")
      case .completed(let model): return model
      case .failed(let error): throw error
      case .cancelled: break
      }
    }
    throw RegistryError(.cancelled, "\(id): stopped; the same command goes on where it stopped")
  }
}
