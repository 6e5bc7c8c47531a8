import Checkpoints
import Foundation
import GenBackend
import Kernels
import ReferenceEngine
import Tensors
import TestSupport
import Testing

/// The engine through its boundary: results, determinism, progress, cancellation, refusals.
struct ReferenceBackendTests {
  private func request(_ model: ModelInfo, steps: Int = 3, seed: UInt64 = 7) -> ImageRequest {
    var request = ImageRequest(model: model.id, prompt: "a red boat on a quiet lake")
    let side = model.sizeMultiple * 2
    request.size = ImageSize(width: side, height: side)
    request.steps = steps
    request.seed = seed
    return request
  }

  @Test(arguments: ["sd15", "sd20", "sdxl"])
  func makesTheSameImageTwiceAndWithAnyThreadCount(_ variant: String) async throws {
    var images: [Bitmap] = []
    for threads in [1, 2, 2] {
      let backend = try makeBackend(threads: threads)
      let model = try await backend.load(LoadRequest(path: smallModel(variant)), control: GenerationControl())
      #expect(model.variant == variant)
      let result = try await backend.generateImages(request(model), control: GenerationControl())
      images.append(result.images[0].bitmap)
      #expect(result.images[0].seed == 7)
    }
    #expect(images[0] == images[1])
    #expect(images[1] == images[2])
    #expect(Set(images[0].samples).count > 8, "the image is nearly constant")
  }

  @Test func fastAndReferenceKernelsAgree() async throws {
    var images: [Bitmap] = []
    for choice in KernelChoice.allCases {
      let backend = try makeBackend(choice)
      let model = try await backend.load(LoadRequest(path: smallModel("sdxl")), control: GenerationControl())
      images.append(try await backend.generateImages(request(model, steps: 2), control: GenerationControl()).images[0].bitmap)
    }
    #expect(Comparison.psnr(actual: images[0].unitValues, expected: images[1].unitValues) > 50)
  }

  @Test(arguments: [("pndm", 5), ("ddim", 5), ("heun", 5), ("dpm2", 5), ("euler_a", 4), ("lcm", 4)])
  func countsTheStepsThatWereAskedFor(_ scheduler: String, _ steps: Int) async throws {
    let backend = try makeBackend()
    let model = try await backend.load(LoadRequest(path: smallModel("sd15")), control: GenerationControl())
    var request = request(model, steps: steps)
    request.scheduler = try SchedulerName(scheduler)
    let log = EventLog()
    let result = try await backend.generateImages(request, control: log.control)
    #expect(log.progress == (1...steps).map { [$0, steps] })
    #expect(result.steps == steps)
    #expect(result.scheduler == scheduler)
  }

  @Test func stopsWhenCancelledAndWorksAfterwards() async throws {
    let backend = try makeBackend()
    let model = try await backend.load(LoadRequest(path: smallModel("sd15")), control: GenerationControl())
    let log = EventLog(cancelAtStep: 2)
    let error = await #expect(throws: BackendError.self) {
      try await backend.generateImages(request(model, steps: 8), control: log.control)
    }
    #expect(error?.code == .cancelled)
    #expect(log.progress == [[1, 8], [2, 8]])
    _ = try await backend.generateImages(request(model), control: GenerationControl())
  }

  @Test func batchesAreReproducibleOneByOne() async throws {
    let backend = try makeBackend()
    let model = try await backend.load(LoadRequest(path: smallModel("sd20")), control: GenerationControl())
    var three = request(model, seed: 40)
    three.imageCount = 3
    let batch = try await backend.generateImages(three, control: GenerationControl())
    #expect(batch.images.map(\.seed) == [40, 41, 42])
    let alone = try await backend.generateImages(request(model, seed: 41), control: GenerationControl())
    #expect(batch.images[1].bitmap == alone.images[0].bitmap)
    #expect(batch.images[0].bitmap != batch.images[1].bitmap)
  }

  @Test func inpaintingKeepsBlackPixels() async throws {
    let backend = try makeBackend()
    let model = try await backend.load(LoadRequest(path: smallModel("sd15"), safety: .off), control: GenerationControl())
    var request = request(model)
    let side = model.sizeMultiple * 2
    var random = TestRandom(seed: 1)
    let image = random.tensor([1, 3, side, side], in: 0...1)
    request.image = image
    request.mask = Tensor(shape: [1, 1, side, side]) { values in
      for index in values.indices { values[index] = index % side < side / 2 ? 0 : 1 }
    }
    let result = try await backend.generateImages(request, control: GenerationControl())
    let original = Bitmap(unitValues: image)
    var changed = 0
    for row in 0..<side {
      for column in 0..<side {
        let start = (row * side + column) * 3
        let isSame = result.images[0].bitmap.samples[start..<(start + 3)] == original.samples[start..<(start + 3)]
        if column < side / 2 { #expect(isSame, "pixel \(column), \(row) should be kept") } else if !isSame { changed += 1 }
      }
    }
    #expect(changed > side * side / 4)
  }

  @Test func reduceMemoryKeepsTheLatents() async throws {
    var traces: [[String: Tensor]] = []
    for reduceMemory in [false, true] {
      let backend = try makeBackend()
      let model = try await backend.load(
        LoadRequest(path: smallModel("sdxl"), reduceMemory: reduceMemory), control: GenerationControl())
      var request = request(model)
      request.traceLevel = .step
      traces.append(try await backend.generateImages(request, control: GenerationControl()).trace)
    }
    let reduced = try #require(traces[1]["latents.2"])
    let whole = try #require(traces[0]["latents.2"])
    let comparison = try #require(Comparison(actual: reduced, expected: whole))
    #expect(comparison.maxRelative < 1e-4)
  }

  @Test func tellsHowManyTokensWereDropped() async throws {
    let backend = try makeBackend()
    let model = try await backend.load(LoadRequest(path: smallModel("sd15")), control: GenerationControl())
    var request = request(model, steps: 1)
    request.prompt = Array(repeating: "boat", count: 80).joined(separator: " ")
    let log = EventLog()
    let result = try await backend.generateImages(request, control: log.control)
    #expect(result.droppedTokens == 5)
    #expect(log.warnings.contains { $0.contains("5 tokens") })

    request.longPrompt = .error
    let error = await #expect(throws: BackendError.self) {
      try await backend.generateImages(request, control: GenerationControl())
    }
    #expect(error?.code == .invalidInput)

    request.longPrompt = .chunk
    request.traceLevel = .step
    let chunked = try await backend.generateImages(request, control: GenerationControl())
    #expect(chunked.droppedTokens == 0)
    #expect(chunked.trace["prompt_embeds"]?.shape[1] == 154)
    #expect(chunked.trace["negative_prompt_embeds"]?.shape[1] == 154)
  }

  /// A negative prompt is cut and refused under its own name.
  @Test func longNegativePromptsAreTold() async throws {
    let backend = try makeBackend()
    let model = try await backend.load(LoadRequest(path: smallModel("sd15")), control: GenerationControl())
    var request = request(model, steps: 1)
    request.negativePrompt = Array(repeating: "boat", count: 80).joined(separator: " ")
    request.guidanceScale = 7.5
    let log = EventLog()
    _ = try await backend.generateImages(request, control: log.control)
    #expect(log.warnings.contains { $0.hasPrefix("negative prompt: 5 tokens") }, "\(log.warnings)")
    #expect(!log.warnings.contains { $0.hasPrefix("prompt:") })
    request.longPrompt = .error
    let error = await #expect(throws: BackendError.self) {
      try await backend.generateImages(request, control: GenerationControl())
    }
    #expect(error?.message.hasPrefix("negative prompt: at most 75 tokens fit, 5 too many") == true, "\(error?.message ?? "")")
  }

  /// NumPy's generator refuses seeds beyond 32 bits, that of the last image too.
  @Test func seedsThatNumPyRefuses() async throws {
    let backend = try makeBackend()
    let model = try await backend.load(LoadRequest(path: smallModel("sd15")), control: GenerationControl())
    var request = request(model, steps: 1)
    request.randomSource = .numpy
    for (seed, count, isTaken) in [
      (UInt64(UInt32.max), 1, true), (1 << 32, 1, false), (UInt64(UInt32.max), 2, false), (.max, 2, false),
    ] as [(UInt64, Int, Bool)] {
      (request.seed, request.imageCount) = (seed, count)
      do {
        _ = try await backend.generateImages(request, control: GenerationControl())
        #expect(isTaken, "\(seed)")
      } catch let error as BackendError {
        #expect(!isTaken && error.code == .invalidInput && error.message.contains("numpy takes 0 to 4294967295"), "\(error)")
      }
    }
  }

  struct Refusal: Sendable, CustomStringConvertible {
    var description: String
    var change: @Sendable (inout ImageRequest, ModelInfo) -> Void
    init(_ description: String, _ change: @escaping @Sendable (inout ImageRequest, ModelInfo) -> Void) {
      self.description = description
      self.change = change
    }
  }

  static let refusals: [Refusal] = [
    Refusal("steps 0") { request, _ in request.steps = 0 },
    Refusal("steps -3") { request, _ in request.steps = -3 },
    Refusal("steps 1001") { request, _ in request.steps = 1001 },
    Refusal("guidance NaN") { request, _ in request.guidanceScale = .nan },
    Refusal("guidance infinite") { request, _ in request.guidanceScale = .infinity },
    Refusal("guidance -1") { request, _ in request.guidanceScale = -1 },
    Refusal("width not a multiple") { request, model in
      request.size = ImageSize(width: model.sizeMultiple + 1, height: model.sizeMultiple)
    },
    Refusal("width 0") { request, model in request.size = ImageSize(width: 0, height: model.sizeMultiple) },
    Refusal("height negative") { request, model in
      request.size = ImageSize(width: model.sizeMultiple, height: -model.sizeMultiple)
    },
    Refusal("width huge") { request, model in
      request.size = ImageSize(width: model.sizeMultiple << 40, height: model.sizeMultiple)
    },
    Refusal("strength above 1") { request, _ in request.strength = 1.5 },
    Refusal("strength NaN") { request, _ in request.strength = .nan },
    Refusal("rescale NaN") { request, _ in request.guidanceRescale = .nan },
    Refusal("image count 0") { request, _ in request.imageCount = 0 },
    Refusal("preview stride 0") { request, _ in request.previewStride = 0 },
    Refusal("mask without image") { request, model in
      request.mask = Tensor(zeros: [1, 1, model.sizeMultiple, model.sizeMultiple])
    },
    Refusal("mask of another size") { request, model in
      request.image = Tensor(zeros: [1, 3, model.sizeMultiple, model.sizeMultiple])
      request.mask = Tensor(zeros: [1, 1, model.sizeMultiple, 2 * model.sizeMultiple])
    },
    Refusal("image with one channel") { request, model in
      request.image = Tensor(zeros: [1, 1, model.sizeMultiple, model.sizeMultiple])
    },
    Refusal("image with NaN") { request, model in
      request.image = Tensor(repeating: .nan, shape: [1, 3, model.sizeMultiple, model.sizeMultiple])
    },
    Refusal("latents of another size") { request, _ in request.latents = Tensor(zeros: [1, 4, 3, 3]) },
    Refusal("latents with NaN") { request, _ in request.latents = Tensor(repeating: .nan, shape: [1, 4, 2, 2]) },
    Refusal("clip skip too large") { request, _ in request.clipSkip = 99 },
  ]

  @Test(arguments: refusals)
  func refuses(_ refusal: Refusal) async throws {
    let backend = try makeBackend()
    let model = try await backend.load(LoadRequest(path: smallModel("sd15")), control: GenerationControl())
    var request = request(model)
    refusal.change(&request, model)
    let error = await #expect(throws: BackendError.self) {
      try await backend.generateImages(request, control: GenerationControl())
    }
    #expect(error?.code == .invalidInput, "\(String(describing: error))")
    _ = try await backend.generateImages(self.request(model, steps: 1), control: GenerationControl())
  }

  @Test func refusesWhatDoesNotFit() async throws {
    let backend = try makeBackend(memoryLimit: 100_000)
    let model = try await backend.load(LoadRequest(path: smallModel("sd15")), control: GenerationControl())
    let error = await #expect(throws: BackendError.self) {
      try await backend.generateImages(request(model), control: GenerationControl())
    }
    #expect(error?.code == .outOfMemory)
  }

  @Test(arguments: [
    ("unet/diffusion_pytorch_model.safetensors", "down_blocks.0.resnets.0.conv1.weight"),
    ("text_encoder/model.safetensors", "encoder.layers.0.mlp.fc1.weight"),
    ("vae/diffusion_pytorch_model.safetensors", "decoder.conv_in.weight"),
  ])
  func damagedWeightsAreNamed(_ file: String, _ tensor: String) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("genbench-damaged-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.copyItem(at: URL(fileURLWithPath: smallModel("sd20")), to: folder)
    for name in ["vocab.json", "merges.txt"] {
      let link = folder.appendingPathComponent("tokenizer/\(name)")
      try FileManager.default.removeItem(at: link)
      try FileManager.default.copyItem(at: Fixtures.folder.appendingPathComponent("Models/clip-vocabulary/\(name)"), to: link)
    }
    let path = folder.appendingPathComponent(file)
    var bytes = try Data(contentsOf: path)
    let source = try SafetensorsFile(path: path.path)
    let name = try #require(source.weightNames.first { $0.hasSuffix(tensor) })
    let view = try #require(source.weight(named: name))
    // The place of the tensor in the file: found by its own bytes.
    let start = try #require(bytes.range(of: Data(view.bytes.prefix(64)))?.lowerBound)
    bytes.replaceSubrange(start..<(start + 2), with: [0x00, 0x7E])  // a half-precision NaN
    try bytes.write(to: path)

    let backend = try makeBackend()
    let model = try await backend.load(LoadRequest(path: folder.path), control: GenerationControl())
    let error = await #expect(throws: BackendError.self) {
      try await backend.generateImages(request(model), control: GenerationControl())
    }
    #expect(error?.code == .invalidModel)
    #expect(error?.message.contains(tensor) == true, "\(String(describing: error))")
  }

  @Test func unknownModelsAndFilesHaveTheirCodes() async throws {
    let backend = try makeBackend()
    let notLoaded = await #expect(throws: BackendError.self) {
      try await backend.generateImages(ImageRequest(model: ModelID("none"), prompt: "x"), control: GenerationControl())
    }
    #expect(notLoaded?.code == .notLoaded)
    let notFound = await #expect(throws: BackendError.self) {
      try await backend.load(LoadRequest(path: smallModel("none")), control: GenerationControl())
    }
    #expect(notFound?.code == .modelNotFound)
    let noChecker = await #expect(throws: BackendError.self) {
      try await backend.load(LoadRequest(path: smallModel("sdxl"), safety: .required), control: GenerationControl())
    }
    #expect(noChecker?.code == .invalidModel)
  }

  @Test func aSecondRequestIsRefusedAsBusy() async throws {
    let backend = try makeBackend()
    let model = try await backend.load(LoadRequest(path: smallModel("sd15")), control: GenerationControl())
    let (started, start) = AsyncStream<Void>.makeStream()
    // Holds the engine's own thread in the first step until the second request was refused.
    let gate = DispatchSemaphore(value: 0)
    let first = Task { [request = request(model, steps: 4)] in
      let token = CancellationToken()
      return try await backend.generateImages(
        request,
        control: GenerationControl(cancellation: token) { event in
          if case .progress(step: 1, total: _, timeNs: _) = event {
            start.yield()
            gate.wait()
          }
        })
    }
    for await _ in started { break }
    let busy = await #expect(throws: BackendError.self) {
      try await backend.generateImages(request(model), control: GenerationControl())
    }
    #expect(busy?.code == .busy)
    first.cancel()
    gate.signal()
    let cancelled = await #expect(throws: BackendError.self) { try await first.value }
    #expect(cancelled?.code == .cancelled)
  }

  /// The last operators may have been cut short, and the check of finite numbers may not have liked what they left.
  @Test(arguments: [Stage.vaeDecode, .unet, .textEncode], [false, true])
  func whatWasCancelledInsideAStageGivesNoResult(_ stage: Stage, atItsEnd: Bool) async throws {
    let backend = try makeBackend()
    let model = try await backend.load(LoadRequest(path: smallModel("sd15"), safety: .off), control: GenerationControl())
    let token = CancellationToken()
    let cancelled = await #expect(throws: BackendError.self) {
      try await backend.generateImages(
        request(model),
        control: GenerationControl(cancellation: token) { event in
          switch event {
          case .began(stage, index: _, timeNs: _) where !atItsEnd: token.cancel()
          case .ended(stage, index: _, timeNs: _) where atItsEnd: token.cancel()
          default: break
          }
        })
    }
    #expect(cancelled?.code == .cancelled, "\(cancelled?.message ?? "")")
    _ = try await backend.generateImages(request(model), control: GenerationControl())
  }
}
