extension Catalogue {
  /// Starts a task that the provider holds.
  private static func heldTask(_ rig: TSAIRig, _ prompt: String = "a red boat") async throws -> (
    TSAIRig.Started, TSAISurface.PendingTask
  ) {
    try rig.testDouble.holdTasks()
    let count = try rig.testDouble.tasks.count
    let task = try await rig.start(prompt)
    try await rig.reaches("the task reaches the provider") { $0.tasks.count == count + 1 }
    return (task, try rig.testDouble.tasks[count])
  }

  /// TSAI: cancelling, and the life of a context.
  static let tsaiCancelChecks: [SurfaceCheck<TSAISurface>] = [
    SurfaceCheck("T-27", "A result that comes after the cancel is dropped.", level: .normative, group: .tsai) { context in
      let rig = try await context.tsai()
      for caller in TSAIRig.Caller.allCases {
        let (task, pending) = try await heldTask(rig)
        try await rig.cancel(task.taskId, from: caller)
        pending.answer()
        await rig.settle()
        try context.expect(
          task.log.calls.allSatisfy { $0.value == nil }, "no result after a cancel from the \(caller.rawValue) thread",
          seen: "one")
      }
    },
    SurfaceCheck(
      "T-28", "The completion of a cancelled task runs once, with Cancelled.", level: .derived, group: .tsai,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.tsai()
      guard context.isScripted else {
        // The first one is at work or done; the second one waits for its turn.
        let first = try await rig.start("a boat")
        let second = try await rig.start("another boat")
        try await rig.cancel(second.taskId)
        try context.expectFailure(try await rig.only(second.log, "the completion"), .cancelled, "a cancelled task")
        try context.expect(
          try await rig.only(first.log, "the completion").value != nil, "the images of the other task", seen: "an error")
        return
      }
      for answersLate in [false, true] {
        let (task, pending) = try await heldTask(rig)
        try await rig.cancel(task.taskId)
        if answersLate { pending.answer() }
        try context.expectFailure(try await rig.only(task.log, "the completion"), .cancelled, "a cancelled task")
        pending.answer()
        await rig.settle()
        try context.expectEqual(task.log.calls.count, 1, "completions after the late result:")
      }
    },
    SurfaceCheck(
      "T-29", "Cancelling what is unknown, empty, done or cancelled already does nothing.", level: .derived, group: .tsai
    ) { context in
      let rig = try await context.tsai()
      for taskId in ["", "unknown", "\u{0}"] { try await rig.cancel(taskId) }
      let done = try await rig.start()
      let call = try await rig.only(done.log, "the completion")
      try context.expect(call.value != nil, "images", seen: "an error")
      try await rig.cancel(done.taskId)
      let (task, _) = try await heldTask(rig)
      for _ in 0..<3 { try await rig.cancel(task.taskId) }
      try await rig.only(task.log, "the completion of a task that was cancelled three times")
      try await rig.cancel(task.taskId)
      await rig.settle()
      try context.expectEqual(task.log.calls.count, 1, "completions of the cancelled task:")
      try context.expectEqual(done.log.calls.count, 1, "completions of the task that was done:")
    },
    SurfaceCheck("T-30", "Cancelling a task leaves others alone.", level: .derived, group: .tsai) { context in
      let rig = try await context.tsai()
      let (first, pendingFirst) = try await heldTask(rig, "a boat")
      let (second, pendingSecond) = try await heldTask(rig, "a house")
      try await rig.cancel(first.taskId)
      pendingSecond.answer()
      pendingFirst.answer()
      let call = try await rig.only(second.log, "the completion of the other task")
      try context.expectEqual(call.value?.taskId, second.taskId, "the other task's result:")
      try context.expectEqual(call.value?.images.count, 1, "the other task's images:")
      try context.expectFailure(try await rig.only(first.log, "the completion"), .cancelled, "the cancelled task")
    },
    SurfaceCheck(
      "T-31", "A cancel works within another task's completion, and from any thread.", level: .derived, group: .tsai
    ) { context in
      let rig = try await context.tsai()
      let (victim, pendingVictim) = try await heldTask(rig, "a house")
      let implementation = rig.implementation
      let log = TSAIRig.ImagesLog("images", context.log)
      context.atEnd { log.close() }
      let count = try rig.testDouble.tasks.count
      _ = implementation.generateImages("a boat", TSAIRig.config(), nil) { result, failure in
        implementation.cancelImageGeneration(victim.taskId)
        log.block(result, failure)
      }
      try await rig.reaches("the task reaches the provider") { $0.tasks.count == count + 1 }
      try rig.testDouble.tasks[count].answer()
      try await rig.only(log, "the completion that cancels")
      pendingVictim.answer()
      try context.expectFailure(
        try await rig.only(victim.log, "the completion"), .cancelled, "a task that was cancelled within a completion")
      for caller in TSAIRig.Caller.allCases {
        let (task, _) = try await heldTask(rig)
        try await rig.cancel(task.taskId, from: caller)
        try context.expectFailure(
          try await rig.only(task.log, "the completion"), .cancelled, "a cancel from the \(caller.rawValue) thread")
      }
    },
    SurfaceCheck(
      "T-32", "However a cancel and a delivery race, exactly one of them is told.", level: .derived, group: .tsai
    ) { context in
      let rig = try await context.tsai()
      try rig.need(.controlledQueues)
      let environment = context.subject.environment
      let seeds = context.raceSeed.map { $0...$0 } ?? 1...10_000
      var outcomes: [TSAIRace.Outcome: Int] = [:]
      // In portions, so that the main thread isn't held for long.
      for start in stride(from: seeds.lowerBound, through: seeds.upperBound, by: 500) {
        let part = start...min(start + 499, seeds.upperBound)
        for (outcome, count) in try await TSAIRace.run(seeds: part, environment) { outcomes[outcome, default: 0] += count }
      }
      if context.raceSeed == nil {
        for outcome in TSAIRace.Outcome.allCases where outcomes[outcome] == nil {
          throw CheckFailure(
            expected: "races that end with \(TSAIRace.Outcome.allCases.map(\.rawValue))",
            seen: "none of \(seeds.count) with \(outcome.rawValue)")
        }
      }
      context.note(
        "\(outcomes.values.reduce(0, +)) races: "
          + TSAIRace.Outcome.allCases.map { "\(outcomes[$0] ?? 0) \($0.rawValue)" }.joined(separator: ", "))
    },
    SurfaceCheck(
      "T-33", "The provider hears of a cancel, and may go on working.", level: .normative, group: .tsai
    ) { context in
      let rig = try await context.tsai()
      let (task, pending) = try await heldTask(rig)
      try await rig.cancel(task.taskId)
      try await rig.only(task.log, "the completion")
      try await rig.reaches("the provider hears of the cancel") { $0.cancelled == [task.taskId] }
      pending.answer()
      let (next, pendingNext) = try await heldTask(rig, "a house")
      pendingNext.answer()
      try context.expect(
        try await rig.only(next.log, "the completion").value != nil, "the next task's images", seen: "an error")
    },
    SurfaceCheck(
      "T-34", "Cancelling everything ends each pending completion with Cancelled, and forgets the styles.", level: .contract,
      group: .tsai
    ) { context in
      let rig = try await context.tsai()
      try rig.need(.cancelAllTasks)
      try await rig.fetch()
      let (first, pending) = try await heldTask(rig)
      let (second, _) = try await heldTask(rig)
      try rig.testDouble.holdFetches()
      let fetch = try await rig.startFetch()
      try await rig.reaches("the fetch reaches the provider") { $0.fetches.count == 2 }
      _ = try await rig.call { [implementation = rig.implementation] in implementation.cancelAllTasks() }
      for task in [first, second] {
        try context.expectFailure(try await rig.only(task.log, "the completion"), .cancelled, "a pending task")
      }
      try context.expectFailure(try await rig.only(fetch, "the completion of the fetch"), .cancelled, "a pending fetch")
      try context.expect(rig.implementation.availableStyles() == nil, "no snapshot", seen: "the former one")
      try await rig.reaches("the provider hears of it") { $0.cancelAllCount == 1 }
      pending.answer()
      try rig.testDouble.fetches[1].answer(TSAISurface.usualStyles)
      await rig.settle()
      try context.expectEqual(first.log.calls.count, 1, "completions after a late result:")
      try context.expect(rig.implementation.availableStyles() == nil, "no snapshot after late styles", seen: "one")
    },
    SurfaceCheck(
      "T-35",
      "Where the context isn't active any more, calls end with ContextInactive, and what was pending with it or with ActivationSuperseded.",
      level: .contract, group: .tsai
    ) { context in
      for isReplaced in [false, true] {
        let rig = try await context.tsai()
        try rig.need(.activation)
        try await rig.fetch()
        let (task, pending) = try await heldTask(rig)
        let implementation = rig.implementation
        _ = try await rig.call { if isReplaced { implementation.activateAnother() } else { implementation.deactivate() } }
        pending.answer()
        let failure = try await rig.only(task.log, "the completion of the pending task").failure
        try context.expect(
          failure?.code == .contextInactive || failure?.code == .activationSuperseded,
          "a pending task: contextInactive or activationSuperseded", seen: failure.map { "\($0)" } ?? "images")
        try context.expectFailure(try await rig.generate(), .contextInactive, "a generation")
        try context.expectFailure(try await rig.fetch(), .contextInactive, "a fetch")
      }
    },
  ]
}

/// Races of a cancel against a delivery, in an order that a seed decides.
enum TSAIRace {
  /// How a race ended.
  enum Outcome: String, Sendable, Hashable, CaseIterable {
    case result, cancelled
  }

  /// Runs one race a seed.
  ///
  /// - Throws: ``CheckFailure`` with the seed and the order of the first race that didn't end as it must.
  @MainActor static func run(seeds: ClosedRange<UInt64>, _ environment: Environment<TSAISurface>) async throws -> [Outcome: Int] {
    var outcomes: [Outcome: Int] = [:]
    for seed in seeds {
      let scheduler = SeededScheduler(seed: seed)
      let instance = try await environment.make(.init(scheduler: scheduler), EvidenceLog())
      guard let service = instance.testDouble else { throw CheckSkip("needs a scripted provider") }
      outcomes[try race(instance.implementation, service, scheduler), default: 0] += 1
    }
    return outcomes
  }

  private struct Completions {
    var results = 0
    var cancels = 0
    var others: [String] = []
  }

  @MainActor private static func race(
    _ implementation: TSAIImplementation, _ service: any ScriptedTSAIProvider, _ scheduler: SeededScheduler
  ) throws -> Outcome {
    let seed = scheduler.seed
    service.holdTasks()
    let completions = Box(Completions())
    let answeredAfterCancel = Box(false)
    let hasCancelled = Box(false)
    // What the parties do: the service answers, sometimes twice; the caller cancels, sometimes twice, from two threads.
    service.onTask { task in
      for count in 0...Int(seed % 2) {
        scheduler.post("service", "answers\(count == 0 ? "" : " again")") {
          if hasCancelled.value, count == 0 { answeredAfterCancel.value = true }
          task.answer()
        }
      }
    }
    let config = TSAISurface.Config(width: 1, height: 1)
    let taskId = implementation.generateImages("a boat", config, nil) { result, failure in
      var now = completions.value
      if result != nil { now.results += 1 }
      if failure?.code == .cancelled { now.cancels += 1 } else if let failure { now.others.append("\(failure)") }
      completions.value = now
    }
    for lane in 0...Int(seed / 2 % 2) {
      scheduler.post("caller \(lane + 1)", "cancels") {
        implementation.cancelImageGeneration(taskId)
        hasCancelled.value = true
      }
    }
    let isQuiet = scheduler.run()
    func failed(_ expected: String, _ seen: String) -> CheckFailure {
      CheckFailure(
        expected: "race \(seed): \(expected)", seen: "\(seen), in the order: \(scheduler.order.joined(separator: "; "))")
    }
    let end = completions.value
    guard isQuiet else { throw failed("an end", "no end after \(scheduler.order.count) steps") }
    guard end.others.isEmpty else { throw failed("a result or Cancelled", end.others.joined(separator: ", ")) }
    guard end.results + end.cancels == 1 else {
      throw failed("exactly one completion", "\(end.results) results and \(end.cancels) times Cancelled")
    }
    guard end.results == 0 || !answeredAfterCancel.value else {
      throw failed("Cancelled, as the result came after the cancel", "the result")
    }
    return end.results == 1 ? .result : .cancelled
  }
}
