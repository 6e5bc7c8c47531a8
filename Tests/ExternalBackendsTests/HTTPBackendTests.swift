import Checkpoints
import Foundation
import GenBackend
import Tensors
import TestSupport
import Testing

@testable import ExternalBackends

/// A server of the test, on this machine alone; ends with the object.
final class TestServer {
  let endpoint: HTTPEndpoint
  private let process = Process()
  private let input = Pipe()

  init(_ mistake: String = "none", at path: String = "", settings: String = "") async throws {
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    let script = Fixtures.packageFolder.appendingPathComponent("Tests/ExternalBackendsTests/Engines/server.py").path
    process.arguments = ["python3", script, mistake, path]
    process.standardInput = input
    process.standardOutput = output
    process.standardError = Pipe()
    try process.run()
    // A thread that waits for the port: one of Swift's own pool is missing to all other tests.
    let port: String = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        var line = Data()
        while !line.contains(UInt8(ascii: "\n")) {
          let more = output.fileHandleForReading.availableData
          if more.isEmpty { break }
          line += more
        }
        continuation.resume(returning: String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
      }
    }
    try #require(!port.isEmpty, "the server didn't start")
    endpoint = try HTTPEndpoint("127.0.0.1:\(port)\(settings)")
  }

  deinit { try? input.fileHandleForWriting.close() }

  /// The bodies of all POST requests so far.
  func bodies() async throws -> [JSONValue] {
    try await HTTPClient(endpoint: endpoint, limits: .patient).json(.init(path: "/bodies")).array ?? []
  }
}

extension HTTPLimits {
  /// Long enough for a busy machine.
  static let patient = HTTPLimits(connectNs: 120_000_000_000, silenceNs: 240_000_000_000, timeoutNs: 300_000_000_000)
}

/// Engines behind servers, well-behaved.
@Suite(.enabled(if: TestEngine.isThere, "python3 isn't installed"), .timeLimit(.minutes(15)))
struct HTTPBackendTests {
  private func pixels(_ seed: Int, _ width: Int, _ height: Int) -> Bitmap {
    var samples: [UInt8] = []
    for y in 0..<height { for x in 0..<(width * 3) { samples.append(UInt8((seed * 31 + 7 * x + 13 * y) % 256)) } }
    return Bitmap(width: width, height: height, samples: samples)
  }

  private func control() -> GenerationControl { GenerationControl() }

  @Test func sdServer() async throws {
    let server = try await TestServer()
    let backend = SDServerBackend(server.endpoint, limits: .patient)
    #expect(try await backend.info.name == "stable-diffusion.cpp")
    let model = try await backend.load(LoadRequest(path: "/x/small.safetensors", variant: .sd15), control: control())
    #expect(model.nativeSizes == [ImageSize(width: 64, height: 32)] && model.defaultSteps == 12)
    #expect(model.defaultScheduler == "euler_a" && model.defaultGuidanceScale == 6.5)
    var request = ImageRequest(model: model.id, prompt: "a \"naïve\" 🎈")
    request.negativePrompt = "dark"
    request.size = ImageSize(width: 24, height: 16)
    request.seed = 7
    request.steps = 5
    request.guidanceScale = 3.5
    request.scheduler = SchedulerName(.dpmpp2M, sigmaSpacing: .karras)
    request.imageCount = 2
    request.clipSkip = 1
    request.image = Tensor(repeating: 0.5, shape: [1, 3, 16, 24])
    request.strength = 0.25
    let result = try await backend.generateImages(request, control: control())
    #expect(result.images.map(\.bitmap) == [pixels(7, 24, 16), pixels(8, 24, 16)] && result.images.map(\.seed) == [7, 8])
    #expect(result.scheduler == "dpmpp_2m_karras" && result.steps == 5 && result.guidanceScale == 3.5)
    #expect(result.unavailable["progress"] != nil)
    let body = try #require(try await server.bodies().first?["body"])
    #expect(body["sample_params"]?["sample_method"] == "dpm++2m" && body["sample_params"]?["scheduler"] == "karras")
    #expect(body["sample_params"]?["sample_steps"]?.int == 5 && body["sample_params"]?["guidance"]?["txt_cfg"]?.double == 3.5)
    #expect(body["prompt"]?.string == "a \"naïve\" 🎈" && body["negative_prompt"] == "dark" && body["clip_skip"]?.int == 2)
    #expect(body["batch_count"]?.int == 2 && body["seed"]?.int == 7 && body["strength"]?.double == 0.25)
    #expect(body["init_image"]?.string?.isEmpty == false && body["mask_image"] == nil)
    await backend.unload(model.id)
    await expectFailure(.notLoaded) { try await backend.generateImages(request, control: control()) }
    await expectFailure(.notSupported) {
      try await backend.generateText(TextRequest(model: model.id, prompt: "x"), control: control())
    }
    if case .elsewhere = backend.workPlace {} else { Issue.record("a server's memory isn't this process's") }
  }

  @Test func refusesWhatAServerCanNotBeTold() async throws {
    let server = try await TestServer()
    let backend = SDServerBackend(server.endpoint, limits: .patient)
    let model = try await backend.load(LoadRequest(path: "/x/small.safetensors"), control: control())
    let changes: [@Sendable (inout ImageRequest) -> Void] = [
      { $0.latents = Tensor(zeros: [1, 4, 8, 8]) }, { $0.traceLevel = .step }, { $0.previewStride = 1 },
      { $0.guidanceRescale = 0.5 },
      { $0.scheduler = SchedulerName(.pndm) }, { $0.scheduler = SchedulerName(.ddim) }, { $0.randomSource = .philox },
      { $0.timestepSpacing = .leading },
      { $0.seed = .max }, { $0.longPrompt = .error },
    ]
    for (index, change) in changes.enumerated() {
      var request = ImageRequest(model: model.id, prompt: "x")
      change(&request)
      let error = await failure { [request] in try await backend.generateImages(request, control: control()) }
      #expect(error?.code == .notSupported, "\(index)")
    }
    #expect(try await server.bodies().isEmpty)
    var loads = [LoadRequest(path: "/x/other.safetensors"): BackendError.Code.modelNotFound]
    loads[LoadRequest(path: "/x/small.safetensors", reduceMemory: true)] = .notSupported
    loads[LoadRequest(path: "/x/small.safetensors", predictionType: .epsilon)] = .notSupported
    loads[LoadRequest(path: "/x/small.safetensors", safety: .required)] = .notSupported
    for (load, code) in loads {
      await expectFailure(code) { try await backend.load(load, control: control()) }
    }
    // The user may say that the server calls the same model by another name.
    var endpoint = server.endpoint
    endpoint.model = "small"
    _ = try await SDServerBackend(endpoint, limits: .patient).load(LoadRequest(path: "/x/folder"), control: control())
    endpoint.model = "large"
    await expectFailure(.modelNotFound) { [endpoint] in
      try await SDServerBackend(endpoint, limits: .patient).load(LoadRequest(path: "/x/folder"), control: control())
    }
  }

  @Test(arguments: ["none", "can't cancel"])
  func sdServerCancels(_ mistake: String) async throws {
    let server = try await TestServer(mistake)
    let backend = SDServerBackend(server.endpoint, limits: .patient)
    let model = try await backend.load(LoadRequest(path: "/x/small.safetensors"), control: control())
    let log = EventLog()
    let task = Task {
      await failure { try await backend.generateImages(ImageRequest(model: model.id, prompt: "slowly"), control: log.control()) }
    }
    while try await server.bodies().isEmpty { try await Task.sleep(for: .milliseconds(10)) }
    await expectFailure(.busy) {
      try await backend.generateImages(ImageRequest(model: model.id, prompt: "x"), control: control())
    }
    log.cancellation.cancel()
    #expect(await task.value?.code == .cancelled)
  }

  @Test func a1111() async throws {
    let server = try await TestServer()
    let backend = A1111Backend(server.endpoint, limits: .patient)
    let model = try await backend.load(LoadRequest(path: "/x/small.safetensors", variant: .sd15), control: control())
    var request = ImageRequest(model: model.id, prompt: "steps")
    request.size = ImageSize(width: 24, height: 16)
    request.seed = 3
    request.steps = 4
    request.scheduler = SchedulerName(.euler, sigmaSpacing: .karras)
    request.image = Tensor(repeating: 0.5, shape: [1, 3, 16, 24])
    request.mask = Tensor(repeating: 1, shape: [1, 1, 16, 24])
    let log = EventLog()
    let result = try await backend.generateImages(request, control: log.control())
    #expect(result.images.map(\.bitmap) == [pixels(3, 24, 16)] && result.images[0].seed == 3 && result.steps == 4)
    // What was seen grows, whether or not all was seen.
    #expect(log.steps == log.steps.sorted() && Set(log.steps).count == log.steps.count && log.steps.allSatisfy { $0 <= 4 })
    let sent = try await server.bodies()
    #expect(sent.first?["path"] == "/sdapi/v1/img2img")
    let body = try #require(sent.first?["body"])
    #expect(body["sampler_name"] == "Euler" && body["scheduler"] == "Karras" && body["denoising_strength"]?.double == 0.8)
    #expect(body["init_images"]?.array?.count == 1 && body["mask"]?.string != nil && body["inpainting_mask_invert"]?.int == 0)

    let slow = EventLog()
    let task = Task {
      await failure { try await backend.generateImages(ImageRequest(model: model.id, prompt: "slowly"), control: slow.control()) }
    }
    while try await server.bodies().count < 2 { try await Task.sleep(for: .milliseconds(10)) }
    slow.cancellation.cancel()
    #expect(await task.value?.code == .cancelled)
    request.seed = 1 << 33
    await expectFailure(.notSupported) { try await backend.generateImages(request, control: control()) }
  }

  @Test func a1111WithoutInfo() async throws {
    let server = try await TestServer("no info")
    let backend = A1111Backend(server.endpoint, limits: .patient)
    let model = try await backend.load(LoadRequest(path: "small.safetensors"), control: control())
    let result = try await backend.generateImages(ImageRequest(model: model.id, prompt: "x"), control: control())
    #expect(["steps", "scheduler", "guidance_scale"].allSatisfy { result.unavailable[$0] != nil })
  }

  @Test func llamaServer() async throws {
    let server = try await TestServer()
    let backend = LlamaServerBackend(server.endpoint, limits: .patient)
    let info = try await backend.info
    #expect(info.name == "llama.cpp" && info.version == "b123-abc" && info.capabilities.contains(.imageUnderstanding))
    let model = try await backend.load(LoadRequest(path: "/x/small.gguf", projectorPath: "/x/p.gguf"), control: control())
    #expect(model.contextLength == 2048 && model.parameterCount == 1000 && model.weightBytes == 2000)
    var request = TextRequest(model: model.id, prompt: "hi", maxTokens: 5)
    request.turns = [.init(.system, "be short")]
    let log = EventLog()
    let cut = try await backend.generateText(request, control: log.control())
    #expect(cut.text == "Ja, naïve 🎈 日本 end" && cut.ids == [100, 101, 102, 103, 104] && cut.finishReason == .length)
    #expect(cut.promptIDs == Array("<system>be short<user>hi".utf8).map(Int.init))
    #expect(cut.prefillTokensPerSecond == 500 && cut.decodeTokensPerSecond == 40)
    var told = ""
    for event in log.events { if case .token(_, let text, _) = event { told += text } }
    #expect(told == cut.text)
    request.maxTokens = 9
    let whole = try await backend.generateText(request, control: control())
    // The end mark is no part of the answer.
    #expect(whole.ids == [100, 101, 102, 103, 104] && whole.finishReason == .stop)
    request.image = Bitmap(width: 2, height: 1, samples: [1, 2, 3, 4, 5, 6])
    let seen = try await backend.generateText(request, control: control())
    #expect(seen.promptIDs.isEmpty && seen.unavailable["prompt_ids"] != nil)
    let bodies = try await server.bodies()
    let prompt = try #require(bodies.last?["body"]?["prompt"])
    #expect(prompt["prompt_string"] == "<system>be short<user><image>hi" && prompt["multimodal_data"]?.array?.count == 1)
    let raw = try await backend.generateText(
      TextRequest(model: model.id, prompt: "abc", isRaw: true, maxTokens: 2), control: control())
    #expect(raw.promptIDs == [97, 98, 99] && raw.ids == [100, 101])
    #expect(try await backend.tokenize("é") == [195, 169])
    let candidates = try await backend.candidates(after: [1, 2], count: 2)
    #expect(candidates == [.init(id: 5, logProbability: -0.25), .init(id: 9, logProbability: -2.5)])
    await expectFailure(.invalidInput) { try await backend.candidates(after: [1], count: 0) }
  }

  @Test func llamaServerWithoutEyes() async throws {
    let server = try await TestServer("blind")
    let backend = LlamaServerBackend(server.endpoint, limits: .patient)
    await expectFailure(.notSupported) {
      try await backend.load(LoadRequest(path: "small.gguf", projectorPath: "p.gguf"), control: control())
    }
    let model = try await backend.load(LoadRequest(path: "small.gguf"), control: control())
    let image = Bitmap(width: 1, height: 1, samples: [1, 2, 3])
    await expectFailure(.notSupported) {
      try await backend.generateText(TextRequest(model: model.id, prompt: "x", image: image), control: control())
    }
  }

  @Test func llamaServerThatLosesIDs() async throws {
    let server = try await TestServer("lost ids")
    let backend = LlamaServerBackend(server.endpoint, limits: .patient)
    let model = try await backend.load(LoadRequest(path: "small.gguf"), control: control())
    let result = try await backend.generateText(TextRequest(model: model.id, prompt: "x", maxTokens: 3), control: control())
    #expect(result.ids.isEmpty && result.unavailable["ids"]?.contains("3 of 4") == true && result.text == "Ja, naïve 🎈")
  }

  @Test func openAI() async throws {
    let server = try await TestServer()
    let backend = OpenAIBackend(server.endpoint, limits: .patient)
    let model = try await backend.load(LoadRequest(path: "small"), control: control())
    let text = try await backend.generateText(TextRequest(model: model.id, prompt: "hi", maxTokens: 9), control: control())
    #expect(text.text == "Ja, naïve 🎈" && text.ids.isEmpty && text.unavailable["ids"] != nil && text.finishReason == .stop)
    var chosen = TextRequest(model: model.id, prompt: "hi")
    chosen.sampling.topK = 3
    await expectFailure(.notSupported) { try await backend.generateText(chosen, control: control()) }
    let painter = try await backend.load(LoadRequest(path: "other", variant: .sd15), control: control())
    var request = ImageRequest(model: painter.id, prompt: "x")
    request.size = ImageSize(width: 24, height: 16)
    request.imageCount = 2
    let images = try await backend.generateImages(request, control: control())
    #expect(images.images.map(\.bitmap) == [pixels(0, 24, 16), pixels(1, 24, 16)] && images.unavailable["seed"] != nil)
    request.seed = 1
    await expectFailure(.notSupported) { try await backend.generateImages(request, control: control()) }
    let bodies = try await server.bodies()
    #expect(bodies.first?["body"]?["model"] == "small" && bodies.last?["body"]?["model"] == "other")
  }

  @Test func noServer() async throws {
    // A port that was free a moment ago.
    let server = try await TestServer()
    let endpoint = server.endpoint
    _ = consume server
    for _ in 0..<2000 {
      let error = await failure { try await LlamaServerBackend(endpoint, limits: .patient).info }
      if error?.code == .unavailable, error?.message.contains("is it running?") == true { return }
      try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("no error about a server that isn't there")
  }

  @Test(
    arguments: [
      ("127.0.0.1:8080", "127.0.0.1", 8080, "", nil), ("host", "host", 80, "", nil), ("host:1/a/b/", "host", 1, "/a/b", nil),
      ("[::1]:9", "::1", 9, "", nil), ("host/?model=a%20b", "host", 80, "", "a b"),
    ] as [(String, String, Int, String, String?)])
  func endpoints(_ text: String, _ host: String, _ port: Int, _ base: String, _ model: String?) throws {
    let endpoint = try HTTPEndpoint(text)
    #expect(endpoint.host == host && endpoint.port == port && endpoint.base == base && endpoint.model == model)
  }

  @Test(arguments: [
    "", ":80", "host:", "host:0", "host:70000", "host:x", "user@host", "ho st", "[::1", "[::1]x", "host?x=1", "host?model=",
  ])
  func refusedEndpoints(_ text: String) {
    #expect(throws: BackendError.self) { try HTTPEndpoint(text) }
  }
}

/// Servers that break HTTP or their own interface: a clear error each time, never a hang.
@Suite(.enabled(if: TestEngine.isThere, "python3 isn't installed"), .timeLimit(.minutes(15)))
struct HTTPMisbehaviourTests {
  typealias Mistake = MisbehaviourTests.Mistake

  static let mistakes = [
    Mistake("closes", .processingFailed, "ended without an answer"),
    Mistake("no http", .processingFailed, "expected an answer of HTTP, found 'SSH-2.0"),
    Mistake("html", .processingFailed, "something else than JSON: '<html>"),
    Mistake("html error", .unavailable, "status 502: '<html>"),
    Mistake("error", .processingFailed, "status 500: the sampler failed"),
    Mistake("refused", .invalidInput, "status 400: invalid generation parameters"),
    Mistake("full", .busy, "status 429: job queue is full"),
    Mistake("redirect", .unavailable, "status 302 sends elsewhere to 'http://example.invalid/'"),
    Mistake("short", .processingFailed, "ended after 2 of 1000 bytes"),
    Mistake("huge length", .processingFailed, "99999999999999 are announced"),
    Mistake("no length", .processingFailed, "the length '-1' is no whole number"),
    Mistake("two lengths", .processingFailed, "two lengths"),
    Mistake("without end", .processingFailed, "more were sent"),
    Mistake("head without end", .processingFailed, "more than 65536 bytes"),
    Mistake("bad chunk", .processingFailed, "a chunk has the size 'zz'"),
    Mistake("cut chunk", .processingFailed, "ended within a chunked answer"),
    Mistake("other coding", .processingFailed, "the transfer encoding 'gzip'"),
    Mistake("empty object", .processingFailed, "told no id"), Mistake("list", .processingFailed, "told no id"),
    Mistake("strange job", .processingFailed, "told no id"),
    Mistake("wrong size", .processingFailed, "expected 16x8, found 24x8"),
    Mistake("damaged image", .processingFailed, "the server's image"),
    Mistake("no base64", .processingFailed, "isn't base64"),
    Mistake("too many images", .processingFailed, "expected 1 images, found 2"),
    Mistake("job fails", .processingFailed, "no memory left"),
    Mistake("unknown state", .processingFailed, "has the state 'dreaming'"),
  ]

  @Test(arguments: mistakes)
  func images(_ mistake: Mistake) async throws {
    let server = try await TestServer(mistake.name)
    var limits = HTTPLimits.patient
    limits.longestBody = 1 << 20
    let backend = SDServerBackend(server.endpoint, limits: limits)
    let model = try await backend.load(LoadRequest(path: "small.safetensors"), control: GenerationControl())
    var request = ImageRequest(model: model.id, prompt: "x")
    request.size = ImageSize(width: 16, height: 8)
    let error = await failure { [request] in try await backend.generateImages(request, control: GenerationControl()) }
    #expect(error?.code == mistake.code)
    #expect(error?.message.contains(mistake.message) == true, "\(error?.message ?? "no error")")
  }

  static let streams = [
    Mistake("cut stream", .processingFailed, "stream"),
    Mistake("cut within a chunk", .processingFailed, "within a chunked answer"),
    Mistake("event without end", .processingFailed, "more than"),
    Mistake("event that isn't json", .processingFailed, "isn't a JSON object"),
    Mistake("error in the stream", .processingFailed, "out of slots"),
    Mistake("no last event", .processingFailed, "stream ended"), Mistake("unknown ending", .processingFailed, "expected"),
  ]

  @Test(arguments: streams, [true, false])
  func text(_ mistake: Mistake, _ isLlama: Bool) async throws {
    let server = try await TestServer(mistake.name)
    let backend: any GenBackend =
      isLlama ? LlamaServerBackend(server.endpoint, limits: .patient) : OpenAIBackend(server.endpoint, limits: .patient)
    let model = try await backend.load(LoadRequest(path: "small"), control: GenerationControl())
    let error = await failure {
      try await backend.generateText(TextRequest(model: model.id, prompt: "x", maxTokens: 9), control: GenerationControl())
    }
    #expect(error?.code == mistake.code)
    #expect(error?.message.contains(mistake.message) == true, "\(error?.message ?? "no error")")
  }

  static let llamas = [
    Mistake("negative ids", .processingFailed, "negative id"),
    Mistake("goes on", .processingFailed, "goes on after its last event"),
    Mistake("too many tokens", .processingFailed, "expected at most 9 tokens"),
    Mistake("bad tokens", .processingFailed, "no list of ids"),
  ]

  @Test(arguments: llamas)
  func llama(_ mistake: Mistake) async throws {
    let server = try await TestServer(mistake.name)
    let backend = LlamaServerBackend(server.endpoint, limits: .patient)
    let model = try await backend.load(LoadRequest(path: "small"), control: GenerationControl())
    let error = await failure {
      try await backend.generateText(TextRequest(model: model.id, prompt: "x", maxTokens: 9), control: GenerationControl())
    }
    #expect(error?.code == mistake.code)
    #expect(error?.message.contains(mistake.message) == true, "\(error?.message ?? "no error")")
  }

  @Test(arguments: ["hangs", "hangs in the stream"])
  func silence(_ mistake: String) async throws {
    let server = try await TestServer(mistake, at: "/completion")
    var limits = HTTPLimits.patient
    let model = try await LlamaServerBackend(server.endpoint, limits: limits).load(
      LoadRequest(path: "small"), control: GenerationControl())
    _ = model
    limits.silenceNs = 1_000_000_000
    let hasty = LlamaServerBackend(server.endpoint, limits: limits)
    var error: BackendError?
    for _ in 0..<50 {
      error = await failure {
        let model = try await hasty.load(LoadRequest(path: "small"), control: GenerationControl())
        return try await hasty.generateText(TextRequest(model: model.id, prompt: "x"), control: GenerationControl())
      }
      if error?.message.contains("/completion: nothing was sent for 1.0 s") == true { break }
    }
    #expect(error?.code == .unavailable && error?.message.contains("/completion: nothing was sent for 1.0 s") == true)
  }

  /// A cancelled request ends at once, whatever the server does.
  @Test(arguments: ["hangs", "hangs in the stream", "slow stream"])
  func cancels(_ mistake: String) async throws {
    let server = try await TestServer(mistake, at: "/completion")
    let backend = LlamaServerBackend(server.endpoint, limits: .patient)
    let model = try await backend.load(LoadRequest(path: "small"), control: GenerationControl())
    let log = EventLog()
    let task = Task {
      await failure {
        try await backend.generateText(TextRequest(model: model.id, prompt: "x", maxTokens: 9), control: log.control())
      }
    }
    while !(try await server.bodies().contains { $0["path"] == "/completion" }) { try await Task.sleep(for: .milliseconds(10)) }
    log.cancellation.cancel()
    #expect(await task.value?.code == .cancelled)
  }
}
