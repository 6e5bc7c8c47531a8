import GenBackend

extension Catalogue {
  /// Tries options that must be refused, and that the engine must never see.
  private static func expectRefusal(
    _ context: CheckContext<DiffusionSurface>, _ rig: DiffusionRig, _ what: String,
    _ change: (inout DiffusionSurface.Options) -> Void,
    variant: DiffusionSurface.Variant = .sd15, codes: [ErrorCode] = [.invalidInput]
  ) async throws {
    var options = context.options("a boat", variant)
    change(&options)
    let before = rig.scripted?.runs.count ?? 0
    let record = try await rig.run(options)
    try context.expectFailure(record, codes, what)
    try context.expect(record.updates.isEmpty, "\(what): refused before inference", seen: "\(record.updates.count) steps")
    try context.expectEqual(rig.scripted?.runs.count ?? 0, before, "\(what): generations that the engine was asked for:")
  }

  private static func expectAccepted(
    _ context: CheckContext<DiffusionSurface>, _ rig: DiffusionRig, _ what: String, _ variant: DiffusionSurface.Variant = .sd15,
    _ change: (inout DiffusionSurface.Options) -> Void
  ) async throws -> RunRecord {
    var options = context.options("a boat", variant)
    change(&options)
    let record = try await rig.run(options)
    _ = try record.result(what)
    return record
  }

  /// What callers may ask for.
  static let inputChecks: [SurfaceCheck<DiffusionSurface>] = [
    SurfaceCheck(
      "D-04", "Steps outside 10...50 are refused with a validation error, never clamped; 10 and 50 are taken.", level: .derived,
      group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      for steps in [9, 51, 0, -1, 1_000_000, Int.max, Int.min] {
        try await expectRefusal(context, rig, "steps \(steps)", { $0.steps = steps })
      }
      for steps in [10, 50] {
        let record = try await expectAccepted(context, rig, "steps \(steps)") { $0.steps = steps }
        try context.expectEqual(record.updates.last?.total, steps, "steps \(steps): total of the progress")
      }
    },
    SurfaceCheck(
      "D-05", "A guidance scale outside 1...20 is refused, as are NaN and infinities; both ends are taken.", level: .derived,
      group: .diffusion
    ) { context in
      let rig = try await context.loaded()
      for scale in [0.99, 0, -1, 20.01, 1000, .nan, .infinity, -.infinity] {
        try await expectRefusal(context, rig, "guidanceScale \(scale)", { $0.guidanceScale = scale })
      }
      for scale in [1.0, 20.0] {
        _ = try await expectAccepted(context, rig, "guidanceScale \(scale)") { $0.guidanceScale = scale }
        if let request = rig.scripted?.runs.last?.request {
          try context.expectEqual(request.guidanceScale, scale, "guidance scale that the engine sees:")
        }
      }
    },
    SurfaceCheck(
      "D-06", "Sizes that the loaded model isn't made for are refused before inference.", level: .normative, group: .diffusion,
      environments: [.scripted, .engine]
    ) { context in
      let wrong: [(DiffusionSurface.Variant, [(Int, Int)])] = [
        (.sd15, [(0, 0), (512, 0), (513, 512), (512, 768), (768, 512), (256, 256), (1024, 1024), (8, 8), (1 << 30, 512)]),
        (.sd20, [(640, 640), (512, 768), (768, 512), (1024, 1024)]),
        (.sdxl, [(512, 512), (768, 768), (1024, 512), (1023, 1024)]),
      ]
      for (variant, sizes) in wrong {
        guard (try? context.modelPath(variant)) != nil else { continue }
        let rig = try await context.loaded(variant)
        for (width, height) in sizes {
          try await expectRefusal(
            context, rig, "\(variant.rawValue) with \(width)x\(height)",
            {
              $0.width = width
              $0.height = height
            }, variant: variant)
        }
        if context.isScripted { _ = try await expectAccepted(context, rig, "its own size", variant) { _ in } }
      }
    },
    SurfaceCheck(
      "D-07", "A prompt that is empty or nothing but spaces is refused.", level: .recommended, group: .diffusion
    ) { context in
      let rig = try await context.loaded()
      for prompt in ["", " ", "\n\t  \u{2003}"] {
        try await expectRefusal(context, rig, "prompt '\(prompt)'", { $0.prompt = prompt })
      }
    },
    SurfaceCheck(
      "D-08", "A prompt argument that differs from the one in the options is an error, or it wins.", level: .recommended,
      group: .diffusion
    ) { context in
      let rig = try await context.loaded()
      let options = context.options("a green hill")
      let record = try await rig.run(options, prompt: "a red boat")
      if case .failure(let failure) = record.outcome {
        try context.expect(failure.code == .invalidInput, "error invalidInput", seen: failure.description)
        return
      }
      let wanted = try await rig.image(context.options("a red boat"))
      try context.expect(
        try record.result().data == wanted.data, "an error, or the image of the argument", seen: "the image of options.prompt")
    },
    SurfaceCheck(
      "D-29", "Negative seeds but -1, and seeds above 4294967295, are refused; they neither trap nor wrap.", level: .recommended,
      group: .diffusion, needs: [.seed]
    ) { context in
      let rig = try await context.loaded()
      for seed: Int64 in [-2, Int64.min, 1 << 32, Int64.max] {
        try await expectRefusal(context, rig, "seed \(seed)", { $0.seed = seed })
      }
      let record = try await expectAccepted(context, rig, "seed 4294967295") { $0.seed = 4_294_967_295 }
      try context.expectEqual(try record.result().seed, 4_294_967_295, "seed that was used:")
    },
    SurfaceCheck(
      "D-59", "A mask without an image is refused.", level: .contract, group: .diffusion, needs: [.inpainting]
    ) { context in
      let rig = try await context.loaded()
      let mask = try TestImages.png(TestImages.mask(side: 512))
      for mode in [DiffusionSurface.Mode.inpainting, .textToImage] {
        try await expectRefusal(
          context, rig, "a mask alone in mode \(mode.rawValue)",
          {
            $0.mode = mode
            $0.mask = mask
          })
      }
    },
    SurfaceCheck(
      "D-66", "One step works or is refused with every sampler; no step is refused.", level: .recommended, group: .diffusion,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      let record = try await rig.run(context.options { $0.steps = 1 })
      switch record.outcome {
      case .success: try context.expectEqual(record.updates.count, 1, "calls of the handler:")
      case .failure(let failure): try context.expectEqual(failure.code, .invalidInput, "one step: error")
      }
      try await expectRefusal(context, rig, "steps 0", { $0.steps = 0 })
      guard let backend = rig.implementation.backend else { return }
      let model = try await backend.load(
        LoadRequest(path: try context.modelPath(.sd15), safety: .off), control: GenerationControl())
      for scheduler in context.facts.schedulers {
        for steps in [1, 0] {
          var request = ImageRequest(model: model.id, prompt: "a boat")
          request.size = ImageSize(width: model.sizeMultiple * 2, height: model.sizeMultiple * 2)
          request.steps = steps
          request.scheduler = scheduler
          request.seed = 1
          do {
            let result = try await backend.generateImages(request, control: GenerationControl())
            try context.expect(steps > 0, "\(scheduler) refuses 0 steps", seen: "an image")
            try context.expect(
              !(result.images.first?.bitmap.isConstant ?? true), "\(scheduler) with one step makes an image",
              seen: "nothing, or one colour")
          } catch let error as BackendError {
            try context.expect(
              error.code == .invalidInput, "\(scheduler) with \(steps) steps: an image or invalidInput", seen: error.description)
          }
        }
      }
      await backend.unload(model.id)
    },
    SurfaceCheck(
      "D-67", "A prompt beyond the encoder's window is refused, used whole, or the result says what was cut.",
      level: .recommended, group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      let words = Array(repeating: "boat", count: 119).joined(separator: " ")
      let record = try await rig.run(context.options(words + " red"))
      if case .failure(let failure) = record.outcome {
        try context.expectEqual(failure.code, .invalidInput, "a long prompt: error")
        return
      }
      let result = try record.result()
      if !result.warnings.isEmpty { return context.note("says: \(result.warnings[0])") }
      let other = try await rig.image(context.options(words + " green"))
      try context.expect(
        other.data != result.data, "an error, a warning, or an image that depends on the last word",
        seen: "the same image without a word")
    },
  ]
}
