import BackendProtocol
import Checkpoints
import Foundation
import GenBackend
import Serving
import Synchronization
import Tensors
import TestSupport
import Testing

/// A backend served over pipes, spoken to line by line.
struct StdioServerTests {
  /// An engine of the test: it waits where it's told to.
  final class Engine: OperatorBackend {
    let unloaded = Mutex<[ModelID]>([])
    let closed = Mutex(false)

    var info: BackendInfo {
      BackendInfo(
        name: "test", version: "7", capabilities: [.textToImage, .trace], details: ["threads": "2", "device": "cpu", "isa": "x"])
    }

    func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo {
      if request.path == "/missing" { throw BackendError(.modelNotFound, "/missing: no such file") }
      return ModelInfo(
        id: ModelID("m"), variant: "sd15", capabilities: [.textToImage], nativeSizes: [ImageSize(width: 8, height: 8)])
    }

    func unload(_ model: ModelID) async { unloaded.withLock { $0.append(model) } }

    func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult {
      let time = MonotonicTime.nanoseconds()
      control.onEvent(.began(.step, index: 0, timeNs: time))
      while request.prompt == "wait" {
        if control.cancellation.isCancelled { throw BackendError(.cancelled, "stopped") }
        try await Task.sleep(for: .milliseconds(2))
      }
      control.onEvent(.ended(.step, index: 0, timeNs: time + 1))
      control.onEvent(.progress(step: 1, total: 1, timeNs: time + 2))
      control.onEvent(.warning("für \"alle\"\n🎈"))
      let bitmap = Bitmap(width: 8, height: 8, samples: [UInt8](repeating: 7, count: 192))
      control.onEvent(.preview(step: 1, image: bitmap, safety: .passed))
      if request.prompt == "not finite" {
        return ImageResult(images: [], scheduler: "ddim", steps: 1, guidanceScale: .infinity)
      }
      let latents = request.latents ?? Tensor(zeros: [1, 4, 1, 1])
      return ImageResult(
        images: [.init(bitmap: bitmap, safety: .filtered, seed: .max)], scheduler: "ddim", steps: 1, guidanceScale: 2,
        droppedTokens: 3, trace: ["latents.init": latents])
    }

    func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult {
      struct Strange: Error {}
      throw Strange()
    }

    var operators: [String] { ["negate"] }

    func compute(_ operation: String, attributes: String, inputs: [String: Tensor]) async throws -> OperatorResult {
      OperatorResult(outputs: inputs.mapValues { $0.map { -$0 } }, elapsedNs: attributes == #"{"a": 1}"# ? 5 : nil)
    }

    func close() async { closed.withLock { $0 = true } }
  }

  /// A client that sends raw lines.
  final class Client {
    let engine = Engine()
    let folder: TemporaryFolder
    private let toServer = Pipe()
    private let fromServer = Pipe()
    private var answers: AsyncStream<Data>.Iterator
    private let end: Task<StdioServer.End, Never>

    init() throws {
      folder = try TemporaryFolder()
      let server = StdioServer(
        engine, input: toServer.fileHandleForReading.fileDescriptor, output: fromServer.fileHandleForWriting.fileDescriptor)
      end = Task { await server.run() }
      // A thread that waits for lines: one of Swift's own pool would be missing to the server, which runs in this process.
      let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
      answers = stream.makeAsyncIterator()
      let descriptor = fromServer.fileHandleForReading.fileDescriptor
      Thread.detachNewThread {
        var lines = LineBuffer()
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
          let count = read(descriptor, &buffer, buffer.count)
          guard count > 0 else { break }
          lines.append(buffer[0..<count])
          while let line = try? lines.next() { continuation.yield(line) }
        }
        continuation.finish()
      }
    }

    deinit { try? fromServer.fileHandleForWriting.close() }

    func send(_ text: String) { toServer.fileHandleForWriting.write(Data((text + "\n").utf8)) }

    func hang() { try? toServer.fileHandleForWriting.close() }

    func finish() async -> StdioServer.End { await end.value }

    /// The next answer.
    func answer() async throws -> JSONValue {
      let line = try #require(await answers.next(), "the server closed its output")
      return try line.withUnsafeBytes { try JSONValue(parsing: $0, file: "answer") }
    }

    /// Sends a line and takes the next answer.
    func ask(_ text: String) async throws -> JSONValue {
      send(text)
      return try await answer()
    }

    func greet() async throws {
      let answer = try await ask(
        #"{"type": "hello", "id": 1, "protocols": ["x", "genbench.backend/1"], "client": {"name": "t", "version": "1"}, "exchange": "\#(folder.url.path)"}"#
      )
      #expect(answer["type"]?.string == "welcome")
    }

    /// The types of answers up to the reply, and the reply.
    func untilReply() async throws -> (events: [JSONValue], reply: JSONValue) {
      var events: [JSONValue] = []
      while true {
        let answer = try await answer()
        if ProtocolAnswer.Body.replyTypes.contains(answer["type"]?.string ?? "") { return (events, answer) }
        events.append(answer)
      }
    }
  }

  private func code(_ answer: JSONValue) -> String? { answer["type"]?.string == "error" ? answer["code"]?.string : nil }

  @Test func greets() async throws {
    let client = try Client()
    #expect(code(try await client.ask(#"{"type": "clock", "id": 1}"#)) == "invalid_input")
    let hello = #"{"type": "hello", "protocols": ["genbench.backend/1"], "client": {"name": "t", "version": "1"}, "#
    #expect(code(try await client.ask(hello + #""id": 2, "exchange": "relative"}"#)) == "invalid_input")
    #expect(code(try await client.ask(hello + #""id": 3, "exchange": "/nowhere"}"#)) == "invalid_input")
    let other = hello.replacing("backend/1", with: "backend/9")
    #expect(code(try await client.ask(other + #""id": 4, "exchange": "\#(client.folder.url.path)"}"#)) == "not_supported")
    let welcome = try await client.ask(hello + #""id": 5, "exchange": "\#(client.folder.url.path)", "new": {"key": 1}}"#)
    #expect(welcome["id"]?.int == 5 && welcome["protocol"]?.string == "genbench.backend/1")
    #expect(welcome["name"]?.string == "test" && welcome["version"]?.string == "7")
    #expect(welcome["threads"]?.int == 2 && welcome["device"]?.string == "cpu")
    #expect(welcome["details"] == ["isa": "x"] && welcome["ops"] == ["negate"])
    #expect(code(try await client.ask(hello + #""id": 6, "exchange": "\#(client.folder.url.path)"}"#)) == "invalid_input")
    client.hang()
    #expect(await client.finish() == .closed)
    #expect(client.engine.closed.withLock { $0 })
  }

  @Test func answersWhatCanNotBeRead() async throws {
    let client = try Client()
    try await client.greet()
    for line in [
      "", "{", "[]", "5", #"{"id": 2}"#, #"{"type": "clock"}"#, #"{"type": "clock", "id": "2"}"#, #"{"type": 1, "id": 2}"#,
    ] {
      let answer = try await client.ask(line)
      #expect(code(answer) == "invalid_input" && answer["id"] == .null, "\(line)")
    }
    let long = try await client.ask(#"{"type": "clock", "id": 2, "x": ""# + String(repeating: "x", count: 1 << 20) + #""}"#)
    #expect(code(long) == "invalid_input" && long["id"] == .null)
    #expect(code(try await client.ask(#"{"type": "clock", "id": 1}"#)) == "invalid_input")
    let unknown = try await client.ask(#"{"type": "sing", "id": 3}"#)
    #expect(code(unknown) == "not_supported" && unknown["id"]?.int == 3)
    let missing = try await client.ask(#"{"type": "load", "id": 4}"#)
    #expect(code(missing) == "invalid_input" && missing["message"]?.string?.contains("'path'") == true)
    #expect(code(try await client.ask(#"{"type": "load", "id": 5, "path": 5}"#)) == "invalid_input")
    #expect(code(try await client.ask(#"{"type": "load", "id": 6, "path": "/x", "safety": "maybe"}"#)) == "invalid_input")
    #expect(code(try await client.ask(#"{"type": "load", "id": 7, "path": "/missing"}"#)) == "model_not_found")
    let clock = try await client.ask(#"{"type": "clock", "id": 8}"#)
    #expect((clock["time_ns"]?.int ?? 0) > 0)
    #expect(try await client.ask(#"{"type": "cancel", "id": 9, "target": 77}"#)["type"]?.string == "ok")
    #expect(try await client.ask(#"{"type": "bye", "id": 10}"#) == ["type": "ok", "id": 10])
    #expect(await client.finish() == .bye)
  }

  @Test func makesImages() async throws {
    let client = try Client()
    try await client.greet()
    #expect(try await client.ask(#"{"type": "load", "id": 2, "path": "/x"}"#)["model"]?["id"]?.string == "m")
    let file = client.folder.path("c1.safetensors")
    let noise = Tensor([1, -2, 3, 4], shape: [1, 4, 1, 1])
    try SafetensorsWriter.write(["n": noise], to: file)
    client.send(
      #"{"type": "generate_images", "id": 3, "model": "m", "prompt": "x", "latents": {"file": "c1.safetensors", "tensor": "n"}}"#)
    let (events, reply) = try await client.untilReply()
    #expect(events.map { $0["type"]?.string } == ["stage", "stage", "progress", "warning", "preview"])
    #expect(events.allSatisfy { $0["id"]?.int == 3 })
    #expect(events[3]["message"]?.string == "für \"alle\"\n🎈")
    #expect(reply["type"]?.string == "images" && reply["dropped_tokens"]?.int == 3 && reply["steps"]?.int == 1)
    let image = try #require(reply["images"]?.array?.first)
    #expect(image["safety"]?.string == "filtered")
    let pixels = try SafetensorsFile(path: client.folder.path(try #require(image["image"]?["file"]?.string)))
    #expect(pixels.weight(named: "image")?.shape == [8, 8, 3] && pixels.weight(named: "image")?.dtype == .u8)
    let trace = try SafetensorsFile(path: client.folder.path(try #require(reply["trace"]?.string)))
    #expect(trace.weight(named: "latents.init")?.float32().elements == noise.elements)
    // What was read is gone.
    #expect(!FileManager.default.fileExists(atPath: file))
    for (id, reference) in [(4, "../c1.safetensors"), (5, "none.safetensors"), (6, ""), (7, "..")] {
      let answer = try await client.ask(
        #"{"type": "generate_images", "id": \#(id), "model": "m", "prompt": "x", "latents": {"file": "\#(reference)", "tensor": "n"}}"#
      )
      #expect(code(answer) == "invalid_input", "\(reference)")
    }
    client.send(#"{"type": "generate_images", "id": 8, "model": "m", "prompt": "not finite"}"#)
    #expect(code(try await client.untilReply().reply) == "processing_failed")
    #expect(
      code(try await client.ask(#"{"type": "generate_text", "id": 9, "model": "m", "prompt": "x"}"#)) == "processing_failed")
    client.hang()
    _ = await client.finish()
  }

  @Test func cancelsAndIsBusy() async throws {
    let client = try Client()
    try await client.greet()
    client.send(#"{"type": "generate_images", "id": 2, "model": "m", "prompt": "wait"}"#)
    #expect(try await client.answer()["type"]?.string == "stage")
    #expect(code(try await client.ask(#"{"type": "load", "id": 3, "path": "/x"}"#)) == "busy")
    #expect(try await client.ask(#"{"type": "clock", "id": 4}"#)["id"]?.int == 4)
    client.send(#"{"type": "cancel", "id": 5, "target": 2}"#)
    let answers = [try await client.answer(), try await client.answer()]
    #expect(Set(answers.map { $0["id"]?.int }) == [2, 5])
    #expect(answers.contains { code($0) == "cancelled" })

    client.send(#"{"type": "generate_images", "id": 6, "model": "m", "prompt": "wait"}"#)
    #expect(try await client.answer()["type"]?.string == "stage")
    client.send(#"{"type": "unload", "id": 7, "model": "m"}"#)
    let more = [try await client.answer(), try await client.answer()]
    #expect(code(more[0]) == "cancelled" && more[1] == ["type": "ok", "id": 7])
    #expect(client.engine.unloaded.withLock { $0 } == [ModelID("m")])

    client.send(#"{"type": "generate_images", "id": 8, "model": "m", "prompt": "wait"}"#)
    #expect(try await client.answer()["type"]?.string == "stage")
    client.send(#"{"type": "bye", "id": 9}"#)
    #expect(code(try await client.answer()) == "cancelled")
    #expect(try await client.answer() == ["type": "ok", "id": 9])
    #expect(await client.finish() == .bye)
  }

  @Test func computesOperators() async throws {
    let client = try Client()
    try await client.greet()
    try SafetensorsWriter.write(["x": Tensor([1, 2], shape: [2])], to: client.folder.path("in"))
    let answer = try await client.ask(#"{"type": "op", "id": 2, "op": "negate", "attributes": {"a": 1}, "inputs": "in"}"#)
    #expect(answer["elapsed_ns"]?.int == 5)
    let outputs = try SafetensorsFile(path: client.folder.path(try #require(answer["outputs"]?.string)))
    #expect(outputs.weight(named: "x")?.float32().elements == [-1, -2])
    client.hang()
    _ = await client.finish()
  }

  @Test func endsWhenTheClientIsGone() async throws {
    let client = try Client()
    try await client.greet()
    client.send(#"{"type": "generate_images", "id": 2, "model": "m", "prompt": "wait"}"#)
    #expect(try await client.answer()["type"]?.string == "stage")
    client.hang()
    #expect(code(try await client.answer()) == "cancelled")
    #expect(await client.finish() == .closed)
  }
}
