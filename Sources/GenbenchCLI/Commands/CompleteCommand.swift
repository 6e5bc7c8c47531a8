import GenBackend
import Running

/// Makes text from text.
struct CompleteCommand: Command {
  static let configuration = CommandDescription(
    name: "complete", abstract: "Answer or continue a prompt with a language model.",
    discussion:
      "The answer goes to stdout as its tokens come. Without --raw the prompt is one turn of the model's chat template.",
    options: [
      .value("prompt", short: "p", "text", "What to answer or continue.", isRequired: true),
      .value(
        "model", short: "m", "path|id", "The language model, a .gguf file or a downloaded model's id.", isRequired: true,
        section: "MODEL"),
      .flag("raw", "Take the prompt as it is, without the chat template."),
      .flag("json", "Print the result as JSON."),
    ] + TextOptions.sampling + BackendSpecification.options)

  private let model: String
  private let prompt: String
  private let isRaw: Bool
  private let options: TextOptions

  init(_ values: ParsedValues) throws(UsageError) {
    model = values.string("model") ?? ""
    prompt = values.string("prompt") ?? ""
    isRaw = values.flag("raw") ?? false
    options = try TextOptions(values)
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let path = try ModelLocation.user(model, variant: nil, environment: context.environment).path
    return try await options.run(
      LoadRequest(path: path), request: TextRequest(model: ModelID(""), prompt: prompt, isRaw: isRaw), context)
  }
}
