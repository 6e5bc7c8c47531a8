import GenBackend
import Tensors

extension Catalogue {
  /// Progress and previews.
  static let progressChecks: [SurfaceCheck<DiffusionSurface>] = [
    SurfaceCheck(
      "D-50", "Progress lies in 0...1 and never goes back, nor does the step; the total stays.", level: .normative,
      group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      for count in rig.implementation.capabilities.contains(.batch) ? [1, 2] : [1] {
        let record = try await rig.run(context.options { $0.imageCount = count == 1 ? nil : count })
        let updates = record.updates
        try context.expect(!updates.isEmpty, "calls of the handler", seen: "none")
        let shown = "\(updates.map { "\($0.step)/\($0.total) \($0.progress)" })"
        try context.expect(updates.allSatisfy { (0...1).contains($0.progress) }, "progress in 0...1", seen: shown)
        for (before, after) in zip(updates, updates.dropFirst()) {
          try context.expect(after.progress >= before.progress, "progress that never goes back", seen: shown)
          try context.expect(after.step >= before.step, "a step that never goes back", seen: shown)
          try context.expect(after.total == before.total, "a constant total", seen: shown)
        }
      }
    },
    SurfaceCheck(
      "D-51", "The handler is called once for each step.", level: .normative, group: .diffusion,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      for scheduler in rig.implementation.capabilities.contains(.scheduler) ? ["pndm", "heun", "ddim"] : [nil] {
        let record = try await rig.run(context.options { $0.scheduler = scheduler })
        let total = record.updates.last?.total ?? 0
        try context.expectEqual(record.updates.count, 10, "\(scheduler ?? "default"): calls of the handler for 10 steps:")
        try context.expectEqual(total, 10, "\(scheduler ?? "default"): total")
        try context.expectEqual(Set(record.updates.map(\.step)).count, 10, "\(scheduler ?? "default"): different steps")
      }
    },
    SurfaceCheck(
      "D-52", "Steps count from 0 or from 1, progress fits them, and the last call reaches 1.", level: .normative,
      group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let updates = try await context.loaded().run(context.options()).updates
      guard let first = updates.first, let last = updates.last else {
        throw CheckFailure(expected: "calls of the handler", seen: "none")
      }
      try context.expect(first.step == 0 || first.step == 1, "a first step of 0 or 1", seen: "\(first.step)")
      try context.expectEqual(last.progress, 1, "progress of the last call:")
      for update in updates where update.total > 0 {
        let done = Double(update.step + (first.step == 0 ? 1 : 0)) / Double(update.total)
        try context.expect(
          abs(update.progress - done) < 1e-9, "progress \(done) at step \(update.step) of \(update.total)",
          seen: "\(update.progress)")
      }
      context.note("counts from \(first.step)")
    },
    SurfaceCheck(
      "D-53", "totalSteps is the number of steps that are run, also in image-to-image.", level: .contract, group: .diffusion,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      let plain = try await rig.run(context.options { $0.steps = 15 })
      try context.expectEqual(plain.updates.last?.total, 15, "total of 15 steps:")
      try context.expectEqual(plain.updates.count, 15, "calls for 15 steps:")
      guard rig.implementation.capabilities.contains(.imageToImage) else { return }
      let image = try TestImages.png(TestImages.halves(width: 512, height: 512))
      let record = try await rig.run(
        context.options {
          $0.steps = 20
          $0.mode = .imageToImage
          $0.image = image
          $0.strength = 0.5
        })
      let result = try record.result()
      try context.expectEqual(record.updates.last?.total, 10, "total of 20 steps at strength 0.5:")
      try context.expectEqual(record.updates.count, 10, "calls of the handler:")
      if let told = result.steps { try context.expectEqual(told, 10, "steps that the result tells:") }
    },
    SurfaceCheck(
      "D-55", "With previews off nothing is decoded in between.", level: .recommended, group: .diffusion
    ) { context in
      let rig = try await context.loaded()
      let record = try await rig.run(context.options())
      try context.expect(record.updates.allSatisfy { $0.preview == nil }, "no previews", seen: "some")
      try context.expectEqual(rig.scripted?.runs.last?.previews, 0, "previews that the engine decoded:")
    },
    SurfaceCheck(
      "D-56", "With previews on there is one every stride steps, of the right size; the last one is the final image.",
      level: .contract, group: .diffusion, environments: [.scripted, .engine], needs: [.previews]
    ) { context in
      let rig = try await context.loaded()
      let record = try await rig.run(context.options { $0.previewStride = 3 })
      let first = record.updates.first?.step ?? 1
      let places = record.updates.filter { $0.preview != nil }.map { $0.step - first + 1 }
      try context.expect(
        places == [3, 6, 9, 10] || places == [3, 6, 9], "previews after steps 3, 6, 9 (and 10)", seen: "\(places)")
      for update in record.updates {
        guard let preview = update.preview else { continue }
        let image = try context.decode(preview, "preview")
        try context.expectEqual(
          ImageSize(width: image.width, height: image.height), context.size(), "size of the preview of step \(update.step):")
      }
      guard places.last == 10, let last = record.updates.last?.preview else { return }
      let (preview, final) = (try context.decode(last), try context.decode(try record.result().data))
      let worst = zip(preview.samples, final.samples).map { abs(Int($0) - Int($1)) }.max() ?? 0
      try context.expect(worst <= 3, "a last preview within 3 levels of the final image", seen: "\(worst) levels apart")
    },
    SurfaceCheck(
      "D-57", "A stream tells started, the steps, and exactly one end, which carries the result.", level: .contract,
      group: .diffusion, needs: [.stream]
    ) { context in
      let rig = try await context.loaded()
      let wanted = try await rig.image(context.options()).data
      let options = context.options()
      guard let stream = try await rig.implementation.stream?(options.prompt, options) else {
        throw CheckFailure(expected: "a stream, as the implementation claims", seen: "none")
      }
      let reader = Task { () -> [DiffusionSurface.Event] in
        var events: [DiffusionSurface.Event] = []
        for try await event in stream { events.append(event) }
        return events
      }
      let events = try await rig.within("the stream ends") { try await reader.value }
      try context.expect(events.first == .started, "started first", seen: events.first.map { "\($0)" } ?? "nothing")
      let steps = events.count { if case .progress = $0 { true } else { false } }
      try context.expectEqual(steps, 10, "steps in the stream:")
      let ends = events.enumerated().filter { if case .completed = $0.element { true } else { false } }
      try context.expectEqual(ends.map(\.offset), [events.count - 1], "places of the end:")
      if case .completed(let result)? = events.last {
        try context.expect(result.data == wanted, "the result in the last event", seen: "\(result.data.count) other bytes")
      }
      rig.scripted?.script.failure = (4, BackendError(.processingFailed, "step 4 went wrong"))
      guard let failing = try await rig.implementation.stream?(options.prompt, options) else { return }
      let implementation = rig.implementation
      let failure = try await rig.within("the failing stream ends") { () -> SDKFailure? in
        do {
          for try await event in failing {
            if case .completed = event { return nil }
          }
          return nil
        } catch {
          return implementation.failure(error)
        }
      }
      try context.expectEqual(failure?.code, .processingFailed, "error of a stream whose engine fails:")
    },
  ]
}
