import Reporting
import Running

/// Prints JSON Schemas.
struct SchemaCommand: Command {
  static let configuration = CommandDescription(
    name: "schema", abstract: "Print the JSON Schema of a file format; without a name, the names.",
    arguments: [CommandArgument("name", SchemaName.allCases.map(\.rawValue).joined(separator: ", ") + ".", isOptional: true)],
    options: [])

  private let name: SchemaName?

  init(_ values: ParsedValues) throws(UsageError) {
    guard let word = values.positionals.first else {
      name = nil
      return
    }
    let known = SchemaName.allCases.map(\.rawValue)
    guard let name = SchemaName(rawValue: word) else {
      throw UsageError(
        "Unknown schema '\(word)'\(Suggestion.text(for: word, among: known)) (schemas: \(known.joined(separator: ", ")))")
    }
    self.name = name
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    if let name {
      context.console.printRaw(name.text)
    } else {
      context.console.print(SchemaName.allCases.map(\.rawValue).joined(separator: "\n"))
    }
    return .success
  }
}
