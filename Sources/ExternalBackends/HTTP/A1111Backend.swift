import Checkpoints
import Foundation
public import GenBackend
import Synchronization
import Tensors

/// AUTOMATIC1111's web UI and what has its interface: `/sdapi/v1/txt2img`, `img2img`, `progress`, `interrupt`.
public final class A1111Backend: GenBackend {
  private let engine: HTTPEngine

  /// Makes a backend; nothing is asked yet.
  public init(_ endpoint: HTTPEndpoint, limits: HTTPLimits = HTTPLimits(), token: String? = nil) {
    engine = HTTPEngine(endpoint, limits: limits, token: token)
  }

  /// Its samplers by our names.
  static let samplers = [
    "euler": "Euler", "euler_a": "Euler a", "heun": "Heun", "dpm2": "DPM2", "dpm2_a": "DPM2 a", "dpmpp_2m": "DPM++ 2M",
    "dpmpp_2m_sde": "DPM++ 2M SDE", "dpmpp_sde": "DPM++ SDE", "lms": "LMS", "ddim": "DDIM", "pndm": "PLMS", "unipc": "UniPC",
    "lcm": "LCM",
  ]
  private static let schedules = ["_karras": "Karras", "_exponential": "Exponential", "_beta": "Beta"]

  /// The server can't be looked into.
  public var workPlace: WorkPlace { .elsewhere(reason: "a server's memory can't be read from here") }

  /// What the server says of itself.
  public var info: BackendInfo {
    get async throws {
      let served = try await served(CancellationToken())
      return BackendInfo(
        name: "a1111", version: "not told",
        capabilities: [.textToImage, .imageToImage, .inpainting, .negativePrompt, .batch],
        details: ["model": served.first ?? "not told", "server": engine.client.endpoint.text])
    }
  }

  /// What the server calls the model that it holds.
  private func served(_ cancellation: CancellationToken) async throws(BackendError) -> [String] {
    let options = try await engine.client.json(.init(path: "/sdapi/v1/options"), cancellation: cancellation)
    guard let checkpoint = options["sd_model_checkpoint"]?.string, !checkpoint.isEmpty else {
      throw BackendError(.processingFailed, "\(engine.client.endpoint.text): /sdapi/v1/options tells no sd_model_checkpoint")
    }
    // `name.safetensors [hash]`
    guard let mark = checkpoint.range(of: " [", options: .backwards), checkpoint.hasSuffix("]") else { return [checkpoint] }
    return [String(checkpoint[..<mark.lowerBound]), checkpoint]
  }

  /// Takes the model that the server holds, when it's the one that is asked for; see ``GenBackend``.
  public func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo {
    try await engine.exclusively(model: nil, control) {
      let start = MonotonicTime.nanoseconds()
      try engine.require(request, served: try await served(control.cancellation))
      if request.precision != .f32 {
        throw BackendError(.notSupported, "precision: it's set where the server is started")
      }
      let isLarge = request.variant == .sdxl
      return engine.keep { id in
        ModelInfo(
          id: id, variant: request.variant?.rawValue ?? "unknown",
          capabilities: [.textToImage, .imageToImage, .inpainting, .negativePrompt, .batch],
          nativeSizes: [isLarge ? ImageSize(width: 1024, height: 1024) : ImageSize(width: 512, height: 512)], sizeMultiple: 8,
          loadNs: MonotonicTime.nanoseconds() - start)
      }
    }
  }

  /// Forgets a model; the server keeps it.
  public func unload(_ model: ModelID) async { engine.forget(model) }

  /// Makes no text.
  public func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult {
    throw BackendError(.notSupported, "the server makes images, not text")
  }

  /// Makes images; see ``GenBackend``.
  ///
  /// Progress is asked for while the request runs, so a step between two questions isn't seen; the result says so.
  public func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult {
    try await engine.exclusively(model: request.model, control) {
      let seed = request.seed ?? UInt64(UInt32.random(in: 0 ... .max))
      let body = try body(request, seed: seed)
      let path = request.image == nil ? "/sdapi/v1/txt2img" : "/sdapi/v1/img2img"
      let isOver = CancellationToken()
      let watch = Task { [engine] in await Self.watch(engine.client, control, until: isOver) }
      let answer: Result<JSONValue, any Error>
      do { answer = .success(try await engine.client.json(.init(method: "POST", path: path, body: body))) } catch {
        answer = .failure(error)
      }
      isOver.cancel()
      await watch.value
      return try Self.result(try answer.get(), request: request, seed: seed)
    }
  }

  private func body(_ request: ImageRequest, seed: UInt64) throws(BackendError) -> JSONValue {
    try HTTPEngine.refuse(
      request,
      but: [
        "negative_prompt", "size", "steps", "guidance_scale", "scheduler", "eta", "seed", "image", "mask", "image_count",
        "clip_skip",
      ], "the server")
    var body: [String: JSONValue] = [
      "prompt": .string(request.prompt), "negative_prompt": .string(request.negativePrompt ?? ""),
      // The web UI's own seeds are of 32 bits.
      "seed": try HTTPEngine.seed(seed, largest: UInt64(UInt32.max)), "batch_size": .integer(request.imageCount), "n_iter": 1,
      "send_images": true, "save_images": false,
    ]
    if let steps = request.steps { body["steps"] = .integer(steps) }
    if let scale = request.guidanceScale { body["cfg_scale"] = .number(scale) }
    if let eta = request.eta { body["eta"] = .number(eta) }
    if let size = request.size {
      body["width"] = .integer(size.width)
      body["height"] = .integer(size.height)
    }
    if let name = request.scheduler?.description {
      let ending = Self.schedules.keys.first { name.hasSuffix($0) } ?? ""
      guard let sampler = Self.samplers[String(name.dropLast(ending.count))] else {
        let known = Self.samplers.keys.sorted().joined(separator: ", ")
        throw BackendError(.notSupported, "scheduler '\(name)': the server has none that equals it; known are \(known)")
      }
      body["sampler_name"] = .string(sampler)
      body["scheduler"] = .string(Self.schedules[ending] ?? "Uniform")
    }
    if let clipSkip = request.clipSkip {
      body["override_settings"] = ["CLIP_stop_at_last_layers": .integer(clipSkip + 1)]
    }
    if let image = request.image {
      body["init_images"] = [.string(try HTTPEngine.base64(image, channels: 3, "image"))]
      body["denoising_strength"] = .number(request.strength)
    }
    if let mask = request.mask {
      body["mask"] = .string(try HTTPEngine.base64(mask, channels: 1, "mask"))
      body["inpainting_mask_invert"] = 0
      body["mask_blur"] = 0
    }
    return .object(body)
  }

  private static func result(_ answer: JSONValue, request: ImageRequest, seed: UInt64) throws(BackendError) -> ImageResult {
    let texts = answer["images"]?.array?.compactMap(\.string) ?? []
    guard texts.count == request.imageCount else {
      throw BackendError(.processingFailed, "expected \(request.imageCount) images, found \(texts.count)")
    }
    // `info` is JSON within a text; servers that imitate the interface leave it empty.
    let info = answer["info"]?.string.flatMap { HTTPClient.parse(Array($0.utf8)) }
    let seeds = info?["all_seeds"]?.array?.compactMap { $0.int.flatMap { UInt64(exactly: $0) } } ?? []
    var images: [ImageResult.Image] = []
    for (index, text) in texts.enumerated() {
      let bitmap = try HTTPEngine.bitmap(base64: text, size: request.size)
      images.append(
        .init(bitmap: bitmap, safety: .unchecked, seed: seeds.count == texts.count ? seeds[index] : seed &+ UInt64(index)))
    }
    var unavailable = [
      "stages": "the interface tells only how far it is", "trace": "the interface returns images only",
      "dropped_tokens": "the interface doesn't tell", "progress": "asked for now and then: steps in between aren't seen",
    ]
    let steps = info?["steps"]?.int ?? request.steps
    if steps == nil { unavailable["steps"] = "the server doesn't tell" }
    let scale = info?["cfg_scale"]?.double ?? request.guidanceScale
    if scale == nil { unavailable["guidance_scale"] = "the server doesn't tell" }
    let label = info?["sampler_name"]?.string
    let scheduler = request.scheduler?.description ?? label.flatMap { label in samplers.first { $0.value == label }?.key }
    if scheduler == nil { unavailable["scheduler"] = "the server doesn't tell" }
    var result = ImageResult(
      images: images, scheduler: scheduler ?? "unknown", steps: max(0, steps ?? 0), guidanceScale: scale ?? 0)
    result.unavailable = unavailable
    return result
  }

  /// Tells steps that are seen, and passes a cancellation on.
  private static func watch(_ client: HTTPClient, _ control: GenerationControl, until isOver: CancellationToken) async {
    var last = 0
    var isTold = false
    while !isOver.isCancelled {
      if control.cancellation.isCancelled, !isTold {
        isTold = true
        _ = try? await client.send(.init(method: "POST", path: "/sdapi/v1/interrupt"), cancellation: isOver)
      }
      let state = try? await client.json(
        .init(path: "/sdapi/v1/progress?skip_current_image=true"), cancellation: isOver)["state"]
      if !isOver.isCancelled, let step = state?["sampling_step"]?.int, let total = state?["sampling_steps"]?.int, step > last,
        step <= total
      {
        last = step
        control.onEvent(.progress(step: step, total: total, timeNs: MonotonicTime.nanoseconds()))
      }
      try? await Task.sleep(for: .milliseconds(50))
    }
  }
}
