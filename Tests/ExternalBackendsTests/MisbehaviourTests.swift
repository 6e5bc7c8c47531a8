import ExternalBackends
import Foundation
import GenBackend
import Tensors
import TestSupport
import Testing

/// Engines that break the protocol: a clear error each time, never a hang, and nothing is left of them.
@Suite(.enabled(if: TestEngine.isThere, "python3 isn't installed"), .timeLimit(.minutes(15)))
struct MisbehaviourTests {
  /// A mistake during an image, and what the error says of it.
  struct Mistake: Sendable, CustomTestStringConvertible {
    var name: String
    var code: BackendError.Code
    var message: String

    init(_ name: String, _ code: BackendError.Code, _ message: String) {
      self.name = name
      self.code = code
      self.message = message
    }

    var testDescription: String { name }
  }

  static let imageMistakes = [
    Mistake("dies", .unavailable, "ended with exit code 3; the end of its stderr: the last words"),
    Mistake("killed", .unavailable, "was ended by signal 9"),
    Mistake("bad json", .processingFailed, "not valid JSON"),
    Mistake("no object", .processingFailed, "expected a JSON object"),
    Mistake("not utf8", .processingFailed, "UTF-8"),
    Mistake("duplicate key", .processingFailed, "occurs twice"),
    Mistake("printed", .processingFailed, "Loading pipeline components"),
    Mistake("too long", .processingFailed, "a line of more than 1048576 bytes"),
    Mistake("too long without end", .processingFailed, "a line of more than 1048576 bytes"),
    Mistake("answer to nothing", .processingFailed, "which was never made"),
    Mistake("unknown answer", .processingFailed, "unknown answer 'done'"),
    Mistake("wrong reply", .processingFailed, "answered generate_images with 'ok'"),
    Mistake("wrong type", .processingFailed, "step: expected Int"),
    Mistake("missing key", .processingFailed, "key 'total' is missing"),
    Mistake("closes stdout", .unavailable, "closed its stdout"),
    Mistake("half a line", .processingFailed, "closed its stdout within a line"),
    Mistake("stages crossed", .processingFailed, "wasn't the last one that began"),
    Mistake("stage left open", .processingFailed, "was still open at the reply"),
    Mistake("backwards progress", .processingFailed, "progress 1 of 3 came after 2 of 3"),
    Mistake("progress from 0", .processingFailed, "progress 0 of 3 came after 0 of none"),
    Mistake("too little progress", .processingFailed, "the reply came after progress 2 of 3"),
    Mistake("time runs backwards", .processingFailed, "progress 2 of 3 came after 2 of 3"),
    Mistake("time outside", .processingFailed, "lies outside its request"),
    Mistake("event after reply", .processingFailed, "after its reply"),
    Mistake("replies twice", .processingFailed, "after its reply"),
    Mistake("wrong size", .processingFailed, "image 0: expected 16x8, found 24x8"),
    Mistake("wrong shape", .processingFailed, "expected U8 [H, W, 3]"),
    Mistake("not finite", .processingFailed, "aren't finite"),
    Mistake("trace not finite", .processingFailed, "aren't finite"),
    Mistake("other tensor", .processingFailed, "has no tensor 'image'"),
    Mistake("outside", .processingFailed, "the plain name of a file"),
    Mistake("no file", .processingFailed, "nothing.safetensors: can't be opened"),
    Mistake("link", .processingFailed, "link.safetensors: can't be opened"),
    Mistake("fifo", .processingFailed, "a file was expected"),
    Mistake("damaged file", .processingFailed, "truncated"),
    Mistake("sparse file", .processingFailed, "expected at most"),
    Mistake("too many images", .processingFailed, "expected 1 images, found 2"),
    Mistake("unknown safety", .processingFailed, "found 'fine'"),
  ]

  @Test(arguments: imageMistakes)
  func duringAnImage(_ mistake: Mistake) async throws {
    let (backend, model) = try await TestEngine.loaded(mistake.name)
    guard case .processGroup(let group) = backend.workPlace else {
      Issue.record("the engine isn't there")
      return
    }
    var request = ImageRequest(model: model.id, prompt: "x")
    request.size = ImageSize(width: 16, height: 8)
    request.traceLevel = .step
    let error = await failure { try await backend.generateImages(request, control: GenerationControl()) }
    if ["event after reply", "replies twice"].contains(mistake.name), error == nil {
      // On a busy machine it comes too late for its request; then it's the next one's.
      while case .processGroup = backend.workPlace { try await Task.sleep(for: .milliseconds(5)) }
      let next = await failure { try await backend.generateImages(request, control: GenerationControl()) }
      #expect(next?.code == mistake.code && next?.message.contains(mistake.message) == true, "\(next?.message ?? "none")")
    } else {
      #expect(error?.code == mistake.code)
      #expect(error?.message.contains(mistake.message) == true, "\(error?.message ?? "no error")")
    }
    #expect(!isThere(-group) && !isThere(group))
    #expect(backend.workPlace == .elsewhere(reason: "the engine isn't running"))
    await backend.close()
  }

  static let textMistakes = [
    Mistake("negative ids", .processingFailed, "expected at least 0, found -1"),
    Mistake("too many tokens", .processingFailed, "expected at most 4, found 9"),
    Mistake("unknown ending", .processingFailed, "found 'tired'"),
  ]

  @Test(arguments: textMistakes)
  func duringText(_ mistake: Mistake) async throws {
    let (backend, model) = try await TestEngine.loaded(mistake.name)
    let error = await failure {
      try await backend.generateText(TextRequest(model: model.id, prompt: "x", maxTokens: 4), control: GenerationControl())
    }
    #expect(error?.code == mistake.code)
    #expect(error?.message.contains(mistake.message) == true, "\(error?.message ?? "no error")")
    await backend.close()
  }

  static let startMistakes = [
    Mistake("refuses", .unavailable, "no device"),
    Mistake("other protocol", .processingFailed, "speaks 'genbench.backend/2'"),
    Mistake("talks first", .processingFailed, "Welcome!"),
    Mistake("dies at load", .unavailable, "exit code 5"),
    Mistake("impossible model", .processingFailed, "native_sizes"),
  ]

  @Test(arguments: startMistakes)
  func atTheStart(_ mistake: Mistake) async throws {
    let backend = TestEngine.backend(mistake.name)
    for _ in 0..<2 {
      let error = await failure { try await backend.load(LoadRequest(path: "/models/any"), control: GenerationControl()) }
      #expect(error?.code == mistake.code)
      #expect(error?.message.contains(mistake.message) == true, "\(error?.message ?? "no error")")
    }
    await backend.close()
  }

  @Test func aProgramThatIsNotThere() async throws {
    let backend = ProcessBackend(.init(words: ["/nowhere/engine"]))
    let error = await failure { try await backend.info }
    #expect(error?.code == .unavailable && error?.message.contains("'/nowhere/engine' can't be started") == true)
  }

  static let silences = [
    Mistake("silent", .unavailable, "said nothing for"), Mistake("silent for good", .unavailable, "said nothing for"),
  ]

  @Test(arguments: silences)
  func silence(_ mistake: Mistake) async throws {
    var limits = TestEngine.patient
    limits.silenceNs = 4_000_000_000
    limits.terminationNs = 100_000_000
    let quick = TestEngine.backend(mistake.name, limits: limits)
    // On a busy machine it may already be too slow to start.
    var error: BackendError?
    for _ in 0..<20 {
      error = await failure {
        let model = try await quick.load(LoadRequest(path: "/models/any"), control: GenerationControl())
        return try await quick.generateImages(ImageRequest(model: model.id, prompt: "x"), control: GenerationControl())
      }
      if error?.message.contains("during generate_images") == true { break }
    }
    #expect(error?.code == mistake.code && error?.message.contains("said nothing for 4.0 s during generate_images") == true)
    #expect(quick.workPlace == .elsewhere(reason: "the engine isn't running"))
    await quick.close()
  }

  @Test func talkWithoutEnd() async throws {
    var limits = TestEngine.patient
    limits.timeoutNs = 2_000_000_000
    let backend = TestEngine.backend("endless", limits: limits)
    var error: BackendError?
    for _ in 0..<20 {
      error = await failure {
        let model = try await backend.load(LoadRequest(path: "/models/any"), control: GenerationControl())
        return try await backend.generateImages(ImageRequest(model: model.id, prompt: "x"), control: GenerationControl())
      }
      if error?.message.contains("generate_images") == true { break }
    }
    #expect(error?.code == .unavailable)
    #expect(error?.message.contains("didn't answer generate_images within the time limit of 2.0 s") == true)
    await backend.close()
  }

  @Test func deafToCancellation() async throws {
    var limits = TestEngine.patient
    limits.cancelNs = 200_000_000
    let (backend, model) = try await TestEngine.loaded("deaf", limits: limits)
    guard case .processGroup(let group) = backend.workPlace else { return }
    var request = ImageRequest(model: model.id, prompt: "slowly")
    request.steps = 1_000_000
    let log = EventLog()
    let error = await failure {
      try await backend.generateImages(request, control: log.control { _ in log.cancellation.cancel() })
    }
    #expect(error?.code == .cancelled && error?.message.contains("didn't stop within 0.2 s") == true)
    #expect(!isThere(-group))
    await backend.close()
  }

  @Test func keepsTheEndOfALongLog() async throws {
    let (backend, model) = try await TestEngine.loaded("floods stderr")
    _ = try await backend.generateImages(ImageRequest(model: model.id, prompt: "x"), control: GenerationControl())
    await backend.close()
    #expect(backend.log.utf8.count == 65536 && backend.log.hasSuffix("noise \n"))
  }

  @Test func endsWhatTheChildHasStarted() async throws {
    let folder = try TemporaryFolder()
    let (backend, model) = try await TestEngine.loaded("grandchild", folder.path("group"))
    let log = EventLog()
    let task = Task {
      await failure { try await backend.generateImages(ImageRequest(model: model.id, prompt: "x"), control: log.control()) }
    }
    while !FileManager.default.fileExists(atPath: folder.path("group")) { try await Task.sleep(for: .milliseconds(10)) }
    guard case .processGroup(let group) = backend.workPlace else { return }
    // The leader dies; what it has started would live on, with the pipes open.
    kill(group, SIGKILL)
    #expect(await task.value?.message.contains("signal 9") == true)
    while isThere(-group) { try await Task.sleep(for: .milliseconds(5)) }
    await backend.close()
  }
}
