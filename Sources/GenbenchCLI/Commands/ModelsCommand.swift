/// Models: which there are, what they're made of, what they need.
struct ModelsCommand: Command {
  static let configuration = CommandDescription(
    name: "models", abstract: "List models, show what they are made of, plan what they need.",
    subcommands: [ModelsListCommand.self, ModelsShowCommand.self, ModelsPlanCommand.self], defaultSubcommand: "list")

  init(_ values: ParsedValues) throws(UsageError) { throw UsageError("Missing expected subcommand") }

  func run(_ context: CommandContext) async throws -> ProgramExit { .success }
}
