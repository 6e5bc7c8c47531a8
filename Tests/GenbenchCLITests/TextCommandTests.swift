import Foundation
import GenbenchCLI
import Imaging
import Tensors
import TestSupport
import Testing

/// `describe` and `complete` with the engine in the box and the small models.
struct TextCommandTests {
  private let folder: TestSupport.TemporaryFolder
  private let image: String

  init() throws {
    folder = try TestSupport.TemporaryFolder()
    let samples = (0..<(30 * 20 * 3)).map { UInt8($0 * 7 % 256) }
    image = try folder.write(try PNGFile.encode(Bitmap(width: 30, height: 20, samples: samples)), to: "image.png")
  }

  private func model(_ variant: String, _ name: String) -> String {
    Fixtures.folder.appendingPathComponent("TestModels/\(variant)/\(name).gguf").path
  }

  @Test(arguments: ["smolvlm", "qwen2vl"])
  func describePrintsTheContract(_ variant: String) async throws {
    let result = await genbench(
      "describe", "--variant", variant, "--image", image, "--prompt", "a fox", "--max-tokens", "4", "--json", backend: nil)
    #expect(result.status.code == 0, "\(result.err)")
    let json = try result.json()
    #expect((json["ids"] as? [Int])?.count ?? 0 <= 4)
    #expect((json["prompt_ids"] as? [Int])?.isEmpty == false)
    #expect(["stop", "length"].contains(json["finish_reason"] as? String))
    #expect(json["text"] is String)
    #expect((json["ttft_ns"] as? Int) ?? 0 > 0)
    #expect(json.keys.contains("decode_tokens_per_s") && json.keys.contains("prefill_tokens_per_s"))

    let own = Fixtures.folder.appendingPathComponent("Models/\(variant)").path
    let files = await genbench(
      "describe", "--model", own + "/model.gguf", "--mmproj", own + "/mmproj.gguf", "--image", image, "--prompt", "a fox",
      "--max-tokens", "4", backend: nil)
    #expect(files.status.code == 0)
    #expect(files.out == (json["text"] as? String ?? "") + "\n")
    #expect(files.err.contains("prompt tokens"))
  }

  @Test func theTrainedModelIsTheDefault() async throws {
    let told = await genbench("describe", "--image", image, "--max-tokens", "3", backend: nil)
    let named = await genbench("describe", "--variant", "smolvlm", "--image", image, "--max-tokens", "3", backend: nil)
    #expect(told.status.code == 0 && !told.out.isEmpty && told.out == named.out)
  }

  @Test func completeContinuesAndAnswers() async throws {
    let words = ["complete", "--model", model("smolvlm", "model"), "--prompt", "a fox", "--max-tokens", "3", "--json"]
    let chat = await genbench(words, backend: nil)
    let raw = await genbench(words + ["--raw"], backend: nil)
    let (chatIDs, rawIDs) = (try chat.json()["prompt_ids"] as? [Int] ?? [], try raw.json()["prompt_ids"] as? [Int] ?? [])
    #expect(chat.status.code == 0 && raw.status.code == 0)
    #expect(!rawIDs.isEmpty && chatIDs.count > rawIDs.count)
  }

  @Test func mistakesHaveTheirExitCodes() async throws {
    let (main, projector) = (model("smolvlm", "model"), model("smolvlm", "mmproj"))
    let junk = try folder.write(Array("not an image".utf8), to: "junk.png")
    let cut = try folder.write(try Data(contentsOf: URL(fileURLWithPath: main)).prefix(2000), to: "cut.gguf")
    let cases: [([String], Int32, String)] = [
      (["describe", "--model", main, "--image", image, "--prompt", "x"], 64, "--mmproj"),
      (["describe", "--mmproj", projector, "--image", image], 64, "--model"),
      (["describe", "--variant", "smolvlm", "--prompt", "x"], 64, "--image"),
      (["describe", "--variant", "smolvlm", "--image", image, "--max-tokens", "0"], 64, "--max-tokens"),
      (["describe", "--variant", "smolvlm", "--image", image, "--temperature", "nan"], 64, "--temperature"),
      (["describe", "--variant", "smolvlm", "--image", folder.path("none.png")], 66, "none.png"),
      (["describe", "--variant", "smolvlm", "--image", junk], 65, "junk.png"),
      (["describe", "--model", main, "--mmproj", folder.path("none.gguf"), "--image", image], 66, "none.gguf"),
      (["describe", "--model", projector, "--mmproj", main, "--image", image], 65, "is a projector"),
      (["describe", "--model", main, "--mmproj", model("qwen2vl", "mmproj"), "--image", image], 65, "don't belong together"),
      (["describe", "--variant", "smolvlm", "--image", image, "--prompt", "<image>"], 64, "2 times"),
      (["complete", "--model", projector, "--prompt", "x"], 65, "is a projector"),
      (["complete", "--model", cut, "--prompt", "x"], 65, "cut.gguf"),
      (["complete", "--model", folder.path("none.gguf"), "--prompt", "x"], 66, "none.gguf"),
      (["complete", "--model", main, "--prompt", String(repeating: "fox ", count: 400)], 64, "context holds 256"),
      (["complete", "--model", main], 64, "--prompt"),
    ]
    for (words, code, expected) in cases {
      let result = await genbench(words, backend: nil)
      #expect(result.status.code == code, "\(words): \(result.err)")
      #expect(result.err.contains(expected), "\(words): \(result.err)")
      #expect(result.out.isEmpty, "\(words)")
    }
  }
}
