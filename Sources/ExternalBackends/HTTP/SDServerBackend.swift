import Checkpoints
public import GenBackend
import Tensors

/// stable-diffusion.cpp's `sd-server`, by its own interface: jobs under `/sdcpp/v1`.
///
/// The server tells neither steps nor stages nor tokens, takes no noise, and can't stop a job that runs: a cancelled request ends
/// with its job. Format: `examples/server/api.md` of stable-diffusion.cpp.
public final class SDServerBackend: GenBackend {
  private let engine: HTTPEngine

  /// Makes a backend; nothing is asked yet.
  public init(_ endpoint: HTTPEndpoint, limits: HTTPLimits = HTTPLimits(), token: String? = nil) {
    engine = HTTPEngine(endpoint, limits: limits, token: token)
  }

  /// Its samplers by our names; those that no sampler here equals are left out.
  static let samplers = [
    "euler": "euler", "euler_a": "euler_a", "heun": "heun", "dpm2": "dpm2", "dpmpp_2m": "dpm++2m", "lcm": "lcm", "tcd": "tcd",
    "ddim": "ddim_trailing",
  ]
  /// Its noise schedules by the endings of our names.
  private static let schedules = ["_karras": "karras", "_exponential": "exponential"]

  /// The server can't be looked into.
  public var workPlace: WorkPlace { .elsewhere(reason: "a server's memory can't be read from here") }

  /// What the server says of itself.
  public var info: BackendInfo {
    get async throws {
      let capabilities = try await capabilities(CancellationToken())
      return BackendInfo(
        name: "stable-diffusion.cpp", version: "not told",
        capabilities: [.textToImage, .imageToImage, .inpainting, .negativePrompt, .batch],
        details: ["model": capabilities["model"]?["name"]?.string ?? "not told", "server": engine.client.endpoint.text])
    }
  }

  private func capabilities(_ cancellation: CancellationToken) async throws(BackendError) -> JSONValue {
    let value = try await engine.client.json(.init(path: "/sdcpp/v1/capabilities"), cancellation: cancellation)
    guard value["model"]?.object != nil, value["samplers"]?.array != nil else {
      throw BackendError(.processingFailed, "\(engine.client.endpoint.text): /sdcpp/v1/capabilities isn't that of sd-server")
    }
    return value
  }

  /// Takes the model that the server holds, when it's the one that is asked for; see ``GenBackend``.
  public func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo {
    try await engine.exclusively(model: nil, control) {
      let start = MonotonicTime.nanoseconds()
      let value = try await capabilities(control.cancellation)
      let model = value["model"]
      try engine.require(request, served: ["path", "name", "stem"].compactMap { model?[$0]?.string }.filter { !$0.isEmpty })
      if request.precision != .f32 {
        throw BackendError(.notSupported, "precision: it's that of the file that the server was started with")
      }
      let defaults = value["defaults_by_mode"]?["img_gen"] ?? value["defaults"]
      let size = ImageSize(width: defaults?["width"]?.int ?? 512, height: defaults?["height"]?.int ?? 512)
      guard (1...16_384).contains(size.width), (1...16_384).contains(size.height) else {
        throw BackendError(.processingFailed, "the server's own size is \(size)")
      }
      let sample = defaults?["sample_params"]
      return engine.keep { id in
        ModelInfo(
          id: id, variant: request.variant?.rawValue ?? "unknown",
          capabilities: [.textToImage, .imageToImage, .inpainting, .negativePrompt, .batch], nativeSizes: [size], sizeMultiple: 8,
          defaultScheduler: sample?["sample_method"]?.string.flatMap { name in Self.samplers.first { $0.value == name }?.key },
          defaultSteps: max(1, sample?["sample_steps"]?.int ?? 20),
          defaultGuidanceScale: sample?["guidance"]?["txt_cfg"]?.double ?? 7,
          loadNs: MonotonicTime.nanoseconds() - start)
      }
    }
  }

  /// Forgets a model; the server keeps it.
  public func unload(_ model: ModelID) async { engine.forget(model) }

  /// Makes images; see ``GenBackend``.
  public func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult {
    try await engine.exclusively(model: request.model, control) {
      let info = try engine.info(request.model)
      let seed = request.seed ?? UInt64(UInt32.random(in: 0 ... .max))
      let body = try body(request, seed: seed)
      let submitted = try await engine.client.json(
        .init(method: "POST", path: "/sdcpp/v1/img_gen", body: body), cancellation: control.cancellation)
      guard let job = submitted["id"]?.string, job.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !job.contains("/") else {
        throw BackendError(.processingFailed, "/sdcpp/v1/img_gen told no id of a job")
      }
      let result = try await wait(for: job, control)
      let texts = result["images"]?.array?.compactMap { $0["b64_json"]?.string } ?? []
      guard texts.count == request.imageCount else {
        throw BackendError(.processingFailed, "expected \(request.imageCount) images, found \(texts.count)")
      }
      var images: [ImageResult.Image] = []
      for (index, text) in texts.enumerated() {
        let bitmap = try HTTPEngine.bitmap(base64: text, size: request.size)
        images.append(.init(bitmap: bitmap, safety: .unchecked, seed: seed &+ UInt64(index)))
      }
      var made = ImageResult(
        images: images, scheduler: request.scheduler?.description ?? info.defaultScheduler ?? "unknown",
        steps: request.steps ?? info.defaultSteps, guidanceScale: request.guidanceScale ?? info.defaultGuidanceScale)
      made.unavailable = [
        "stages": "sd-server tells nothing of a job but its state", "progress": "sd-server tells nothing of a job but its state",
        "trace": "sd-server returns images only", "dropped_tokens": "sd-server doesn't tell",
      ]
      return made
    }
  }

  /// Makes no text.
  public func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult {
    throw BackendError(.notSupported, "sd-server makes images, not text")
  }

  private func body(_ request: ImageRequest, seed: UInt64) throws(BackendError) -> JSONValue {
    try HTTPEngine.refuse(
      request,
      but: [
        "negative_prompt", "size", "steps", "guidance_scale", "scheduler", "eta", "seed", "image", "mask", "image_count",
        "clip_skip",
        "timestep_spacing",
      ], "sd-server")
    var sample: [String: JSONValue] = [:]
    if let steps = request.steps { sample["sample_steps"] = .integer(steps) }
    if let eta = request.eta { sample["eta"] = .number(eta) }
    if let scale = request.guidanceScale { sample["guidance"] = ["txt_cfg": .number(scale)] }
    if let name = request.scheduler?.description {
      let ending = Self.schedules.keys.first { name.hasSuffix($0) } ?? ""
      guard let sampler = Self.samplers[String(name.dropLast(ending.count))] else {
        let known = Self.samplers.keys.sorted().joined(separator: ", ")
        throw BackendError(.notSupported, "scheduler '\(name)': sd-server has none that equals it; it has \(known)")
      }
      sample["sample_method"] = .string(sampler)
      sample["scheduler"] = .string(Self.schedules[ending] ?? "discrete")
      let isTrailing = sampler == "ddim_trailing"
      guard request.timestepSpacing == nil && !isTrailing || isTrailing && request.timestepSpacing == .trailing else {
        throw BackendError(
          .notSupported,
          "scheduler '\(name)': sd-server spaces it in one way; ask for ddim with timestep spacing trailing, or for another one")
      }
    } else if request.timestepSpacing != nil {
      throw BackendError(.notSupported, "timestep_spacing: sd-server has it by scheduler; name one")
    }
    var body: [String: JSONValue] = [
      "prompt": .string(request.prompt), "seed": try HTTPEngine.seed(seed, largest: UInt64(Int64.max)),
      "batch_count": .integer(request.imageCount), "sample_params": .object(sample), "output_format": "png",
    ]
    body["negative_prompt"] = request.negativePrompt.map { .string($0) }
    if let size = request.size {
      body["width"] = .integer(size.width)
      body["height"] = .integer(size.height)
    }
    // It counts the layers from 1: 1 is the last one, which diffusers calls 0.
    if let clipSkip = request.clipSkip { body["clip_skip"] = .integer(clipSkip + 1) }
    if let image = request.image {
      body["init_image"] = .string(try HTTPEngine.base64(image, channels: 3, "image"))
      body["strength"] = .number(request.strength)
    }
    if let mask = request.mask { body["mask_image"] = .string(try HTTPEngine.base64(mask, channels: 1, "mask")) }
    return .object(body)
  }

  /// Asks for the state of a job until it's over.
  private func wait(for job: String, _ control: GenerationControl) async throws(BackendError) -> JSONValue {
    var isTold = false
    let endNs = MonotonicTime.nanoseconds() + engine.client.limits.timeoutNs
    while true {
      if control.cancellation.isCancelled, !isTold {
        isTold = true
        // Refused for a job that runs; then its end is the end of the request.
        _ = try? await engine.client.send(.init(method: "POST", path: "/sdcpp/v1/jobs/\(job)/cancel"))
      }
      let state = try await engine.client.json(.init(path: "/sdcpp/v1/jobs/\(job)"))
      switch state["status"]?.string {
      case "queued", "generating":
        guard MonotonicTime.nanoseconds() < endNs else {
          throw BackendError(.unavailable, "\(engine.client.endpoint.text): job \(job) wasn't done within the time limit")
        }
        do { try await Task.sleep(for: .milliseconds(20)) } catch { control.cancellation.cancel() }
      case "completed":
        guard let result = state["result"] else { throw BackendError(.processingFailed, "job \(job) has no result") }
        return result
      case "cancelled": throw BackendError(.cancelled, "the request was cancelled")
      case "failed":
        throw BackendError(.processingFailed, "sd-server: \(state["error"]?["message"]?.string ?? "the job failed")")
      case let other: throw BackendError(.processingFailed, "job \(job) has the state '\(other ?? "none")'")
      }
    }
  }
}
