/// The root of all commands.
struct GenbenchCommand: Command {
  static let configuration = CommandDescription(
    name: "genbench", abstract: "Judge and measure engines that make images or text on the device.",
    discussion: """
      Results go to stdout, talk to stderr. Without files at hand everything runs on the small models of the repository.
      """,
    subcommands: [
      RunCommand.self, ConformCommand.self, CompareCommand.self, BaselineCommand.self, CalibrateCommand.self, ReportCommand.self,
      PlotCommand.self, HistoryCommand.self, DiffCommand.self, DoctorCommand.self, SchemaCommand.self, GenerateCommand.self,
      DescribeCommand.self, CompleteCommand.self, ServeStdioCommand.self, TokenizeCommand.self,
      ScheduleCommand.self, LatentsCommand.self, ModelsCommand.self,
    ],
    defaultSubcommand: "run")

  init(_ values: ParsedValues) throws(UsageError) { throw UsageError("Missing expected subcommand") }

  func run(_ context: CommandContext) async throws -> ProgramExit { .success }
}
