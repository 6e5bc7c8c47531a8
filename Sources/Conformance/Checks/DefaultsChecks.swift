import GenBackend

extension Catalogue {
  /// Configuration and defaults.
  static let defaultsChecks: [SurfaceCheck<DiffusionSurface>] = [
    SurfaceCheck(
      "D-01", "A configuration made without arguments has variant sd15, the safety checker on, reduced memory off.",
      level: .normative, group: .diffusion
    ) { context in
      let configuration = try await context.rig().implementation.defaultConfiguration
      try context.expectEqual(configuration.variant, .sd15, "default variant")
      try context.expectEqual(configuration.checksSafety, true, "default enableSafetyChecker")
      try context.expectEqual(configuration.reducesMemory, false, "default reduceMemory")
    },
    SurfaceCheck(
      "D-02", "Options made from a prompt alone have 512x512, 20 steps, guidance 7.5.", level: .normative, group: .diffusion
    ) { context in
      let options = try await context.rig().implementation.defaultOptions("a boat")
      try context.expectEqual(options.prompt, "a boat", "prompt")
      try context.expectEqual(options.width, 512, "default width")
      try context.expectEqual(options.height, 512, "default height")
      try context.expectEqual(options.steps, 20, "default steps")
      try context.expectEqual(options.guidanceScale, 7.5, "default guidanceScale")
    },
    SurfaceCheck(
      "D-03",
      "The variants sd15, sd20 and sdxl exist; they recommend 512x512, 512x512 or 768x768, and 1024x1024.", level: .normative,
      group: .diffusion
    ) { context in
      let implementation = try await context.rig().implementation
      let wanted: [(DiffusionSurface.Variant, Set<Int>)] = [(.sd15, [512]), (.sd20, [512, 768]), (.sdxl, [1024])]
      for (variant, sides) in wanted {
        guard let sizes = implementation.recommendedSizes(variant) else {
          throw CheckFailure(expected: "the variant \(variant.rawValue)", seen: "no such variant")
        }
        try context.expectEqual(
          Set(sizes), Set(sides.map { ImageSize(width: $0, height: $0) }), "recommended sizes of \(variant.rawValue)")
      }
    },
    SurfaceCheck(
      "D-09", "Variants with defaults of their own use them when the caller sets nothing.", level: .contract, group: .diffusion,
      needs: [.distilledVariants]
    ) { context in
      let rig = try await context.rig()
      try await rig.load(.init(checksSafety: false), path: ScriptedModels.distilled)
      _ = try await rig.image(DiffusionSurface.Options(prompt: "a boat"))
      let request = rig.scripted?.runs.last?.request
      try context.expect(
        request?.steps == nil || request?.steps == 4, "4 steps, the variant's own", seen: "\(request?.steps ?? 0) steps")
      try context.expect(
        request?.guidanceScale == nil || request?.guidanceScale == 1, "guidance 1, the variant's own",
        seen: "guidance \(request?.guidanceScale ?? 0)")
    },
    SurfaceCheck(
      "D-10", "Options are values: what the caller changes after the call doesn't touch the running one.", level: .recommended,
      group: .diffusion
    ) { context in
      let rig = try await context.loaded()
      var options = context.options()
      let alone = try await rig.image(options)
      let run = rig.start(options, pauseAfterUpdates: 3)
      try await run.arrived()
      options.seed = 8
      options.steps = 12
      run.open()
      let first = try await run.value().result()
      try context.expect(first.data == alone.data, "the image of the options that were given", seen: "another image")
      let record = try await rig.run(options)
      try context.expectEqual(record.updates.last?.total, 12, "the changed options' steps in the next call:")
      try context.expect(try record.result().data != alone.data, "the next call uses the changed options", seen: "the old image")
    },
  ]
}
