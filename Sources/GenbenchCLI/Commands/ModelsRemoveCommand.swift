import ModelRegistry
import Reporting
import Running

/// Deletes models.
struct ModelsRemoveCommand: Command {
  static let configuration = CommandDescription(
    name: "remove", abstract: "Delete the files of models, and forget them.",
    discussion: "Files that were registered with --in-place stay where they are.",
    arguments: [CommandArgument("id", "The models.", isRepeatable: true)],
    options: [.flag("keep-registration", "Delete the files only.")] + ModelStore.options)

  private let ids: [String]
  private let keepsRegistration: Bool
  private let store: String?
  private let fixtures: String?

  init(_ values: ParsedValues) throws(UsageError) {
    ids = values.positionals
    keepsRegistration = values.flag("keep-registration") ?? false
    store = values.string("store")
    fixtures = values.string("fixtures")
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let models = try ModelStore(store: store, fixtures: fixtures, environment: context.environment)
    for id in ids {
      guard let model = try models.registered(id) else {
        throw CommandError(.inputMissing, "'\(id)' isn't registered; see `genbench models list`")
      }
      let bytes = try models.registry.storage().models.first { $0.id == model.id }?.bytes ?? 0
      try models.registry.deleteModel(model.id)
      if !keepsRegistration { try models.registry.unregisterModel(model.id) }
      context.console.say("\(model.id): removed, \(Units.bytes(Double(bytes))) freed")
    }
    return .success
  }
}
