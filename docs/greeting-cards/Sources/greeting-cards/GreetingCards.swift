import Foundation
import GenBackend
import Imaging
import PlaygroundKit
import ReferenceEngine
import Tensors

/// Writes three greeting cards.
@main struct GreetingCards {
  static func main() async {
    do {
      let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
      let backend = try ReferenceBackend(options: ReferenceBackend.Options(clipVocabulary: arguments.vocabulary))
      let model = try await backend.load(LoadRequest(path: arguments.model), control: GenerationControl())
      var settings = ImagePlaygroundSystem.Settings()
      settings.steps = arguments.steps
      settings.seed = arguments.seed
      let system = ImagePlaygroundSystem(backend: backend, model: model, settings: settings)
      try FileManager.default.createDirectory(atPath: arguments.out, withIntermediateDirectories: true)
      for card in Card.all {
        let picture = try await CardMaker(system: system).make(card)
        let path = arguments.out + "/\(card.format.rawValue).png"
        try Data(PNGFile.encode(picture)).write(to: URL(fileURLWithPath: path), options: .atomic)
        print("\(path)  \(picture.width)x\(picture.height)  \(card.preset.initial)  \(card.theme)")
      }
    } catch {
      FileHandle.standardError.write(Data("greeting-cards: \(error)\n".utf8))
      exit(1)
    }
  }
}

/// What the program is told.
struct Arguments {
  struct Mistake: Error, CustomStringConvertible { var description: String }

  var out = "cards"
  var model: String
  var steps: Int? = 8
  var seed: UInt64 = 7
  var vocabulary: URL

  init(_ words: [String]) throws {
    // The small model of the checkout that this file is in.
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../../..")
      .standardizedFileURL
    model = root.appendingPathComponent("Fixtures/Models/sd15").path
    vocabulary = root.appendingPathComponent("Fixtures/Models/clip-vocabulary")
    var rest = words[...]
    while let name = rest.popFirst() {
      guard let value = rest.popFirst() else {
        throw Mistake(description: "\(name): expected a value; known are --out, --model, --steps, --seed")
      }
      switch name {
      case "--out": out = value
      case "--model": model = value
      case "--steps":
        guard let number = Int(value), number >= 1 else {
          throw Mistake(description: "--steps: expected a number, found '\(value)'")
        }
        steps = number
      case "--seed":
        guard let number = UInt64(value) else { throw Mistake(description: "--seed: expected a number, found '\(value)'") }
        seed = number
      default: throw Mistake(description: "\(name): unknown; known are --out, --model, --steps, --seed")
      }
    }
  }
}
