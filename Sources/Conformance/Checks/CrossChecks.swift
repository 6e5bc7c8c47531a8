import GenBackend
import Synchronization
import Tensors

extension Catalogue {
  private static func metrics(_ context: CheckContext<DiffusionSurface>) throws -> MetricsUnderTest {
    guard let metrics = context.facts.metrics else { throw CheckSkip("nothing that reports metrics belongs to the subject") }
    return metrics
  }

  /// Metrics, errors and what concerns every system.
  static let crossChecks: [SurfaceCheck<DiffusionSurface>] = [
    SurfaceCheck(
      "X-01", "Stage times are never negative and sum to at most the total; the first token comes before the end.",
      level: .contract, group: .cross, environments: [.scripted, .engine], isAboutMetrics: true
    ) { context in
      let metrics = try metrics(context)
      let rig = try await context.rig()
      guard let backend = rig.implementation.backend else { throw CheckSkip("the engine below isn't reachable") }
      let events = Mutex<[GenerationEvent]>([])
      let control = GenerationControl { event in events.withLock { $0.append(event) } }
      let model = try await backend.load(
        LoadRequest(path: try context.modelPath(.sd15), safety: .off), control: GenerationControl())
      var request = ImageRequest(model: model.id, prompt: "a boat")
      request.steps = 4
      request.size = context.size()
      let startNs = rig.nowNs
      _ = try await backend.generateImages(request, control: control)
      let endNs = rig.nowNs
      await backend.unload(model.id)
      // As they are, then damaged: an end without a beginning, a beginning without an end, stages that overlap.
      let whole = events.withLock { $0 }
      let overlapping: [GenerationEvent] = [
        .began(.unet, index: nil, timeNs: startNs), .began(.vaeDecode, index: nil, timeNs: startNs),
        .ended(.unet, index: nil, timeNs: endNs), .ended(.vaeDecode, index: nil, timeNs: endNs),
      ]
      for events in [whole, Array(whole.dropFirst()), Array(whole.dropLast(3)), overlapping] {
        let budget = metrics.implementation.budget(of: events, startNs: startNs, endNs: endNs)
        let sum = budget.stagesNs.values.reduce(UInt64(0), &+)
        try context.expectEqual(budget.totalNs, endNs - startNs, "total in ns:")
        try context.expect(sum <= budget.totalNs, "stages that sum to at most \(budget.totalNs) ns", seen: "\(sum) ns")
      }
      try context.expect(
        !metrics.implementation.budget(of: whole, startNs: startNs, endNs: endNs).stagesNs.isEmpty, "stages", seen: "none")
    },
    SurfaceCheck(
      "X-02", "Token rates have a window of their own: prefill and decode apart, absent when the window is empty.",
      level: .recommended, group: .cross
    ) { context in
      guard let backend = try await context.rig().implementation.backend else {
        throw CheckSkip("the engine below isn't reachable")
      }
      guard try await backend.info.capabilities.contains(.textGeneration) else { throw CheckSkip("the engine makes no text") }
      for maxTokens in [1, 5] {
        var request = TextRequest(model: ModelID("any"), prompt: "what is in this picture ?")
        request.maxTokens = maxTokens
        let result = try await backend.generateText(request, control: GenerationControl())
        try context.expect(
          result.timeToFirstTokenNs <= result.totalNs, "the first token before the end",
          seen: "\(result.timeToFirstTokenNs) of \(result.totalNs) ns")
        let window = Double(result.totalNs - result.timeToFirstTokenNs) / 1e9
        if result.ids.count < 2 {
          try context.expect(
            result.decodeTokensPerSecond == nil, "no decode rate for one token",
            seen: "\(result.decodeTokensPerSecond ?? 0) tokens/s")
        } else {
          let wanted = Double(result.ids.count - 1) / window
          let seen = result.decodeTokensPerSecond ?? .nan
          try context.expect(abs(seen - wanted) <= wanted * 0.01, "a decode rate of \(wanted) tokens/s", seen: "\(seen)")
        }
        if let prefill = result.prefillTokensPerSecond {
          let least = Double(result.promptIDs.count) / (Double(result.timeToFirstTokenNs) / 1e9)
          try context.expect(
            prefill.isFinite && prefill >= least * 0.999, "a prefill rate of at least \(least) tokens/s", seen: "\(prefill)")
        }
      }
    },
    SurfaceCheck(
      "X-03", "Durations come from a clock that never goes back, not from the time of day.", level: .recommended, group: .cross
    ) { context in
      let rig = try await context.loaded()
      let record = try await rig.run(context.options())
      let script = rig.scripted?.script ?? Script()
      // The engine's clock stands for the monotonic one; the time of day knows nothing of it.
      let wanted = (script.textNs + 10 * script.stepNs + script.decodeNs) / 1_000_000
      try context.expectEqual(try record.result().milliseconds, wanted, "milliseconds by the monotonic clock:")
    },
    SurfaceCheck(
      "X-04", "The sample deviation equals the two-pass formula, also far from zero.", level: .recommended, group: .cross,
      isAboutMetrics: true
    ) { context in
      let metrics = try metrics(context)
      let samples: [[Double]] = [
        [2, 4, 4, 4, 5, 5, 7, 9], [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16], [3, 3, 3], [0.1, 0.2],
        Array(repeating: 1e8, count: 9) + [1e8 + 1],
      ]
      for values in samples {
        let mean = values.reduce(0, +) / Double(values.count)
        let wanted = (values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(values.count - 1)).squareRoot()
        let seen = metrics.implementation.sampleDeviation(values) ?? .nan
        try context.expect(abs(seen - wanted) <= 1e-9 * max(1, wanted), "deviation \(wanted) of \(values)", seen: "\(seen)")
      }
      for values in [[], [5.0]] {
        let seen = metrics.implementation.sampleDeviation(values)
        try context.expect(seen == nil, "no deviation of \(values.count) values", seen: "\(seen ?? 0)")
      }
    },
    SurfaceCheck(
      "X-05", "Runs that failed or were cancelled aren't counted as successes.", level: .recommended, group: .cross,
      isAboutMetrics: true
    ) { context in
      let metrics = try metrics(context)
      for code in [BackendError.Code.processingFailed, .cancelled] {
        let backend = metrics.makeEngine((4, BackendError(code, "the fourth request")), 0)
        let measured = try await metrics.implementation.measure(backend, path: backend.path, warmups: 1, images: 5)
        try context.expect(
          measured.counted == 2, "2 counted requests: one warm-up, two that worked, then \(code.rawValue)",
          seen: "\(measured.counted)")
        try context.expect(measured.saysFailed, "a run that says that something failed", seen: "all is well")
      }
      let good = metrics.makeEngine(nil, 0)
      let measured = try await metrics.implementation.measure(good, path: good.path, warmups: 0, images: 3)
      try context.expectEqual(measured.counted, 3, "counted requests of three that worked:")
      try context.expectEqual(measured.saysFailed, false, "says failed:")
    },
    SurfaceCheck(
      "X-06", "The first load and the warm-ups are told apart from the counted requests.", level: .normative, group: .cross,
      isAboutMetrics: true
    ) { context in
      let metrics = try metrics(context)
      let backend = metrics.makeEngine(nil, 0)
      let measured = try await metrics.implementation.measure(backend, path: backend.path, warmups: 2, images: 3)
      try context.expectEqual(backend.requestCount, 5, "requests that the engine saw:")
      try context.expectEqual(measured.counted, 3, "counted requests:")
      try context.expectEqual(measured.warmups, 2, "warm-ups:")
      try context.expect(measured.loadNs != nil, "a load time", seen: "none")
      let defaults = metrics.makeEngine(nil, 0)
      let plain = try await metrics.implementation.measure(defaults, path: defaults.path, warmups: 0, images: 2)
      try context.expectEqual(plain.counted, 2, "counted requests without warm-ups:")
    },
    SurfaceCheck(
      "X-07", "A cancel takes at most one step; its latency is told.", level: .recommended, group: .cross,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      let run = rig.start(context.options { $0.steps = 30 }, pauseAfterUpdates: 5)
      try await run.arrived()
      try await rig.within("cancel returns") { try await rig.implementation.cancel() }
      let startNs = rig.nowNs
      run.open()
      let record = try await run.value()
      let latencyNs = rig.nowNs - startNs
      try context.expectFailure(record, [.cancelled], "a generation that was cancelled")
      try context.expect(record.updates.count <= 6, "at most one more step", seen: "\(record.updates.count - 5)")
      if let scripted = rig.scripted {
        try context.expect(
          latencyNs <= scripted.script.stepNs, "at most a step, \(scripted.script.stepNs) ns", seen: "\(latencyNs) ns")
      }
      context.note("cancel latency \(latencyNs / 1000) us")
    },
    SurfaceCheck(
      "X-08", "The settings that were used are told, and are those that were asked for.", level: .recommended, group: .cross,
      environments: [.scripted, .engine], needs: [.effectiveSettings]
    ) { context in
      let rig = try await context.loaded()
      let chosen = try await rig.image(
        context.options {
          $0.steps = 12
          $0.guidanceScale = 3.5
          $0.scheduler = "ddim"
        })
      try context.expectEqual(chosen.steps, 12, "steps:")
      try context.expectEqual(chosen.guidanceScale, 3.5, "guidance scale:")
      try context.expectEqual(chosen.scheduler, "ddim", "sampler:")
      if context.isScripted {
        let plain = try await rig.image(DiffusionSurface.Options(prompt: "a boat"))
        try context.expectEqual(plain.steps, 20, "steps when none are asked for:")
        try context.expectEqual(plain.guidanceScale, 7.5, "guidance scale when none is asked for:")
        try context.expect(plain.scheduler?.isEmpty == false, "the sampler's name", seen: "none")
      }
    },
    SurfaceCheck(
      "X-09", "Peak memory is the largest during the work, with the level before it told apart.", level: .recommended,
      group: .cross, isAboutMetrics: true
    ) { context in
      let metrics = try metrics(context)
      let backend = metrics.makeEngine(nil, 256 << 20)
      let measured = try await metrics.implementation.measure(backend, path: backend.path, warmups: 0, images: 1)
      guard let peak = measured.peakBytes, let baseline = measured.baselineBytes else {
        throw CheckFailure(expected: "peak and baseline", seen: "\(measured)")
      }
      let grown = Int(clamping: peak) - Int(clamping: baseline)
      try context.expect(
        grown >= 128 << 20, "a peak at least 128 MiB above the baseline: 256 MiB were held during the work",
        seen: "\(grown >> 20) MiB")
    },
    SurfaceCheck(
      "X-10", "Errors carry a stable code and category; nobody needs to read a message.", level: .recommended, group: .cross,
      needs: [.errorCategory]
    ) { context in
      let rig = try await context.loaded()
      var categories: [String] = []
      let codes: [(BackendError.Code, ErrorCode)] = [
        (.processingFailed, .processingFailed), (.outOfMemory, .outOfMemory), (.invalidInput, .invalidInput),
        (.notSupported, .notSupported), (.busy, .busy), (.cancelled, .cancelled), (.invalidModel, .modelLoadFailed),
      ]
      for (code, wanted) in codes {
        var seen: Set<SDKFailure> = []
        for message in ["one way to say it", "etwas anderes", ""] {
          rig.scripted?.script.failure = (3, BackendError(code, message))
          var failure = try context.expectFailure(try await rig.run(context.options()), [wanted], "an engine's \(code.rawValue)")
          failure.message = ""
          seen.insert(failure)
        }
        try context.expectEqual(seen.count, 1, "codes and categories of \(code.rawValue), whatever its text:")
        guard let category = seen.first?.category, !category.isEmpty else {
          throw CheckFailure(expected: "a category of \(wanted)", seen: "none")
        }
        categories.append(category)
      }
      try context.expect(Set(categories).count >= 3, "categories that tell apart", seen: "\(Set(categories).sorted())")
    },
    SurfaceCheck(
      "X-11", "The defaults of the documentation, of the types, and those that reach the engine are the same.",
      level: .recommended, group: .cross
    ) { context in
      let rig = try await context.loaded(.sd15, checksSafety: true)
      let options = rig.implementation.defaultOptions("a boat")
      _ = try await rig.image(DiffusionSurface.Options(prompt: "a boat"))
      guard let request = rig.scripted?.runs.last?.request, let load = rig.scripted?.loads.last else { return }
      let table: [(String, String, String?, String?)] = [
        ("width", "512", options.width.map(String.init), request.size.map { String($0.width) }),
        ("height", "512", options.height.map(String.init), request.size.map { String($0.height) }),
        ("steps", "20", options.steps.map(String.init), request.steps.map(String.init)),
        ("guidanceScale", "7.5", options.guidanceScale.map { "\($0)" }, request.guidanceScale.map { "\($0)" }),
        ("previews", "off", options.previewStride == nil ? "off" : "on", request.previewStride == nil ? "off" : "on"),
        ("safety", "required", rig.implementation.defaultConfiguration.checksSafety ? "required" : "off", load.safety.rawValue),
        (
          "reduceMemory", "false", String(rig.implementation.defaultConfiguration.reducesMemory), String(load.reduceMemory)
        ),
      ]
      for (name, documented, type, engine) in table {
        try context.expectEqual(type, documented, "\(name): default of the type")
        try context.expectEqual(engine, documented, "\(name): what reaches the engine")
      }
    },
  ]

}
