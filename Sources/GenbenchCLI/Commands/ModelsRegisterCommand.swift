import Checkpoints
import Foundation
import ModelRegistry
import Running

/// Makes a model known.
struct ModelsRegisterCommand: Command {
  static let configuration = CommandDescription(
    name: "register", abstract: "Make a model known under an id: addresses, or files and folders of this machine.",
    discussion: """
      A location is an https, http or file address, or a path. One location is a file, an archive (.zip, .tar.gz, .tgz, .tar.bz2, \
      .tar.xz) or a folder; several are the files of one model, the main one first and the projector of a vision-language model \
      second. Nothing is transferred yet: `genbench models download ID` does that. With --in-place the files stay where they are.
      """,
    arguments: [
      CommandArgument("id", "The id for --model and the other commands."),
      CommandArgument("location", "Where it is.", isRepeatable: true),
    ],
    options: [
      .value("name", "text", "The name for people.", default: "the id"),
      .value(
        "framework", "name", "What runs it.", default: "llamaCpp for .gguf, else diffusers",
        values: ModelFramework.allCases.map(\.rawValue)),
      .value(
        "modality", "name", "What it takes and makes.", default: "told by the files",
        values: ModelModality.allCases.map(\.rawValue)),
      .value("sha256", "hex", "The checksum of a location, once for each and in their order.", isRepeatable: true),
      .value("memory", "bytes", "The memory that it needs when it's loaded."),
      .flag("in-place", "Use files of this machine where they are, without copying."),
      .flag("json", "Print JSON."),
    ] + ModelStore.options)

  private let id: String
  private let locations: [String]
  private let name: String
  private let framework: ModelFramework?
  private let modality: ModelModality?
  private let sums: [String]
  private let memory: Int?
  private let isInPlace: Bool
  private let isJSON: Bool
  private let store: String?
  private let fixtures: String?

  init(_ values: ParsedValues) throws(UsageError) {
    id = values.positionals.first ?? ""
    locations = Array(values.positionals.dropFirst())
    name = values.string("name") ?? id
    framework = values.string("framework").flatMap { ModelFramework(rawValue: $0) }
    modality = values.string("modality").flatMap { ModelModality(rawValue: $0) }
    sums = values.strings("sha256")
    memory = try values.int("memory", in: 1...Int.max)
    isInPlace = values.flag("in-place") ?? false
    isJSON = values.flag("json") ?? false
    store = values.string("store")
    fixtures = values.string("fixtures")
    guard sums.isEmpty || sums.count == locations.count else {
      throw UsageError(
        "--sha256 was given \(sums.count) times for \(locations.count) locations; give one for each, in their order")
    }
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let models = try ModelStore(store: store, fixtures: fixtures, environment: context.environment)
    let urls = try locations.map(url)
    let isGGUF = urls.allSatisfy { $0.lastPathComponent.lowercased().hasSuffix(".gguf") }
    let files = urls.enumerated().map { index, url in
      ModelFileDescriptor(
        url: url, filename: url.lastPathComponent.isEmpty ? "model" : url.lastPathComponent,
        sha256: sums.isEmpty ? nil : sums[index])
    }
    let type: ModelArtifactType =
      isInPlace ? .builtIn : urls.count > 1 ? .multiFile : ModelRegistration.artifactType(of: urls[0])
    let model = try models.registry.register(
      ModelRegistration(
        id: id, name: name, framework: framework ?? (isGGUF ? .llamaCpp : .diffusers),
        modality: modality ?? (isGGUF ? (urls.count > 1 ? .multimodal : .language) : .imageGeneration), artifactType: type,
        files: files, memoryRequirement: memory))
    if isJSON { context.console.print(ModelRow(model).json().text()) }
    context.console.say(
      model.isDownloaded ? "registered; use it as --model \(id)" : "registered; get it with `genbench models download \(id)`")
    return .success
  }

  private func url(_ location: String) throws -> URL {
    if location.contains("://"), let url = URL(string: location) {
      if url.isFileURL, !FileManager.default.fileExists(atPath: url.path) {
        throw CommandError(.inputMissing, "\(location): no such file or folder")
      }
      return url
    }
    guard FileManager.default.fileExists(atPath: location) else {
      throw CommandError(.inputMissing, "\(location): no such file or folder; addresses begin with https://")
    }
    return URL(fileURLWithPath: location).standardizedFileURL
  }
}
