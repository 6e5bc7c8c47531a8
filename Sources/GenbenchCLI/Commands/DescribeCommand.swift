import Foundation
import GenBackend
import Imaging
import Running

/// Makes text from an image and text.
struct DescribeCommand: Command {
  static let configuration = CommandDescription(
    name: "describe", abstract: "Answer a prompt about an image with a vision-language model.",
    discussion: """
      The answer goes to stdout as its tokens come. A vision-language model is two .gguf files: the language model and its \
      projector, which llama.cpp's converter calls mmproj.
      """,
    options: [
      .value("image", short: "i", "file", "A PNG or JPEG; transparent parts are white.", isRequired: true),
      .value("prompt", short: "p", "text", "What to tell of it.", default: "Describe this image."),
      .value("model", short: "m", "path|id", "The language model, a .gguf file or a downloaded model's id.", section: "MODEL"),
      .value("mmproj", "path", "Its projector, a .gguf file; a downloaded model brings its own.", section: "MODEL"),
      .value(
        "variant", "name", "The family; without --model, the repository's small model of it.", default: "smolvlm",
        values: ["smolvlm", "qwen2vl"],
        section: "MODEL"),
      .value("fixtures", "dir", "The folder with the small models.", default: "found by itself", section: "MODEL"),
      .flag("raw", "Take the prompt as it is, the image's marker in it, without the chat template."),
      .flag("json", "Print the result as JSON."),
    ] + TextOptions.sampling + BackendSpecification.options)

  private let image: String
  private let prompt: String
  private let model: String?
  private let projector: String?
  private let variant: String?
  private let fixtures: String?
  private let isRaw: Bool
  private let options: TextOptions

  init(_ values: ParsedValues) throws(UsageError) {
    image = values.string("image") ?? ""
    prompt = values.string("prompt") ?? "Describe this image."
    model = values.string("model")
    projector = values.string("mmproj")
    variant = values.string("variant") ?? (model == nil ? "smolvlm" : nil)
    fixtures = values.string("fixtures")
    isRaw = values.flag("raw") ?? false
    options = try TextOptions(values)
    if model == nil, projector != nil { throw UsageError("--mmproj needs --model, the language model that it belongs to") }
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    var load: LoadRequest
    if let model {
      let location = try ModelLocation.user(model, variant: nil, environment: context.environment)
      guard let projector = projector ?? location.projectorPath else {
        throw CommandError(
          .usage, "Missing expected argument '--mmproj <path>': without its projector a language model sees no image")
      }
      load = LoadRequest(path: location.path, projectorPath: projector, variant: variant)
      guard FileManager.default.fileExists(atPath: projector) else {
        throw CommandError(.inputMissing, "--mmproj \(projector): no such file; expected the model's projector, a .gguf file")
      }
    } else {
      let folder = try ModelLocation.fixtures(explicit: fixtures, environment: context.environment)
        .appendingPathComponent("Models/\(variant ?? "")")
      load = LoadRequest(
        path: folder.appendingPathComponent("model.gguf").path, projectorPath: folder.appendingPathComponent("mmproj.gguf").path)
    }
    let bitmap = try ImageFile.read(path: image).rgbOnWhite()
    let request = TextRequest(model: ModelID(""), prompt: prompt, isRaw: isRaw, image: bitmap)
    return try await options.run(load, request: request, context)
  }
}
