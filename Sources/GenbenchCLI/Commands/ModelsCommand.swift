/// Models: which there are, what they're made of, what they need, and how they come here.
struct ModelsCommand: Command {
  static let configuration = CommandDescription(
    name: "models", abstract: "List, show, plan, download, verify and remove models.",
    subcommands: [
      ModelsListCommand.self, ModelsShowCommand.self, ModelsPlanCommand.self, ModelsRegisterCommand.self,
      ModelsDownloadCommand.self, ModelsVerifyCommand.self, ModelsRemoveCommand.self,
    ], defaultSubcommand: "list")

  init(_ values: ParsedValues) throws(UsageError) { throw UsageError("Missing expected subcommand") }

  func run(_ context: CommandContext) async throws -> ProgramExit { .success }
}
