import ExternalBackends
import Foundation
import GenBackend
import Tensors
import TestSupport
import Testing

/// An engine in a child process, well-behaved.
@Suite(.enabled(if: TestEngine.isThere, "python3 isn't installed"), .timeLimit(.minutes(15)))
struct ProcessBackendTests {
  @Test func tellsWhatItIs() async throws {
    let backend = TestEngine.backend()
    #expect(backend.workPlace == .elsewhere(reason: "the engine isn't running"))
    let info = try await backend.info
    #expect(info.name == "engine.py" && info.version == "1")
    // What this client doesn't know is no capability.
    #expect(info.capabilities == [.textToImage, .latentsInput, .trace, .previews, .textGeneration])
    #expect(info.details == ["python": "3", "device": "cpu", "threads": "1"])
    guard case .processGroup(let group) = backend.workPlace else {
      Issue.record("no process group")
      return
    }
    #expect(isThere(-group) && getpgid(group) == group && getpgid(0) != group)
    await backend.close()
    #expect(!isThere(-group) && !isThere(group))
    let error = await failure { try await backend.info }
    #expect(error?.code == .unavailable)
  }

  @Test func makesImages() async throws {
    let (backend, model) = try await TestEngine.loaded()
    #expect(model.nativeSizes == [ImageSize(width: 16, height: 8)] && model.defaultSteps == 3 && model.variant == "sd15")
    var request = ImageRequest(model: model.id, prompt: "a naïve 🎈 日本")
    request.seed = .max - 1
    request.imageCount = 2
    request.steps = 4
    request.size = ImageSize(width: 24, height: 16)
    request.traceLevel = .step
    request.previewStride = 2
    let log = EventLog()
    let before = MonotonicTime.nanoseconds()
    let result = try await backend.generateImages(request, control: log.control())
    let after = MonotonicTime.nanoseconds()
    #expect(result.images.map(\.seed) == [.max - 1, .max])
    #expect(result.images.allSatisfy { $0.bitmap.width == 24 && $0.bitmap.height == 16 && $0.safety == .unchecked })
    #expect(result.images[0].bitmap != result.images[1].bitmap)
    #expect(result.trace["latents.init"]?.shape == [1, 1, 2, 2])
    #expect(result.steps == 4 && result.scheduler == "ddim")
    #expect(log.steps == [1, 2, 3, 4])
    var previews: [Int] = []
    var last = before
    for event in log.events {
      switch event {
      case .preview(let step, let image, _):
        previews.append(step)
        #expect(image.width == 24)
      case .began(_, _, let time), .ended(_, _, let time), .progress(_, _, let time):
        #expect(time >= last && time <= after)
        last = time
      default: break
      }
    }
    #expect(previews == [2, 4])
    await backend.close()
  }

  @Test func translatesTimesOfAnotherClock() async throws {
    let (backend, model) = try await TestEngine.loaded("other clock")
    let log = EventLog()
    let before = MonotonicTime.nanoseconds()
    _ = try await backend.generateImages(ImageRequest(model: model.id, prompt: "x"), control: log.control())
    let after = MonotonicTime.nanoseconds()
    for event in log.events {
      if case .progress(_, _, let time) = event { #expect(time >= before && time <= after) }
    }
    #expect(log.steps == [1, 2, 3])
    await backend.close()
  }

  @Test func givesLatents() async throws {
    let (backend, model) = try await TestEngine.loaded()
    var request = ImageRequest(model: model.id, prompt: "x")
    request.size = ImageSize(width: 16, height: 8)
    request.seed = 1
    func image(_ change: (inout ImageRequest) -> Void) async throws -> Bitmap {
      var changed = request
      change(&changed)
      return try await backend.generateImages(changed, control: GenerationControl()).images[0].bitmap
    }
    let ones = try await image { $0.latents = Tensor(repeating: 1, shape: [1, 4, 1, 2]) }
    let again = try await image { $0.latents = Tensor(repeating: 1, shape: [1, 4, 1, 2]) }
    let zeros = try await image { $0.latents = Tensor(repeating: 0, shape: [1, 4, 1, 2]) }
    #expect(ones == again && ones != zeros)
    await backend.close()
  }

  /// Engines that take noise get it from here, so that all start from the same for one seed.
  @Test func drawsTheNoiseOfASeed() async throws {
    let (backend, model) = try await TestEngine.loaded()
    var request = ImageRequest(model: model.id, prompt: "x")
    request.seed = 5
    let seeded = try await backend.generateImages(request, control: GenerationControl())
    var noise = RandomSource.torch.makeNoiseSource(seed: UInt64(5))
    request.latents = noise.normals(shape: [1, 4, 1, 2])
    let given = try await backend.generateImages(request, control: GenerationControl())
    request.latents = nil
    request.seed = nil
    let drawn = try await backend.generateImages(request, control: GenerationControl())
    #expect(seeded.images[0].bitmap == given.images[0].bitmap)
    #expect(seeded.images[0].bitmap != drawn.images[0].bitmap)
    request.seed = drawn.images[0].seed
    let repeated = try await backend.generateImages(request, control: GenerationControl())
    #expect(drawn.images[0].bitmap == repeated.images[0].bitmap)
    await backend.close()
  }

  @Test func makesText() async throws {
    let (backend, model) = try await TestEngine.loaded()
    let log = EventLog()
    let result = try await backend.generateText(
      TextRequest(model: model.id, prompt: "hello", maxTokens: 5), control: log.control())
    #expect(result.ids == [0, 1, 2, 3, 4] && result.promptIDs == [1, 2, 3] && result.finishReason == .length)
    #expect(result.text == "hello – naïve façade 🎈 ")
    var text = ""
    for event in log.events { if case .token(_, let part, _) = event { text += part } }
    #expect(text == result.text)
    #expect(result.prefillTokensPerSecond == nil && result.decodeTokensPerSecond == nil)
    await backend.close()
  }

  @Test func computesOperators() async throws {
    let backend = TestEngine.backend()
    #expect(try await backend.operators == ["double"])
    let input = Tensor((0..<200_000).map { Float($0) / 7 }, shape: [2, 100_000])
    let result = try await backend.compute("double", attributes: "{}", inputs: ["x": input])
    #expect(result.outputs["x"]?.elements == input.elements.map { 2 * $0 } && result.elapsedNs == 1000)
    await expectFailure(.notSupported) { try await backend.compute("triple", attributes: "{}", inputs: [:]) }
    await expectFailure(.invalidInput) { try await backend.compute("double", attributes: "[]", inputs: [:]) }
    await backend.close()
  }

  @Test func passesErrorsOn() async throws {
    let (backend, model) = try await TestEngine.loaded()
    let missing = await failure {
      try await backend.load(LoadRequest(path: "/missing"), control: GenerationControl())
    }
    #expect(missing == BackendError(.modelNotFound, "/missing: no such model"))
    var request = ImageRequest(model: model.id, prompt: "x")
    request.clipSkip = 1
    await expectFailure(.notSupported) { try await backend.generateImages(request, control: GenerationControl()) }
    request.clipSkip = nil
    request.guidanceScale = .nan
    await expectFailure(.invalidInput) { try await backend.generateImages(request, control: GenerationControl()) }
    request.guidanceScale = nil
    request.model = ModelID("other")
    await expectFailure(.notLoaded) { try await backend.generateImages(request, control: GenerationControl()) }
    request.model = model.id
    request.prompt = String(repeating: "x", count: 2 << 20)
    await expectFailure(.invalidInput) { try await backend.generateImages(request, control: GenerationControl()) }
    request.prompt = "still there"
    _ = try await backend.generateImages(request, control: GenerationControl())
    await backend.unload(model.id)
    await backend.unload(model.id)
    await expectFailure(.notLoaded) { try await backend.generateImages(request, control: GenerationControl()) }
    await backend.close()
  }

  @Test func cancels() async throws {
    let (backend, model) = try await TestEngine.loaded()
    guard case .processGroup(let group) = backend.workPlace else { return }
    var request = ImageRequest(model: model.id, prompt: "slowly")
    request.steps = 100_000
    let log = EventLog()
    let error = await failure {
      try await backend.generateImages(
        request,
        control: log.control { event in
          if case .progress(3, _, _) = event { log.cancellation.cancel() }
        })
    }
    #expect(error?.code == .cancelled)
    let count = log.events.count
    request.steps = 2
    _ = try await backend.generateImages(request, control: GenerationControl())
    #expect(backend.workPlace == .processGroup(group))
    #expect(log.events.count == count)

    let already = EventLog()
    already.cancellation.cancel()
    await expectFailure(.cancelled) { try await backend.generateImages(request, control: already.control()) }

    let text = EventLog()
    let stopped = await failure {
      try await backend.generateText(
        TextRequest(model: model.id, prompt: "slowly", maxTokens: 100_000),
        control: text.control { _ in text.cancellation.cancel() })
    }
    #expect(stopped?.code == .cancelled)
    await backend.close()
  }

  @Test func refusesASecondRequest() async throws {
    let (backend, model) = try await TestEngine.loaded()
    var request = ImageRequest(model: model.id, prompt: "slowly")
    request.steps = 100_000
    let log = EventLog()
    let (started, signal) = AsyncStream.makeStream(of: Void.self)
    let first = Task { [request] in
      await failure { try await backend.generateImages(request, control: log.control { _ in signal.yield() }) }
    }
    for await _ in started { break }
    await expectFailure(.busy) { try await backend.generateImages(request, control: GenerationControl()) }
    // A request of the model is cancelled by unloading it.
    await backend.unload(model.id)
    #expect(await first.value?.code == .cancelled)
    await backend.close()
  }

  @Test func cancellingTheTaskCancels() async throws {
    let (backend, model) = try await TestEngine.loaded()
    var request = ImageRequest(model: model.id, prompt: "slowly")
    request.steps = 100_000
    let (started, signal) = AsyncStream.makeStream(of: Void.self)
    let task = Task { [request] in
      await failure { try await backend.generateImages(request, control: EventLog().control { _ in signal.yield() }) }
    }
    for await _ in started { break }
    task.cancel()
    #expect(await task.value?.code == .cancelled)
    await backend.close()
  }

  @Test func leavesNothingBehind() async throws {
    let folder = try TemporaryFolder()
    let processes = EngineProcesses()
    let backend = TestEngine.backend("tells the exchange", folder.path("told"), processes: processes)
    let model = try await backend.load(LoadRequest(path: "/models/any"), control: GenerationControl())
    let told = try String(contentsOfFile: folder.path("told"), encoding: .utf8).split(separator: "\n").map(String.init)
    let exchange = told[0]
    let attributes = try FileManager.default.attributesOfItem(atPath: exchange)
    #expect(attributes[.posixPermissions] as? Int == 0o700)
    // Its three streams, the file that it tells this in, and the folder that it's listing.
    #expect(told[2] == "5")
    var request = ImageRequest(model: model.id, prompt: "x")
    request.latents = Tensor(repeating: 1, shape: [1, 4, 1, 2])
    request.image = Tensor(repeating: 0.5, shape: [1, 3, 8, 16])
    _ = try await backend.generateImages(request, control: GenerationControl())
    // The engine never read the image.
    #expect(try FileManager.default.contentsOfDirectory(atPath: exchange).isEmpty)
    await processes.close()
    #expect(!FileManager.default.fileExists(atPath: exchange))
    #expect(!isThere(try #require(Int32(told[1]))))
  }

  @Test func endsAChildThatIsForgotten() async throws {
    let folder = try TemporaryFolder()
    let processes = EngineProcesses()
    do {
      let backend = TestEngine.backend("tells the exchange", folder.path("told"), processes: processes)
      _ = try await backend.info
    }
    let told = try String(contentsOfFile: folder.path("told"), encoding: .utf8).split(separator: "\n").map(String.init)
    let process = try #require(Int32(told[1]))
    await processes.close()
    #expect(!isThere(process) && !FileManager.default.fileExists(atPath: told[0]))
  }

  @Test func endsAChildThatStays() async throws {
    var limits = TestEngine.patient
    limits.terminationNs = 50_000_000
    let (backend, _) = try await TestEngine.loaded("stays", limits: limits)
    guard case .processGroup(let group) = backend.workPlace else { return }
    await backend.close()
    #expect(!isThere(-group))
  }

  @Test func loadsAgainWhatWasLoaded() async throws {
    let folder = try TemporaryFolder()
    let (backend, model) = try await TestEngine.loaded("dies once", folder.path("mark"))
    let request = ImageRequest(model: model.id, prompt: "x")
    let first = await failure { try await backend.generateImages(request, control: GenerationControl()) }
    #expect(first?.code == .unavailable && first?.message.contains("exit code 3") == true)
    let second = try await backend.generateImages(request, control: GenerationControl())
    #expect(second.images.count == 1)
    await backend.close()
  }

  /// What goes wrong between two requests is told by the second one; the third one has a new child.
  @Test(arguments: ["dies after reply", "late event"])
  func tellsWhatHappenedBetweenRequests(_ mistake: String) async throws {
    let (backend, model) = try await TestEngine.loaded(mistake)
    let request = ImageRequest(model: model.id, prompt: "x")
    var errors: [BackendError?] = []
    for _ in 0..<2 {
      errors.append(await failure { try await backend.generateImages(request, control: GenerationControl()) })
      // Until it's over with the child.
      while case .processGroup = backend.workPlace, errors.last == .some(nil) { try await Task.sleep(for: .milliseconds(5)) }
    }
    let told = errors.compactMap { $0 }
    #expect(told.count == 1)
    #expect(told[0].message.contains(mistake == "late event" ? "after its reply" : "exit code 4"))
    _ = await failure { try await backend.generateImages(request, control: GenerationControl()) }
    await backend.close()
  }
}
