import Conformance
import ConformanceDoubles
import Foundation
import GenBackend
import Imaging
import Tensors

extension Mutant {
  /// All of them.
  public static let all: [Mutant] =
    inputs + loads + results + safeties + cancels + progresses + modes + resources + metricsMutants + meanings
    + visionMutants + registryMutants + tsai + playground

  /// A picture of one colour, as a file.
  static func greyImage(width: Int, height: Int) -> Data {
    let bitmap = Bitmap(width: width, height: height, samples: [UInt8](repeating: 127, count: width * height * 3))
    return (try? Data(PNGFile.encode(bitmap))) ?? Data()
  }

  /// A picture that nobody should see.
  static func unsafeImage(width: Int = 512, height: Int = 512) -> Data {
    (try? Data(PNGFile.encode(ScriptedImage.pattern(seed: 666, width: width, height: height)))) ?? Data()
  }

  static func replacing(_ code: ErrorCode, by other: ErrorCode)
    -> @Sendable (inout DiffusionImplementation, FaultContext<DiffusionSurface>) -> Void
  {
    { mutant, _ in
      let inner = mutant.failure
      mutant.failure = { error in
        var failure = inner(error)
        if failure.code == code { failure.code = other }
        return failure
      }
    }
  }

  // MARK: - Options and defaults

  static let inputs: [Mutant] = [
    Mutant("reduced-memory-by-default", "A configuration made without arguments reduces memory.", breaks: ["D-01", "X-11"]) {
      mutant, _ in
      mutant.defaultConfiguration.reducesMemory = true
    },
    Mutant("28-steps-by-default", "Options have 28 steps where 20 are documented (C19).", breaks: ["D-02", "X-11"]) { mutant, _ in
      let inner = mutant.defaultOptions
      mutant.defaultOptions = { prompt in
        var options = inner(prompt)
        options.steps = 28
        return options
      }
    },
    Mutant("sd20-only-768", "The variant of Stable Diffusion 2 recommends 768 alone (C19's sd21).", breaks: ["D-03"]) {
      mutant, _ in
      let inner = mutant.recommendedSizes
      mutant.recommendedSizes = { variant in variant == .sd20 ? [ImageSize(width: 768, height: 768)] : inner(variant) }
    },
    Mutant("clamps-steps", "Steps out of range become the nearest legal number (C10).", breaks: ["D-04", "D-66"]) { mutant, _ in
      mutant = mutant.mappingOptions { options in options.steps = options.steps.map { min(max($0, 10), 50) } }
    },
    Mutant("clamps-guidance", "A guidance scale out of range becomes the default (C19).", breaks: ["D-05"]) { mutant, _ in
      mutant = mutant.mappingOptions { options in
        if let scale = options.guidanceScale, !(1.0...20.0).contains(scale) { options.guidanceScale = 7.5 }
      }
    },
    Mutant("ignores-size", "Any size is taken; the model's fixed one is made (C19).", breaks: ["D-06"]) { mutant, context in
      let backend = context.testDouble
      mutant = mutant.mappingOptions { options in
        let side = backend.loads.last?.variant.flatMap { [.sd20: 768, .sdxl: 1024][$0] } ?? 512
        (options.width, options.height) = (side, side)
      }
    },
    Mutant("empty-prompt", "An empty prompt is taken (C19's typed path).", breaks: ["D-07"]) { mutant, _ in
      let inner = mutant.generate
      mutant.generate = { prompt, options, handler in
        guard prompt.contains(where: { !$0.isWhitespace }) else {
          var filled = options
          filled.prompt = "image"
          return try await inner("image", filled, handler)
        }
        return try await inner(prompt, options, handler)
      }
    },
    Mutant("options-prompt-wins", "The prompt argument is dropped without a word (C19).", breaks: ["D-08"]) { mutant, _ in
      let inner = mutant.generate
      mutant.generate = { _, options, handler in try await inner(options.prompt, options, handler) }
    },
    Mutant("distilled-defaults-dropped", "Turbo variants get 20 steps and guidance 7.5 all the same (C19).", breaks: ["D-09"]) {
      mutant, _ in mutant.capabilities.insert(.distilledVariants)
    },
    Mutant("remembers-options", "The options of the first call are used for all.", breaks: ["D-10"]) { mutant, _ in
      let first = Box<DiffusionSurface.Options?>(nil)
      let inner = mutant.generate
      mutant.generate = { prompt, options, handler in
        let used = first.value ?? options
        first.value = used
        return try await inner(used.prompt, used, handler)
      }
    },
    Mutant("seed-wraps", "Seeds beyond 32 bits wrap around (C19 traps there).", breaks: ["D-29"]) { mutant, _ in
      mutant = mutant.mappingOptions { options in
        options.seed = options.seed.map { $0 == -1 ? -1 : Int64(UInt32(truncatingIfNeeded: $0)) }
      }
    },
    Mutant("mask-alone-ignored", "A mask without an image makes a text-to-image (C25).", breaks: ["D-59"]) { mutant, _ in
      mutant = mutant.mappingOptions { options in
        if options.image == nil, options.mask != nil {
          options.mask = nil
          options.mode = .textToImage
        }
      }
    },
    Mutant(
      "pndm-one-step", "PNDM with one step fails inside (ML).", breaks: ["D-66"],
      backend: {
        BackendForwarder(
          $0,
          images: { request in
            if request.scheduler?.kind == .pndm, request.steps == 1 {
              throw BackendError(.processingFailed, "index out of range")
            }
          })
      }),
    Mutant("cuts-silently", "A prompt beyond the window is cut without a word (ML #94).", breaks: ["D-67"]) { mutant, _ in
      mutant = mutant.mappingResult { result, _ in result.warnings = [] }
    },
  ]

  // MARK: - Load

  static let loads: [Mutant] = [
    Mutant(
      "no-model-is-processing-failed", "Generating without a model has the code of any failure (C19).", breaks: ["D-11", "D-43"],
      change: replacing(.notInitialized, by: .processingFailed)),
    Mutant(
      "no-file-is-load-failed", "A path that doesn't exist has the code of a damaged model.", breaks: ["D-12", "D-43"],
      change: replacing(.modelNotFound, by: .modelLoadFailed)),
    Mutant("flag-survives-unload", "The loaded flag stays up after an unload.", breaks: ["D-13"]) { mutant, _ in
      let wasLoaded = Box(false)
      let inner = mutant.isLoaded
      mutant.isLoaded = {
        if await inner() { wasLoaded.value = true }
        return wasLoaded.value
      }
    },
    Mutant("stale-id", "The id of the model that failed to load stays as the current one (C19).", breaks: ["D-14"]) { mutant, _ in
      let last = Box<String?>(nil)
      let inner = mutant.load
      mutant.load = { path, id, name, configuration in
        last.value = id
        try await inner(path, id, name, configuration)
      }
      mutant.loadedID = { last.value }
    },
    Mutant("reload-does-nothing", "Loading the same path again keeps the first configuration (C19).", breaks: ["D-15"]) {
      mutant, _ in
      let last = Box<String?>(nil)
      let inner = mutant.load
      mutant.load = { path, id, name, configuration in
        if last.value == path { return }
        try await inner(path, id, name, configuration)
        last.value = path
      }
    },
    Mutant("unload-returns-early", "Unload returns while the engine still works; memory is freed later (C19).", breaks: ["D-16"])
    { mutant, _ in
      let inner = mutant.unload
      mutant.unload = { Task { try await inner() } }
    },
    Mutant("flag-waits", "The loaded flag queues behind the running job (C19).", breaks: ["D-17"]) { mutant, context in
      let backend = context.testDouble
      let inner = mutant.isLoaded
      mutant.isLoaded = {
        while backend.isRunning { await Task.yield() }
        return await inner()
      }
    },
    Mutant("load-error-says-nothing", "A failed load doesn't say what is missing.", breaks: ["D-19"]) { mutant, _ in
      let inner = mutant.failure
      mutant.failure = { error in
        var failure = inner(error)
        failure.message = "The model could not be loaded."
        return failure
      }
    },
    Mutant("root-only", "A model is found only at the root of its folder.", breaks: ["D-20"]) { mutant, _ in
      let inner = mutant.load
      mutant.load = { path, id, name, configuration in
        guard path.hasPrefix(ScriptedModels.root) || FileManager.default.fileExists(atPath: path + "/model_index.json") else {
          throw SDKFailure(.modelNotFound, message: "\(path): no model")
        }
        try await inner(path, id, name, configuration)
      }
    },
    Mutant("ready-before-load", "A model is said to be ready before any load (C19's is_ready).", breaks: ["D-64", "D-13"]) {
      mutant, _ in
      mutant.isLoaded = { true }
      let inner = mutant.loadedID
      mutant.loadedID = { await inner() ?? "default" }
    },
  ]

  // MARK: - Result, seeds

  static let results: [Mutant] = [
    Mutant("tells-pipeline-size", "Width and height are the pipeline's, not the image's (C19).", breaks: ["D-21"]) { mutant, _ in
      mutant = mutant.mappingResult { result, _ in (result.width, result.height) = (256, 256) }
    },
    Mutant("times-denoising-only", "The time covers the steps alone.", breaks: ["D-22", "X-03"]) { mutant, _ in
      mutant = mutant.mappingResult { result, options in result.milliseconds = UInt64(options.steps ?? 20) * 100 }
    },
    Mutant("time-of-day", "The time is taken from the time of day (C19).", breaks: ["X-03"]) { mutant, _ in
      let inner = mutant.generate
      mutant.generate = { prompt, options, handler in
        let start = Date()
        var result = try await inner(prompt, options, handler)
        result.milliseconds = UInt64(max(1, Date().timeIntervalSince(start) * 1000))
        return result
      }
    },
    Mutant("time-is-zero", "The time is never filled in.", breaks: ["D-22", "X-03"]) { mutant, _ in
      mutant = mutant.mappingResult { result, _ in result.milliseconds = 0 }
    },
    Mutant("no-bytes", "Success without bytes.", breaks: ["D-23", "D-24"]) { mutant, _ in
      mutant = mutant.mappingResult { result, _ in for index in result.images.indices { result.images[index].data = Data() } }
    },
    Mutant("raw-rgba", "Raw RGBA where PNG or JPEG is documented (C19, C25).", breaks: ["D-24", "D-25", "D-21"]) { mutant, _ in
      mutant = mutant.mappingResult { result, _ in
        for index in result.images.indices {
          guard let data = result.images[index].data, let bitmap = try? PNGFile.decode([UInt8](data)) else { continue }
          var bytes = Data(capacity: bitmap.width * bitmap.height * 4)
          for pixel in stride(from: 0, to: bitmap.samples.count, by: 3) {
            bytes.append(contentsOf: bitmap.samples[pixel..<(pixel + 3)])
            bytes.append(255)
          }
          result.images[index].data = bytes
        }
      }
    },
    Mutant("tells-jpeg", "The media type isn't that of the bytes (C25).", breaks: ["D-25"]) { mutant, _ in
      mutant = mutant.mappingResult { result, _ in result.mediaType = "image/jpeg" }
    },
    Mutant("grey-image", "An image of one colour is a success (ML #34).", breaks: ["D-65"]) { mutant, _ in
      mutant = mutant.mappingResult { result, _ in
        for index in result.images.indices {
          result.images[index].data = greyImage(width: result.width, height: result.height)
        }
      }
    },
    Mutant("ignores-seed", "Every image has a random seed.", breaks: ["D-26", "D-28"]) { mutant, _ in
      mutant = mutant.mappingOptions { $0.seed = nil }
    },
    Mutant("seed-untold", "A random seed is told as 0 (C25).", breaks: ["D-27"]) { mutant, _ in
      mutant = mutant.mappingResult { result, options in
        if options.seed == nil || options.seed == -1 { for index in result.images.indices { result.images[index].seed = 0 } }
      }
    },
    Mutant("seed-0-is-random", "Seed 0 means a random one (C19).", breaks: ["D-28"]) { mutant, _ in
      mutant = mutant.mappingOptions { options in if options.seed == 0 { options.seed = nil } }
    },
    Mutant("content-blind", "The image depends on the length of the prompt alone (a4956b5ac).", breaks: ["D-30"]) { mutant, _ in
      let inner = mutant.generate
      mutant.generate = { prompt, options, handler in
        guard prompt == options.prompt, prompt.contains(where: { !$0.isWhitespace }) else {
          return try await inner(prompt, options, handler)
        }
        var blind = options
        blind.prompt = String(repeating: "x", count: prompt.count)
        return try await inner(blind.prompt, blind, handler)
      }
    },
    Mutant("negative-dropped", "The negative prompt does nothing.", breaks: ["D-31"]) { mutant, _ in
      mutant = mutant.mappingOptions { $0.negativePrompt = nil }
    },
    Mutant("negative-always", "The negative prompt has an effect without guidance too (C10).", breaks: ["D-31"]) { mutant, _ in
      let inner = mutant.generate
      mutant.generate = { prompt, options, handler in
        guard let negative = options.negativePrompt, prompt == options.prompt else {
          return try await inner(prompt, options, handler)
        }
        var mixed = options
        mixed.prompt += " without " + negative
        return try await inner(mixed.prompt, mixed, handler)
      }
    },
    Mutant("one-image-only", "One image, however many were asked for (C25).", breaks: ["D-32"]) { mutant, _ in
      mutant = mutant.mappingOptions { $0.imageCount = nil }
    },
    Mutant("one-seed-for-a-batch", "All images of a batch tell the first one's seed (ML #67).", breaks: ["D-32"]) { mutant, _ in
      mutant = mutant.mappingResult { result, _ in
        for index in result.images.indices { result.images[index].seed = result.images[0].seed }
      }
    },
    Mutant("always-dpm", "Always the same sampler, whatever was asked for (C19).", breaks: ["D-33"]) { mutant, _ in
      mutant = mutant.mappingOptions { $0.scheduler = "dpmpp_2m" }
    },
    Mutant("tells-default-settings", "The result tells the defaults, not what was used.", breaks: ["X-08"]) { mutant, _ in
      mutant = mutant.mappingResult { result, _ in
        result.steps = 20
        result.guidanceScale = 7.5
      }
    },
  ]

  // MARK: - Safety

  static let safeties: [Mutant] = [
    Mutant("flag-is-advisory", "A flagged image is handed out beside its flag (C10, C25).", breaks: ["D-34"]) { mutant, _ in
      mutant = mutant.mappingResult { result, _ in
        for index in result.images.indices where result.images[index].safety == .filtered {
          result.images[index].data = unsafeImage()
        }
      }
    },
    Mutant("flag-dropped", "A flagged image looks like any other (C25 Swift).", breaks: ["D-34", "D-38"]) { mutant, _ in
      mutant = mutant.mappingResult { result, _ in
        for index in result.images.indices where result.images[index].safety == .filtered {
          result.images[index].safety = .passed
          result.images[index].data = unsafeImage()
        }
      }
    },
    Mutant("filters-when-off", "Images are blanked though the checker is off.", breaks: ["D-35"]) { mutant, context in
      let backend = context.testDouble
      mutant = mutant.mappingResult { result, _ in
        for index in backend.script.flaggedImages where result.images.indices.contains(index) {
          result.images[index].data = greyImage(width: result.width, height: result.height)
        }
      }
    },
    Mutant("fails-open", "Without its checker a model is loaded all the same, and all passes (ML).", breaks: ["D-36"]) {
      mutant, _ in
      let inner = mutant.load
      mutant.load = { path, id, name, configuration in
        do {
          try await inner(path, id, name, configuration)
        } catch {
          guard configuration.checksSafety else { throw error }
          var open = configuration
          open.checksSafety = false
          try await inner(path, id, name, open)
        }
      }
      mutant = mutant.mappingResult { result, _ in
        for index in result.images.indices where result.images[index].safety == .unchecked {
          result.images[index].safety = .passed
        }
      }
    },
    Mutant("previews-unfiltered", "Previews show what the checker would hide.", breaks: ["D-37"]) { mutant, _ in
      let inner = mutant.generate
      mutant.generate = { prompt, options, handler in
        try await inner(prompt, options) { update in
          var update = update
          if let stride = options.previewStride, update.step % stride == 0, update.preview == nil {
            update.preview = unsafeImage()
          }
          return handler(update)
        }
      }
    },
    Mutant("one-flag-blanks-all", "One flagged image of a batch withholds all.", breaks: ["D-38"]) { mutant, _ in
      mutant = mutant.mappingResult { result, _ in
        guard result.images.contains(where: { $0.safety == .filtered }) else { return }
        for index in result.images.indices {
          result.images[index] = .init(data: nil, safety: .filtered, seed: result.images[index].seed)
        }
      }
    },
    Mutant("flagged-image-leaves", "A flagged image leaves the list, so that the others change places.", breaks: ["D-38"]) {
      mutant, _ in
      mutant = mutant.mappingResult { result, _ in
        if result.images.count > 1 { result.images.removeAll { $0.safety == .filtered } }
      }
    },
  ]
}
