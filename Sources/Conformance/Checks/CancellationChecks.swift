import Dispatch
import GenBackend
import Synchronization

extension Catalogue {
  /// Cancellation and error codes.
  static let cancellationChecks: [SurfaceCheck<DiffusionSurface>] = [
    SurfaceCheck(
      "D-39", "After the handler returned false there are no more calls of it, no image, and at most one more step.",
      level: .normative, group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      for last in [1, 3, 10] {
        let record = try await rig.run(context.options()) { _, number in number != last }
        try context.expectEqual(record.updates.count, last, "false at call \(last): calls of the handler")
        if case .success(let result) = record.outcome, !result.data.isEmpty {
          throw CheckFailure(expected: "false at call \(last): no image", seen: "an image of \(result.data.count) bytes")
        }
        if let run = rig.scripted?.runs.last {
          try context.expect(run.stepsDone <= last + 1, "at most \(last + 1) steps", seen: "\(run.stepsDone)")
        }
      }
    },
    SurfaceCheck(
      "D-40", "After the handler returned false the call throws cancelled.", level: .normative, group: .diffusion,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      for last in [1, 3, 10] {
        let record = try await rig.run(context.options()) { _, number in number != last }
        try context.expectFailure(record, [.cancelled], "false at call \(last)")
      }
    },
    SurfaceCheck(
      "D-41", "cancelImageGeneration() makes the running generation throw cancelled within about one step.", level: .normative,
      group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      let run = rig.start(context.options(), pauseAfterUpdates: 3)
      try await run.arrived()
      try await rig.within("cancelImageGeneration() returns while the engine is at work") {
        try await rig.implementation.cancel()
      }
      run.open()
      let record = try await run.value()
      try context.expectFailure(record, [.cancelled], "a generation that was cancelled")
      try context.expect(record.updates.count <= 4, "at most one more step after the third", seen: "\(record.updates.count)")
    },
    SurfaceCheck(
      "D-42", "Cancelling when nothing runs throws nothing and doesn't touch the next generation.", level: .recommended,
      group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.rig()
      for isLoaded in [false, true] {
        if isLoaded { try await rig.load(.init(checksSafety: false)) }
        do {
          try await rig.within("cancel returns") { try await rig.implementation.cancel() }
        } catch let failure as CheckFailure {
          throw failure
        } catch {
          throw CheckFailure(
            expected: "cancelling nothing throws nothing", seen: rig.implementation.failure(error).description)
        }
      }
      _ = try await rig.run(context.options()).result("the generation after an idle cancel")
    },
    SurfaceCheck(
      "D-43", "The codes tell notInitialized, modelNotFound, cancelled, processingFailed and outOfMemory apart.",
      level: .normative, group: .diffusion
    ) { context in
      let rig = try await context.rig()
      var codes: [(String, ErrorCode, ErrorCode?)] = []
      codes.append(("no model", .notInitialized, try await rig.run(context.options()).code))
      codes.append(
        (
          "no file", .modelNotFound,
          try await rig.tryLoad(.init(checksSafety: false), path: ScriptedModels.missing)?.code
        ))
      codes.append(
        (
          "too big a model", .outOfMemory,
          try await rig.tryLoad(.init(checksSafety: false), path: ScriptedModels.huge)?.code
        ))
      try await rig.load(.init(checksSafety: false))
      codes.append(("a cancelled run", .cancelled, try await rig.run(context.options()) { _, _ in false }.code))
      for (code, wanted) in [(BackendError.Code.processingFailed, ErrorCode.processingFailed), (.outOfMemory, .outOfMemory)] {
        rig.scripted?.script.failure = (4, BackendError(code, "step 4 went wrong"))
        codes.append(("an engine's \(code.rawValue)", wanted, try await rig.run(context.options()).code))
      }
      for (what, wanted, seen) in codes {
        try context.expect(seen == wanted, "\(what): error \(wanted)", seen: seen?.description ?? "no error")
      }
    },
    SurfaceCheck(
      "D-44", "After a cancel the model is still loaded, and the next generation makes the right image.", level: .recommended,
      group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      let wanted = try await rig.image(context.options()).data
      _ = try await rig.run(context.options { $0.seed = 99 }) { _, number in number < 4 }
      try context.expectEqual(await rig.implementation.isLoaded(), true, "loaded after a cancel:")
      try context.expect(try await rig.image(context.options()).data == wanted, "the same image as before", seen: "another one")
    },
    SurfaceCheck(
      "D-45", "Cancelling the task around the call, or dropping the stream, cancels the generation.", level: .recommended,
      group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      let run = rig.start(context.options(), pauseAfterUpdates: 3)
      try await run.arrived()
      run.cancelTask()
      run.open()
      let record = try await run.value()
      try context.expectFailure(record, [.cancelled], "a generation whose task was cancelled")
      try context.expect(record.updates.count <= 4, "at most one more step", seen: "\(record.updates.count)")

      guard let scripted = rig.scripted, rig.implementation.capabilities.contains(.stream) else { return }
      let gate = scripted.pauseNextRun(afterSteps: 3)
      do {
        try await readOneStep(rig, context.options())
      } catch let error where !(error is CheckFailure || error is CheckSkip) {
        throw CheckFailure(expected: "a generation after the cancelled one begins", seen: "\(error)")
      }
      gate.open()
      try await rig.within("the dropped generation ends") {
        while scripted.isRunning || scripted.runs.count < 2 { await Task.yield() }
      }
      let dropped = scripted.runs[1]
      try context.expect(
        dropped.error?.code == .cancelled && dropped.stepsDone <= 4, "the engine stops when its stream is dropped",
        seen: "\(dropped.stepsDone) steps, \(dropped.error?.description ?? "to the end")")
    },
    SurfaceCheck(
      "D-46", "Cancelling from inside the progress handler doesn't deadlock.", level: .recommended, group: .diffusion,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      let hasReturned = Flag()
      let (timeout, implementation) = (context.timeout, rig.implementation)
      let record = try await rig.run(context.options()) { _, number in
        guard number == 3 else { return true }
        // The handler's thread is the engine's; it waits here, as an app might.
        let semaphore = DispatchSemaphore(value: 0)
        Task {
          try? await implementation.cancel()
          semaphore.signal()
        }
        if semaphore.wait(timeout: .now() + .milliseconds(Int(timeout.components.seconds) * 1000 / 2)) == .success {
          hasReturned.set()
        }
        return true
      }
      try context.expect(hasReturned.isSet, "cancel returns while the handler waits for it", seen: "a deadlock")
      try context.expectFailure(record, [.cancelled], "a generation cancelled from its handler")
      try context.expectEqual(record.updates.count, 3, "calls of the handler:")
    },
  ]

  /// Reads a stream up to its first step, then lets go of it.
  private static func readOneStep(_ rig: DiffusionRig, _ options: DiffusionSurface.Options) async throws {
    guard let stream = try await rig.implementation.stream?(options.prompt, options) else { return }
    for try await event in stream { if case .progress = event { return } }
  }

  /// Two at a time.
  static let concurrencyChecks: [SurfaceCheck<DiffusionSurface>] = [
    SurfaceCheck(
      "D-47", "Of two generations at once both get their own results, or the second fails as busy; nothing is mixed.",
      level: .contract, group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      let (first, second) = (context.options { $0.steps = 12 }, context.options("a green hill", .sd15))
      let alone = (try await rig.image(first).data, try await rig.image(second).data)
      let runA = rig.start(first, pauseAfterUpdates: 3)
      try await runA.arrived()
      let runB = rig.start(second)
      _ = await runB.endsWithoutHelp()
      runA.open()
      let (recordA, recordB) = (try await runA.value(), try await runB.value())
      try context.expect(try recordA.result("the first").data == alone.0, "the first one's own image", seen: "another one")
      try context.expectEqual(recordA.updates.map(\.total), Array(repeating: 12, count: 12), "totals that the first handler saw:")
      switch recordB.outcome {
      case .failure(let failure):
        try context.expectEqual(failure.code, .busy, "error of the second:")
        try context.expect(recordB.updates.isEmpty, "no progress of the second", seen: "\(recordB.updates.count) calls")
      case .success(let result):
        try context.expect(result.data == alone.1, "the second one's own image", seen: "another one")
        try context.expectEqual(
          recordB.updates.map(\.total), Array(repeating: 10, count: 10), "totals that the second handler saw:")
      }
    },
    SurfaceCheck(
      "D-48", "Cancelling one generation doesn't touch the next.", level: .recommended, group: .diffusion,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      let runA = rig.start(context.options(), pauseAfterUpdates: 3)
      try await runA.arrived()
      let runB = rig.start(context.options("a green hill"))
      _ = await runB.endsWithoutHelp()
      try await rig.within("cancel returns") { try await rig.implementation.cancel() }
      runA.open()
      try context.expectFailure(try await runA.value(), [.cancelled], "the one that was cancelled")
      let recordB = try await runB.value()
      if case .failure = recordB.outcome { try context.expectFailure(recordB, [.busy], "the second") }
      _ = try await rig.run(context.options("a green hill")).result("the one after")
    },
    SurfaceCheck(
      "D-49", "After an error or a cancel the handler isn't called any more.", level: .recommended, group: .diffusion,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      let cancelled = rig.start(context.options()) { _, number in number != 3 }
      let record = try await cancelled.value()
      try context.expectEqual(record.updates.count, 3, "calls up to the return:")
      // Another whole generation gives whatever was left behind its chance to speak.
      _ = try await rig.image(context.options())
      try context.expectEqual(cancelled.updates.count, 3, "calls of the first handler, in the end:")

      guard let scripted = rig.scripted else { return }
      scripted.script.failure = (5, BackendError(.processingFailed, "step 5 went wrong"))
      let failed = rig.start(context.options())
      try context.expectFailure(try await failed.value(), [.processingFailed], "a run that fails")
      scripted.script.failure = nil
      _ = try await rig.image(context.options())
      try context.expectEqual(failed.updates.count, 4, "calls of the handler of the run that failed:")
    },
    SurfaceCheck(
      "D-54", "The handler may be called on any thread, but its calls never overlap and never change order.",
      level: .recommended, group: .diffusion, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.loaded()
      let record = try await rig.run(context.options { $0.steps = 20 }) { _, number in
        // A slow handler, slow by work and not by waiting.
        var sink = UInt64(number)
        for round in 0..<20_000 { sink = sink &* 6_364_136_223_846_793_005 &+ UInt64(round) }
        return sink != 0 || number > 0
      }
      _ = try record.result()
      try context.expectEqual(record.mostHandlersAtWork, 1, "handler calls at work at once:")
      try context.expect(
        zip(record.updates, record.updates.dropFirst()).allSatisfy { $0.step <= $1.step }, "steps in order",
        seen: "\(record.updates.map(\.step))")
      try context.expectEqual(record.updates.count, 20, "calls before the return:")
    },
  ]
}

extension RunRecord {
  /// The code of its failure; nil when it succeeded.
  var code: ErrorCode? {
    if case .failure(let failure) = outcome { return failure.code }
    return nil
  }
}
