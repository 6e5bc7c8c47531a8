import Checkpoints
import Foundation
import Running
import Tensors
import Tokenizers
import VisionLanguageModels

/// Text to token ids.
struct TokenizeCommand: Command {
  static let configuration = CommandDescription(
    name: "tokenize", abstract: "Turn text into token ids.",
    discussion: "Ids come with the marks of beginning and end and are not cut; --max-length pads and cuts.",
    arguments: [CommandArgument("text", "Texts, each of which is one sequence.", isOptional: true, isRepeatable: true)],
    options: [
      .value(
        "tokenizer", "name", "clip, a folder with tokenizer.json or vocab.json and merges.txt, or a .gguf file.", default: "clip"),
      .value("jsonl", "file", "Read {\"text\": …} lines, print {\"ids\": […]} lines; - is stdin."),
      .value("max-length", "n", "Pad and cut to so many ids, keeping the end mark."),
      .value("fixtures", "dir", "The folder with CLIP's vocabulary.", default: "found by itself"),
      .flag("json", "Print {\"ids\": […]} lines for texts too."),
    ])

  private let tokenizer: String
  private let jsonl: String?
  private let maxLength: Int?
  private let fixtures: String?
  private let isJSON: Bool
  private let texts: [String]

  init(_ values: ParsedValues) throws(UsageError) {
    tokenizer = values.string("tokenizer") ?? "clip"
    jsonl = values.string("jsonl")
    maxLength = try values.int("max-length", in: 2...65_536)
    fixtures = values.string("fixtures")
    isJSON = values.flag("json") ?? false
    texts = values.positionals
    if texts.isEmpty, jsonl == nil { throw UsageError("Missing expected argument '<text>' (or '--jsonl <file>')") }
    if !texts.isEmpty, jsonl != nil { throw UsageError("Texts and --jsonl can't be given together") }
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let tokenizer = try openTokenizer(context)
    let clip = tokenizer as? CLIPTokenizer
    if maxLength != nil, clip == nil {
      throw CommandError(
        .usage, "--max-length: only CLIP's tokenizer pads and cuts, and \(self.tokenizer) is another one; leave it out")
    }
    func ids(_ text: String) throws -> [Int] {
      guard let maxLength, let clip else { return tokenizer.encode(text) }
      return try clip.encodePadded(text, maxLength: maxLength).ids
    }
    func line(_ ids: [Int]) -> String { JSONValue.object(["ids": .array(ids.map { .integer($0) })]).description }

    guard let jsonl else {
      for text in texts {
        let ids = try ids(text)
        context.console.print(isJSON ? line(ids) : ids.map(String.init).joined(separator: " "))
      }
      return .success
    }
    let lines = try Lines(path: jsonl)
    var output = ""
    for (number, bytes) in lines.numbered {
      guard case .string(let text)? = try Self.object(bytes, place: "\(jsonl), line \(number)")["text"] else {
        throw CommandError(.badInput, "\(jsonl), line \(number): expected an object with a string 'text'")
      }
      output += line(try ids(text)) + "\n"
      if output.utf8.count > 1 << 16 {
        context.console.printRaw(output)
        output = ""
        if context.cancellation.isCancelled { throw CommandError(.interrupted, "stopped after line \(number) of \(jsonl)") }
      }
    }
    context.console.printRaw(output)
    return .success
  }

  private func openTokenizer(_ context: CommandContext) throws -> any Tokenizer {
    if tokenizer == "clip" {
      let folder = try ModelLocation.fixtures(explicit: fixtures, environment: context.environment)
      return try CLIPTokenizer(folder: folder.appendingPathComponent("Models/clip-vocabulary"))
    }
    guard FileManager.default.fileExists(atPath: tokenizer) else {
      throw CommandError(
        .inputMissing,
        "--tokenizer \(tokenizer): no such file or folder; expected clip, a folder with tokenizer.json or vocab.json and merges.txt, "
          + "or a .gguf file")
    }
    if tokenizer.hasSuffix(".gguf") { return try ByteLevelBPETokenizer(gguf: GGUFFile(path: tokenizer)) }
    return try TokenizerLoader.load(URL(fileURLWithPath: tokenizer))
  }

  private static func object(_ bytes: [UInt8], place: String) throws -> [String: JSONValue] {
    let value = try bytes.withUnsafeBytes { try JSONValue(parsing: $0, file: place) }
    guard let object = value.object else {
      throw CommandError(.badInput, "\(place): expected a JSON object, found \(value.description.prefix(60))")
    }
    return object
  }
}

/// The lines of a file or of stdin (`-`), without the empty ones.
struct Lines {
  /// Line numbers from 1 and the bytes of each line.
  let numbered: [(number: Int, bytes: [UInt8])]

  init(path: String) throws {
    let data = try UserFile.content(path)
    numbered = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
      .map { (number: $0.offset + 1, bytes: Array($0.element)) }
      .filter { line in line.bytes.contains { $0 != 32 && $0 != 13 && $0 != 9 } }
  }
}
