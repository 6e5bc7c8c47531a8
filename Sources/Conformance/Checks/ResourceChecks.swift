import GenBackend
import Imaging
import Tensors

extension Catalogue {
  /// Memory and compute units.
  static let resourceChecks: [SurfaceCheck<DiffusionSurface>] = [
    SurfaceCheck(
      "D-68", "reduceMemory lowers the peak; the image of the same seed stays the same.", level: .normative, group: .diffusion,
      environments: [.scripted, .engine]
    ) { context in
      var peaks: [Int] = []
      var images: [Bitmap] = []
      for reduces in [false, true] {
        let rig = try await context.loaded(.sd15, reducesMemory: reduces)
        guard let memory = rig.memory else { throw CheckSkip("the engine's memory can't be read") }
        let before = memory.liveBytes()
        memory.reset()
        images.append(try context.decode(try await rig.image(context.options()).data))
        peaks.append(memory.peakBytes() - before)
        try? await rig.implementation.unload()
      }
      context.note("peak \(peaks[0]) bytes, reduced \(peaks[1])")
      try context.expect(peaks[1] < peaks[0], "a peak below \(peaks[0]) bytes with reduceMemory", seen: "\(peaks[1])")
      if images[0] != images[1] {
        let psnr = Comparison.psnr(actual: images[1].unitValues, expected: images[0].unitValues)
        context.note("images within \((psnr * 10).rounded() / 10) dB")
        // Decoding in tiles isn't the same sum; diffusers' own tiles differ by this much.
        try context.expect(psnr >= 30, "the same image within 30 dB", seen: "\(psnr) dB")
      }
    },
    SurfaceCheck(
      "D-69", "After an unload memory is back where it was, and generations in a row don't make it grow.", level: .recommended,
      group: .diffusion, environments: [.scripted, .engine], needs: [.unload]
    ) { context in
      let rig = try await context.rig()
      guard let memory = rig.memory else { throw CheckSkip("the engine's memory can't be read") }
      let before = memory.liveBytes()
      try await rig.load(.init(checksSafety: false))
      _ = try await rig.image(context.options())
      let afterOne = memory.liveBytes()
      for seed in 1...3 { _ = try await rig.image(context.options { $0.seed = Int64(seed) }) }
      let afterFour = memory.liveBytes()
      try await rig.implementation.unload()
      let afterUnload = memory.liveBytes()
      context.note("bytes: \(before), \(afterOne) after one image, \(afterFour) after four, \(afterUnload) unloaded")
      try context.expect(afterFour <= afterOne + afterOne / 50, "no growth over \(afterOne) bytes", seen: "\(afterFour)")
      try context.expect(
        afterUnload <= before + max(0, afterOne - before) / 20, "back to \(before) bytes after the unload", seen: "\(afterUnload)"
      )
    },
    SurfaceCheck(
      "D-70", "Out of memory is an error that is thrown, after which the rest still works.", level: .normative,
      group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      if !context.isScripted {
        guard context.facts.canLimitMemory else { throw CheckSkip("the engine's memory can't be limited") }
        let rig = try await context.loaded(setup: .init(memoryLimit: 100_000))
        try context.expectFailure(try await rig.run(context.options()), [.outOfMemory], "generating with 100000 bytes")
        try context.expectEqual(await rig.implementation.isLoaded(), true, "loaded after it:")
        return
      }
      let rig = try await context.loaded()
      let failure = try await rig.tryLoad(.init(checksSafety: false), path: ScriptedModels.huge)
      try context.expectEqual(failure?.code, .outOfMemory, "loading too big a model: error")
      rig.scripted?.script.failure = (6, BackendError(.outOfMemory, "step 6 needs 4000 MiB"))
      try await rig.load(.init(checksSafety: false))
      try context.expectFailure(try await rig.run(context.options()), [.outOfMemory], "generating too big an image")
      rig.scripted?.script.failure = nil
      _ = try await rig.image(context.options())
    },
    SurfaceCheck(
      "D-71", "The image agrees across compute units.", level: .recommended, group: .diffusion,
      environments: [.scripted, .engine]
    ) { context in
      guard !context.facts.units.isEmpty else { throw CheckSkip("the engine has one compute unit") }
      let usual = try context.decode(try await context.loaded().image(context.options()).data)
      for unit in context.facts.units {
        let other = try context.decode(try await context.loaded(setup: .init(unit: unit)).image(context.options()).data)
        let psnr = Comparison.psnr(actual: other.unitValues, expected: usual.unitValues)
        try context.expect(psnr >= 40, "\(unit) within 40 dB of the usual unit", seen: "\(psnr) dB")
        context.note(psnr.isInfinite ? "\(unit): the same bytes" : "\(unit): \((psnr * 10).rounded() / 10) dB")
      }
    },
  ]

  /// Numbers below the surface, for engines that return a trace.
  static let tensorChecks: [SurfaceCheck<DiffusionSurface>] = [
    SurfaceCheck(
      "D-72", "Timesteps never rise or repeat, are as many as the steps, and lie within 0...999.", level: .recommended,
      group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let engine = try await TensorEngine(context)
      // Samplers that take one entry a step; PNDM has one more, Heun and DPM2 two a step, which the design documents.
      for scheduler in context.facts.schedulers where !["pndm", "heun", "dpm2", "dpm2_a"].contains(scheduler) {
        for steps in [10, 25] {
          let trace = try await engine.trace { request in
            request.scheduler = scheduler
            request.steps = steps
          }
          guard let timesteps = trace["timesteps"]?.elements else {
            throw CheckFailure(expected: "timesteps in the trace", seen: "\(trace.keys.sorted())")
          }
          let what = "\(scheduler) with \(steps) steps"
          try context.expectEqual(timesteps.count, steps, "\(what): timesteps")
          try context.expect(
            zip(timesteps, timesteps.dropFirst()).allSatisfy { $0 > $1 }, "\(what): strictly falling timesteps",
            seen: "\(timesteps)")
          try context.expect(
            timesteps.first.map { $0 <= 999 } ?? false && timesteps.last.map { $0 >= 0 } ?? false, "\(what): within 0...999",
            seen: "\(timesteps.first ?? -1)...\(timesteps.last ?? -1)")
        }
      }
      await engine.close()
    },
    SurfaceCheck(
      "D-73", "The generators named torch, numpy and philox draw their published first numbers.", level: .contract,
      group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let vectors: [(String, UInt64, [Float])] = [
        ("torch", 0, [-1.125840, -1.152360, -0.250579, -0.433879, 0.848710, 0.692009, -0.316013, -2.115219]),
        ("torch", 42, [1.926915, 1.487284, 0.900717, -2.105521, 0.678418, -1.234545, -0.043067, -1.604667]),
        ("numpy", 0, [1.764052, 0.400157, 0.978738, 2.240893]), ("numpy", 42, [0.496714, -0.138264, 0.647689, 1.523030]),
        ("philox", 0, [-0.924662, -0.425344, -2.643846, 0.145184, -0.120867]),
        ("philox", 42, [0.194019, 2.161374, -0.172051, 0.849060]),
      ]
      let engine = try await TensorEngine(context)
      for (name, seed, wanted) in vectors {
        let trace = try await engine.trace { request in
          // DDIM begins with the noise as it is.
          request.scheduler = "ddim"
          request.steps = 1
          request.seed = seed
          request.randomSource = name
        }
        guard let latents = trace["latents.init"]?.elements, latents.count >= wanted.count else {
          throw CheckFailure(expected: "latents.init in the trace", seen: "\(trace.keys.sorted())")
        }
        for (index, (actual, expected)) in zip(latents, wanted).enumerated() {
          try context.expect(
            abs(actual - expected) < 2e-6, "\(name) with seed \(seed): number \(index) is \(expected)", seen: "\(actual)")
        }
      }
      await engine.close()
    },
  ]

  /// A loaded model that is asked for traces of small images.
  private struct TensorEngine {
    let backend: any GenBackend
    let model: ModelInfo

    init(_ context: CheckContext<DiffusionSurface>) async throws {
      guard let backend = try await context.rig().implementation.backend else {
        throw CheckSkip("the engine below isn't reachable")
      }
      self.backend = backend
      model = try await backend.load(
        LoadRequest(path: try context.modelPath(.sd15), safety: .off), control: GenerationControl())
      guard model.capabilities.contains(.trace) else {
        await backend.unload(model.id)
        throw CheckSkip("the engine returns no trace")
      }
    }

    func trace(_ change: (inout ImageRequest) -> Void) async throws -> [String: Tensor] {
      var request = ImageRequest(model: model.id, prompt: "a boat")
      request.size = ImageSize(width: model.sizeMultiple * 2, height: model.sizeMultiple * 2)
      request.seed = 1
      request.guidanceScale = 1
      request.traceLevel = .step
      change(&request)
      return try await backend.generateImages(request, control: GenerationControl()).trace
    }

    func close() async { await backend.unload(model.id) }
  }
}
