import Foundation
import Imaging
import Tensors
import TestSupport
import Testing

/// The worked example: a program of its own.
struct GreetingCardTests {
  @Test func threeCardsAreWritten() throws {
    let folder = try TemporaryFolder()
    let run = try Self.run(["--out", folder.path("cards"), "--steps", "2"])
    #expect(run.status == 0, "\(run.text)")
    for (name, size) in [("landscape", (1682, 1374)), ("portrait", (1170, 1886)), ("square", (584, 686))] {
      let card = try ImageFile.read(path: folder.path("cards/\(name).png"))
      #expect((card.width, card.height) == size)
      // Paper at the corners, a picture in the middle.
      #expect(Array(card.samples.prefix(3)) == [252, 249, 242] && Array(card.samples.suffix(3)) == [252, 249, 242])
      let middle = card.cropped(x: card.width / 4, y: card.height / 4, width: card.width / 2, height: card.height / 4)
      #expect(Set(middle.samples).count > 50)
      // Ink in the caption.
      let caption = card.cropped(x: 0, y: card.height * 9 / 10, width: card.width, height: card.height / 20)
      #expect(caption.samples.contains { $0 < 80 })
      #expect(run.text.contains("\(name).png"))
    }
  }

  @Test func mistakesAreTold() throws {
    for words in [["--out"], ["--steps", "0"], ["--what", "x"], ["--model", "/no/such/model"]] {
      let run = try Self.run(words)
      #expect(run.status == 1 && run.text.hasPrefix("greeting-cards: "), "\(run.text)")
    }
  }

  private static func run(_ words: [String]) throws -> (status: Int32, text: String) {
    let tests = try #require(Bundle.main.executableURL)
    let process = Process()
    process.executableURL = tests.deletingLastPathComponent().appendingPathComponent("GreetingCardsExample")
    process.arguments = words
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }
}
