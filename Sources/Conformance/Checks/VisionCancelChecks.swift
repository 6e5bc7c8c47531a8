import Foundation
import GenBackend

extension Catalogue {
  /// V-24 to V-31: stopping, and several at once.
  static let visionCancelChecks: [SurfaceCheck<VisionSurface>] = [
    SurfaceCheck(
      "V-24", "A cancel stops the engine at once, and the next answer can be had at once.", level: .normative, group: .vision
    ) { context in
      let rig = try await VisionRig.loaded(context)
      let engine = try rig.testDouble
      let wanted = try await rig.answer().text()
      let run = rig.start(maxTokens: 500, pauseBefore: 5)
      try await run.arrived()
      try await rig.within("cancel returns") { await rig.implementation.cancel() }
      run.open()
      _ = try await run.value()
      try context.expectEqual(try await rig.answer().text("the answer after a cancel"), wanted, "the answer after a cancel:")
      let tokens = engine.runs[1].tokens
      try context.expect(tokens <= 6, "at most one token after the cancel, so 6", seen: "\(tokens)")
      await rig.implementation.cancel()
      await rig.implementation.cancel()
      try context.expectEqual(
        try await rig.answer().text("the answer after idle cancels"), wanted, "the answer after idle cancels:")
    },
    SurfaceCheck("V-25", "A cancelled stream ends with the error cancelled, wherever it was.", level: .normative, group: .vision)
    {
      context in
      let rig = try await VisionRig.loaded(context)
      for token in [0, 1, 10] {
        let run = rig.start(pauseBefore: token)
        try await run.arrived()
        await rig.implementation.cancel()
        run.open()
        try rig.expect(try await run.value().failure, [.cancelled], "a stream that was cancelled before token \(token)")
      }
    },
    SurfaceCheck("V-26", "A cancel before the first token takes effect.", level: .recommended, group: .vision) { context in
      let rig = try await VisionRig.loaded(context)
      let engine = try rig.testDouble
      let run = rig.start(pauseBefore: 0)
      try await run.arrived()
      await rig.implementation.cancel()
      run.open()
      let record = try await run.value()
      try context.expectEqual(record.pieces, [], "pieces:")
      try rig.expect(record.failure, [.cancelled], "the stream")
      try await rig.until("the engine lets go of a cancelled answer") { engine.runs.allSatisfy(\.isOver) }
      try context.expectEqual(engine.runs.last?.tokens ?? 0, 0, "tokens that the engine made:")
    },
    SurfaceCheck(
      "V-27", "Leaving the stream, or cancelling the task that reads it, stops the engine.", level: .recommended, group: .vision
    ) { context in
      let rig = try await VisionRig.loaded(context)
      let engine = try rig.testDouble
      let left = rig.start(maxTokens: 500, pauseBefore: 2, leaveAfter: 2)
      try await left.arrived()
      try await rig.until("the reader leaves after two pieces") { left.hasLeft }
      left.open()
      try await rig.until("the engine lets go of an answer that nobody reads") { engine.runs[0].isOver }
      try context.expect(
        engine.runs[0].tokens <= 3, "an engine that stops when the stream is left", seen: "\(engine.runs[0].tokens) tokens")

      let cancelled = rig.start(maxTokens: 500, pauseBefore: 6)
      try await cancelled.arrived()
      cancelled.cancelTask()
      cancelled.open()
      let record = try await cancelled.value()
      try rig.expect(record.failure, [.cancelled], "a stream whose task is cancelled")
      try await rig.until("the engine lets go of a cancelled answer") { engine.runs.count > 1 && engine.runs[1].isOver }
      try context.expect(
        engine.runs[1].tokens <= 7, "an engine that stops with the task", seen: "\(engine.runs[1].tokens) tokens")
    },
    SurfaceCheck(
      "V-28", "A late cancel doesn't touch the next answer, and a cancelled one delivers nothing more.", level: .contract,
      group: .vision
    ) {
      context in
      let rig = try await VisionRig.loaded(context)
      let wanted = try await rig.answer().text()
      await rig.implementation.cancel()
      try context.expectEqual(
        try await rig.answer().text("the answer after a late cancel"), wanted, "the answer after a late cancel:")

      let cancelled = rig.start(nil, "the one to cancel", pauseBefore: 5)
      try await cancelled.arrived()
      await rig.implementation.cancel()
      cancelled.open()
      let count = try await cancelled.value().pieces.count
      try context.expectEqual(try await rig.answer().text("the one after"), wanted, "the one after:")
      try context.expectEqual(cancelled.pieces.count, count, "pieces of the cancelled one, in the end:")
    },
    SurfaceCheck(
      "V-29", "After an answer that ended, was cancelled or failed, the next one works.", level: .recommended, group: .vision,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.loaded(context)
      let wanted = try await rig.answer().text()
      try context.expectEqual(try await rig.answer().text("the second answer"), wanted, "the second answer:")
      guard let engine = rig.scripted else { return }
      let run = rig.start(pauseBefore: 2)
      try await run.arrived()
      await rig.implementation.cancel()
      run.open()
      _ = try await run.value()
      try context.expectEqual(try await rig.answer().text("the one after a cancel"), wanted, "the one after a cancel:")
      engine.script.failure = (1, BackendError(.processingFailed, "the decoder failed"))
      _ = try await rig.answer()
      engine.script.failure = nil
      try context.expectEqual(try await rig.answer().text("the one after a failure"), wanted, "the one after a failure:")
    },
    SurfaceCheck(
      "V-30", "Of two answers at once the second waits or is refused as busy; their pieces are never mixed.", level: .contract,
      group: .vision
    ) {
      context in
      let rig = try await VisionRig.loaded(context)
      let (first, second) = ("the first question", "the second question of the two")
      let alone = (try await rig.answer(nil, first).text(), try await rig.answer(nil, second).text())
      let runA = rig.start(nil, first, pauseBefore: 4)
      try await runA.arrived()
      let runB = rig.start(nil, second)
      _ = await runB.endsWithoutHelp()
      runA.open()
      let (recordA, recordB) = (try await runA.value(), try await runB.value())
      try context.expectEqual(try recordA.text("the first"), alone.0, "the first answer:")
      if recordB.failure == nil {
        try context.expectEqual(recordB.joined, alone.1, "the second answer:")
      } else {
        try rig.expect(recordB.failure, [.busy], "the second")
        try context.expectEqual(recordB.pieces, [], "pieces of the second:")
      }
    },
    SurfaceCheck(
      "V-31", "Unloading while an answer is made waits for it or cancels it, and nothing comes afterwards.", level: .contract,
      group: .vision
    ) {
      context in
      let rig = try await VisionRig.loaded(context)
      let engine = try rig.testDouble
      let run = rig.start(maxTokens: 500, pauseBefore: 5)
      try await run.arrived()
      let implementation = rig.implementation
      let unload = Task { try await implementation.unload() }
      await Timeout.letOthersRun { false }
      run.open()
      try await rig.within("unload returns") { try await unload.value }
      try context.expect(engine.runs[0].isOver, "an engine that has let go when unload returns", seen: "it's at work")
      let record = try await run.value()
      if record.failure != nil { try rig.expect(record.failure, [.cancelled], "the answer that was at work") }
      try context.expect(!(await implementation.isLoaded()), "not loaded", seen: "loaded")
      try rig.expect(try await rig.answer().failure, [.notInitialized], "an answer after the unload")
    },
  ]
}
