import Conformance
import Dispatch
import Foundation
import GenBackend
import Imaging
import Tensors

extension Mutant {
  // MARK: - Cancellation

  static let cancels: [Mutant] = [
    Mutant("false-goes-on", "False from the handler is ignored.", breaks: ["D-39", "D-40"]) { mutant, _ in
      mutant = mutant.mappingHandler { handler in
        { update in
          _ = handler(update)
          return true
        }
      }
    },
    Mutant("one-call-after-false", "The handler is called once more after it said no.", breaks: ["D-39", "D-46", "D-49"]) {
      mutant, _ in
      let inner = mutant.generate
      mutant.generate = { prompt, options, handler in
        let last = Box<DiffusionSurface.Update?>(nil)
        do {
          return try await inner(prompt, options) { update in
            last.value = update
            return handler(update)
          }
        } catch {
          if let update = last.value { _ = handler(update) }
          throw error
        }
      }
    },
    Mutant("false-returns-nothing", "A run that the handler stopped returns no images, and no error (ML).", breaks: ["D-40"]) {
      mutant, _ in
      let inner = mutant.generate
      mutant.generate = { prompt, options, handler in
        let isStopped = Box(false)
        do {
          return try await inner(prompt, options) { update in
            if handler(update) { return true }
            isStopped.value = true
            return false
          }
        } catch {
          guard isStopped.value else { throw error }
          return DiffusionSurface.Result(images: [], width: 512, height: 512, milliseconds: 1)
        }
      }
    },
    Mutant(
      "cancelled-is-processing-failed", "A cancelled run has the code of any failure (C19).",
      breaks: ["D-40", "D-41", "D-43", "D-45", "X-10"], change: replacing(.cancelled, by: .processingFailed)),
    Mutant(
      "cancel-does-nothing", "Cancelling drops the last event only; the engine works on (C25).",
      breaks: ["D-41", "D-46", "D-48", "X-07"]
    ) {
      mutant, _ in mutant.cancel = {}
    },
    Mutant(
      "cancel-waits-for-the-end", "Cancel queues behind the run that it should stop (C19).", breaks: ["D-41", "D-46", "X-07"]
    ) { mutant, context in
      let backend = context.testDouble
      mutant.cancel = { while backend.isRunning { await Task.yield() } }
    },
    Mutant("cancel-three-steps-late", "Cancel takes effect three steps later.", breaks: ["D-41", "X-07"]) { mutant, _ in
      let remaining = Box<Int?>(nil)
      mutant.cancel = { remaining.value = 3 }
      mutant = mutant.mappingHandler { handler in
        { update in
          if let left = remaining.value {
            if left == 0 {
              remaining.value = nil
              return false
            }
            remaining.value = left - 1
          }
          return handler(update)
        }
      }
    },
    Mutant("cancel-latches", "A cancel stays in force until a generation has met it (C25).", breaks: ["D-42", "D-48"]) {
      mutant, _ in
      let isPending = Box(false)
      let (innerCancel, innerGenerate) = (mutant.cancel, mutant.generate)
      mutant.cancel = {
        isPending.value = true
        try await innerCancel()
      }
      mutant.generate = { prompt, options, handler in
        if isPending.exchange(false) { throw SDKFailure(.cancelled, category: "cancellation", message: "cancelled") }
        return try await innerGenerate(prompt, options, handler)
      }
    },
    Mutant("idle-cancel-throws", "Cancelling when nothing runs throws.", breaks: ["D-42"]) { mutant, context in
      let backend = context.testDouble
      let inner = mutant.cancel
      mutant.cancel = {
        guard backend.isRunning else { throw SDKFailure(.other("invalidState"), message: "nothing to cancel") }
        try await inner()
      }
    },
    Mutant(
      "one-code-for-all", "Every error is generationFailed; the rest is text (C19).",
      breaks: ["D-11", "D-12", "D-40", "D-43", "D-70", "X-10"]
    ) { mutant, _ in
      let inner = mutant.failure
      mutant.failure = { error in
        let failure = inner(error)
        return SDKFailure(
          .other("generationFailed"), category: "general", message: "[\(failure.code.map { "\($0)" } ?? "")] \(failure.message)")
      }
    },
    Mutant("cancel-unloads", "A cancel takes the model with it.", breaks: ["D-44", "D-48", "D-49"]) { mutant, _ in
      let inner = mutant.generate
      let (onFailure, onUnload) = (mutant.failure, mutant.unload)
      mutant.generate = { prompt, options, handler in
        do {
          return try await inner(prompt, options, handler)
        } catch {
          if onFailure(error).code == .cancelled { try? await onUnload() }
          throw error
        }
      }
    },
    Mutant("task-cancel-ignored", "Cancelling the task around the call does nothing (C19).", breaks: ["D-45"]) { mutant, _ in
      let inner = mutant.generate
      mutant.generate = { prompt, options, handler in
        try await Task.detached { try await inner(prompt, options, handler) }.value
      }
    },
    Mutant("dropped-stream-goes-on", "Dropping the stream leaves the engine at work (C19).", breaks: ["D-45"]) { mutant, _ in
      let generate = mutant.generate
      mutant.stream = { prompt, options in
        AsyncThrowingStream { continuation in
          continuation.yield(.started)
          Task {
            do {
              let result = try await generate(prompt, options) { update in
                continuation.yield(.progress(update))
                return true
              }
              continuation.yield(.completed(result))
              continuation.finish()
            } catch {
              continuation.finish(throwing: error)
            }
          }
        }
      }
    },
    Mutant(
      "cancel-waits-for-the-handler", "Cancel waits for a lock that the handler's caller holds (ba9b710f8).", breaks: ["D-46"]
    ) { mutant, _ in
      let isInHandler = Box(false)
      let inner = mutant.cancel
      mutant.cancel = {
        while isInHandler.value { await Task.yield() }
        try await inner()
      }
      mutant = mutant.mappingHandler { handler in
        { update in
          isInHandler.value = true
          defer { isInHandler.value = false }
          return handler(update)
        }
      }
    },
    Mutant("latest-handler-gets-all", "Progress goes to the handler of the latest call, whoever it belongs to.", breaks: ["D-47"])
    { mutant, _ in
      let latest = Box<(@Sendable (DiffusionSurface.Update) -> Bool)?>(nil)
      let inner = mutant.generate
      mutant.generate = { prompt, options, handler in
        latest.value = handler
        return try await inner(prompt, options) { update in latest.value?(update) ?? true }
      }
    },
    Mutant(
      "busy-is-invalid-input", "A second generation is refused as if its options were wrong.", breaks: ["D-47", "D-48", "X-10"],
      change: replacing(.busy, by: .invalidInput)),
    Mutant("late-progress", "The handler of a run that was stopped hears of it again later.", breaks: ["D-49"]) { mutant, _ in
      let left = Box<(@Sendable () -> Void)?>(nil)
      let inner = mutant.generate
      mutant.generate = { prompt, options, handler in
        left.exchange(nil)?()
        do {
          return try await inner(prompt, options, handler)
        } catch {
          left.value = { _ = handler(DiffusionSurface.Update(progress: 1, step: 10, total: 10)) }
          throw error
        }
      }
    },
  ]

  // MARK: - Progress

  static let progresses: [Mutant] = [
    Mutant("progress-in-percent", "Progress runs to 100.", breaks: ["D-50", "D-52"]) { mutant, _ in
      mutant = mutant.mappingHandler { handler in
        { handler(.init(progress: $0.progress * 100, step: $0.step, total: $0.total, preview: $0.preview)) }
      }
    },
    Mutant("progress-restarts", "Progress begins anew with every image of a batch.", breaks: ["D-50"]) { mutant, _ in
      let inner = mutant.generate
      mutant.generate = { prompt, options, handler in
        let steps = options.steps ?? 20
        return try await inner(prompt, options) { update in
          guard let count = options.imageCount, count > 1 else { return handler(update) }
          let step = (update.step - 1) % steps + 1
          return handler(.init(progress: Double(step) / Double(steps), step: step, total: steps, preview: update.preview))
        }
      }
    },
    Mutant("pndm-one-call-more", "PNDM's extra model call is told as a step (ML #142).", breaks: ["D-51"]) { mutant, _ in
      let inner = mutant.generate
      mutant.generate = { prompt, options, handler in
        try await inner(prompt, options) { update in
          if options.scheduler == "pndm", update.step == 1, !handler(update) { return false }
          return handler(update)
        }
      }
    },
    Mutant("zero-based-progress", "Steps count from 0 and progress never reaches 1 (C19).", breaks: ["D-52"]) { mutant, _ in
      mutant = mutant.mappingHandler { handler in
        { update in
          let step = update.step - 1
          return handler(
            .init(progress: Double(step) / Double(update.total), step: step, total: update.total, preview: update.preview))
        }
      }
    },
    Mutant(
      "total-as-requested", "Image-to-image tells the steps that were asked for, not those that run (C25).", breaks: ["D-53"]
    ) { mutant, _ in
      let inner = mutant.generate
      mutant.generate = { prompt, options, handler in
        try await inner(prompt, options) { update in
          var update = update
          if options.mode == .imageToImage, let steps = options.steps { update.total = steps }
          return handler(update)
        }
      }
    },
    Mutant("updates-out-of-order", "Updates overtake each other (one task each).", breaks: ["D-54", "D-50"]) { mutant, _ in
      mutant = mutant.mappingHandler { handler in
        let held = Box<DiffusionSurface.Update?>(nil)
        return { update in
          guard update.step < update.total else { return handler(update) }
          guard let before = held.exchange(nil) else {
            held.value = update
            return true
          }
          return handler(update) && handler(before)
        }
      }
    },
    Mutant("previews-nobody-asked-for", "Every step is decoded though nobody wants to see it (C19).", breaks: ["D-55"]) {
      mutant, _ in
      let inner = mutant.generate
      mutant.generate = { prompt, options, handler in
        var all = options
        all.previewStride = options.previewStride ?? 1
        return try await inner(prompt, all) { update in
          var update = update
          if options.previewStride == nil { update.preview = nil }
          return handler(update)
        }
      }
    },
    Mutant("stride-ignored", "A preview comes every step, whatever the stride.", breaks: ["D-56"]) { mutant, _ in
      mutant = mutant.mappingOptions { options in if options.previewStride != nil { options.previewStride = 1 } }
    },
    Mutant(
      "previews-never-come", "Previews are taken as an option and never delivered (C19, C25).", breaks: ["D-56", "D-63", "D-37"]
    ) { mutant, _ in
      mutant = mutant.mappingHandler { handler in { handler(.init(progress: $0.progress, step: $0.step, total: $0.total)) } }
    },
    Mutant("stream-without-result", "The stream ends without its result (C19).", breaks: ["D-57"]) { mutant, _ in
      guard let inner = mutant.stream else { return }
      mutant.stream = { prompt, options in
        let events = try await inner(prompt, options)
        return AsyncThrowingStream { continuation in
          Task {
            do {
              for try await event in events {
                if case .completed = event { continue }
                continuation.yield(event)
              }
              continuation.finish()
            } catch {
              continuation.finish(throwing: error)
            }
          }
        }
      }
    },
  ]

  // MARK: - Modes

  static let modes: [Mutant] = [
    Mutant("silent-text-to-image", "Start image and mask are dropped without a word (C19).", breaks: ["D-58", "D-53"]) {
      mutant, _ in
      mutant = mutant.mappingOptions { options in
        options.mode = .textToImage
        options.image = nil
        options.mask = nil
      }
    },
    Mutant("mask-inverted", "Black is repainted and white kept.", breaks: ["D-60"]) { mutant, _ in
      mutant = mutant.mappingOptions { options in
        guard let mask = options.mask, var bitmap = try? PNGFile.decode([UInt8](mask)) else { return }
        for index in bitmap.samples.indices { bitmap.samples[index] = 255 - bitmap.samples[index] }
        options.mask = (try? PNGFile.encode(bitmap)).map { Data($0) }
      }
    },
    Mutant("mask-stretched", "A mask of another size is stretched over the image.", breaks: ["D-60"]) { mutant, _ in
      mutant = mutant.mappingOptions { options in
        guard let mask = options.mask, let image = options.image, let maskBitmap = try? PNGFile.decode([UInt8](mask)),
          let bitmap = try? PNGFile.decode([UInt8](image)), maskBitmap.width != bitmap.width
        else { return }
        let stretched = Resample.resize(maskBitmap, width: bitmap.width, height: bitmap.height, filter: .bilinear)
        options.mask = (try? PNGFile.encode(stretched)).map { Data($0) }
      }
    },
    Mutant("strength-clamped", "A strength out of range becomes 0.75.", breaks: ["D-61"]) { mutant, _ in
      mutant = mutant.mappingOptions { options in
        if let strength = options.strength, !(0...1).contains(strength) { options.strength = 0.75 }
      }
    },
    Mutant("axes-swapped", "Rows and columns of a start image that isn't square are swapped (ML #143).", breaks: ["D-62"]) {
      mutant, _ in
      mutant = mutant.mappingOptions { options in
        guard let image = options.image, let bitmap = try? PNGFile.decode([UInt8](image)), bitmap.width != bitmap.height else {
          return
        }
        var swapped = Bitmap(width: bitmap.height, height: bitmap.width, samples: bitmap.samples)
        for row in 0..<bitmap.height {
          for column in 0..<bitmap.width {
            for channel in 0..<3 {
              swapped.samples[(column * bitmap.height + row) * 3 + channel] =
                bitmap.samples[(row * bitmap.width + column) * 3 + channel]
            }
          }
        }
        options.image = (try? PNGFile.encode(swapped)).map { Data($0) }
      }
    },
    Mutant("claims-too-little", "Several images work, but aren't claimed.", breaks: ["D-63"]) { mutant, _ in
      mutant.capabilities.remove(.batch)
    },
    Mutant("claims-too-much", "Image-to-image is claimed, but refused.", breaks: ["D-63", "D-58"]) { mutant, _ in
      let inner = mutant.generate
      mutant.generate = { prompt, options, handler in
        guard options.mode == .textToImage else { throw SDKFailure(.notSupported, category: "input", message: "not here") }
        return try await inner(prompt, options, handler)
      }
    },
  ]

  // MARK: - Resources and tensors

  static let resources: [Mutant] = [
    Mutant("reduce-memory-dropped", "reduceMemory is taken and forgotten.", breaks: ["D-68"]) { mutant, _ in
      mutant = mutant.mappingConfiguration { $0.reducesMemory = false }
    },
    Mutant("unload-keeps-the-weights", "Unload flips the flag; the memory stays (C19).", breaks: ["D-69", "D-16"]) { mutant, _ in
      let isUnloaded = Box(false)
      let (innerLoad, innerFlag, innerGenerate) = (mutant.load, mutant.isLoaded, mutant.generate)
      mutant.load = { path, id, name, configuration in
        try await innerLoad(path, id, name, configuration)
        isUnloaded.value = false
      }
      mutant.unload = { isUnloaded.value = true }
      mutant.isLoaded = {
        if isUnloaded.value { return false }
        return await innerFlag()
      }
      mutant.generate = { prompt, options, handler in
        if isUnloaded.value { throw SDKFailure(.notInitialized, message: "no model") }
        return try await innerGenerate(prompt, options, handler)
      }
    },
    Mutant(
      "oom-is-processing-failed", "Out of memory has the code of any failure.", breaks: ["D-43", "D-70", "X-10"],
      change: replacing(.outOfMemory, by: .processingFailed)),
    Mutant("other-unit-is-grey", "On another compute unit the image is garbage, and a success (ML #37).", breaks: ["D-71"]) {
      mutant, context in
      guard context.setup.unit != nil else { return }
      mutant = mutant.mappingResult { result, _ in
        for index in result.images.indices { result.images[index].data = greyImage(width: result.width, height: result.height) }
      }
    },
    Mutant(
      "timestep-repeats", "A timestep comes twice (ML's Karras spacing).", breaks: ["D-72"],
      backend: {
        BackendForwarder(
          $0,
          trace: { request, trace in
            if request.scheduler == "dpmpp_2m_karras", let timesteps = trace["timesteps"], timesteps.count > 3 {
              var changed = timesteps
              changed[flat: 3] = changed[flat: 2]
              trace["timesteps"] = changed
            }
          })
      }),
    Mutant(
      "numpy-is-torch", "Every generator is torch's.", breaks: ["D-73"],
      backend: {
        BackendForwarder(
          $0,
          trace: { request, trace in
            guard let latents = trace["latents.init"] else { return }
            var noise = RandomSource.torch.makeNoiseSource(seed: request.seed ?? 0)
            trace["latents.init"] = noise.normals(shape: latents.shape)
          })
      }),
  ]

  // MARK: - Metrics

  static let metricsMutants: [Mutant] = [
    Mutant(
      "overlaps-count-twice", "Stages that overlap are added up.", breaks: ["X-01"],
      metrics: {
        MetricsForwarder(
          $0,
          budget: { events, startNs, endNs in
            var begun: [String: UInt64] = [:]
            var stages: [String: UInt64] = [:]
            for event in events {
              switch event {
              case .began(let stage, _, let time): begun[stage.rawValue] = time
              case .ended(let stage, _, let time): stages[stage.rawValue, default: 0] += time - (begun[stage.rawValue] ?? 0)
              default: break
              }
            }
            return StageBudget(stagesNs: stages, totalNs: endNs - startNs)
          })
      }),
    Mutant(
      "rate-over-everything", "Tokens a second over the whole time, prompt included (#634).", breaks: ["X-02"],
      backend: {
        BackendForwarder(
          $0,
          text: { result in
            result.decodeTokensPerSecond = Double(result.ids.count) / (Double(result.totalNs) / 1e9)
          })
      }),
    Mutant(
      "one-pass-deviation", "The deviation is taken in one pass (ML's SampleTimer).", breaks: ["X-04"],
      metrics: {
        MetricsForwarder(
          $0,
          deviation: { values in
            guard !values.isEmpty else { return nil }
            let count = Double(values.count)
            let (sum, squares) = values.reduce((0.0, 0.0)) { ($0.0 + $1, $0.1 + $1 * $1) }
            return max(0, squares / count - (sum / count) * (sum / count)).squareRoot()
          })
      }),
    Mutant(
      "failures-count", "Failed and cancelled runs are counted as successes (0c41ac14b).", breaks: ["X-05"],
      metrics: {
        MetricsForwarder(
          $0,
          measured: { measured, images in
            measured.counted = images
            measured.saysFailed = false
          })
      }),
    Mutant(
      "warm-ups-count", "Warm-ups are counted.", breaks: ["X-06"],
      metrics: {
        MetricsForwarder(
          $0,
          measured: { measured, _ in
            measured.counted += measured.warmups
            measured.warmups = 0
          })
      }),
    Mutant(
      "peak-afterwards", "Peak memory is read when all is over.", breaks: ["X-09"],
      metrics: { MetricsForwarder($0, measured: { measured, _ in measured.peakBytes = measured.baselineBytes }) }),
    Mutant("category-from-text", "The category is guessed from the message (#617).", breaks: ["X-10"]) { mutant, _ in
      let inner = mutant.failure
      mutant.failure = { error in
        var failure = inner(error)
        failure.category = failure.message.contains("etwas") ? "foreign" : failure.message.isEmpty ? nil : "general"
        return failure
      }
    },
  ]
}

/// Metrics that are what other metrics are, but for what is changed.
struct MetricsForwarder: MetricsImplementation {
  private let base: any MetricsImplementation
  private let onDeviation: @Sendable ([Double]) -> Double?
  private let onBudget: @Sendable ([GenerationEvent], UInt64, UInt64) -> StageBudget
  private let changeMeasured: @Sendable (inout Measured, Int) -> Void

  init(
    _ base: any MetricsImplementation, deviation: (@Sendable ([Double]) -> Double?)? = nil,
    budget: (@Sendable ([GenerationEvent], UInt64, UInt64) -> StageBudget)? = nil,
    measured: @escaping @Sendable (inout Measured, Int) -> Void = { _, _ in }
  ) {
    self.base = base
    onDeviation = deviation ?? { base.sampleDeviation($0) }
    onBudget = budget ?? { base.budget(of: $0, startNs: $1, endNs: $2) }
    changeMeasured = measured
  }

  func sampleDeviation(_ values: [Double]) -> Double? { onDeviation(values) }
  func budget(of events: [GenerationEvent], startNs: UInt64, endNs: UInt64) -> StageBudget { onBudget(events, startNs, endNs) }
  func measure(_ backend: any GenBackend, path: String, warmups: Int, images: Int) async throws -> Measured {
    var measured = try await base.measure(backend, path: path, warmups: warmups, images: images)
    changeMeasured(&measured, images)
    return measured
  }
}
