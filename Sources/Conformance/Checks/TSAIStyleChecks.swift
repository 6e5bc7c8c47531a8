extension Catalogue {
  private static let other = [
    TSAISurface.Style(name: "Oil", identifier: "oil"), TSAISurface.Style(name: "Ink", identifier: "ink"),
    TSAISurface.Style(name: "Clay", identifier: "clay"),
  ]

  /// TSAI: support, and the styles of the provider.
  static let tsaiStyleChecks: [SurfaceCheck<TSAISurface>] = [
    SurfaceCheck(
      "T-01", "Images are supported exactly when the limit of images is above zero.", level: .normative, group: .tsai,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.tsai()
      guard context.isScripted else {
        try context.expect(rig.implementation.supportsImageGeneration(), "image generation is supported", seen: "it isn't")
        try context.expect(
          rig.implementation.maximumImageCount() >= 1, "a limit of at least 1", seen: "\(rig.implementation.maximumImageCount())")
        return
      }
      let service = try rig.testDouble
      for (isSupported, limit, wanted) in [(true, 4, 4), (true, 1, 1), (true, 0, 0), (false, 4, 0)] {
        service.isSupported = isSupported
        service.maximumImageCount = limit
        let what = "a provider that \(isSupported ? "supports" : "doesn't support") images, limit \(limit)"
        try context.expectEqual(rig.implementation.maximumImageCount(), wanted, "\(what): maximumImageCount")
        try context.expectEqual(rig.implementation.supportsImageGeneration(), wanted > 0, "\(what): supported")
      }
    },
    SurfaceCheck(
      "T-02", "There are no styles before a fetch has succeeded.", level: .normative, group: .tsai,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.tsai()
      try context.expect(
        rig.implementation.availableStyles() == nil, "no snapshot before the first fetch",
        seen: "\(rig.implementation.availableStyles()?.count ?? 0) styles")
      let call = try await rig.fetch()
      try context.expectEqual(rig.implementation.availableStyles(), call.value, "the snapshot after the fetch")
    },
    SurfaceCheck("T-03", "A fetch of zero styles makes the snapshot empty, not absent.", level: .normative, group: .tsai) {
      context in
      let rig = try await context.tsai()
      try rig.testDouble.styles = []
      let call = try await rig.fetch()
      try context.expectEqual(call.value, [], "styles of the completion")
      try context.expectEqual(rig.implementation.availableStyles(), [], "the snapshot")
    },
    SurfaceCheck("T-04", "A failed fetch leaves the last snapshot alone, an empty one too.", level: .normative, group: .tsai) {
      context in
      for styles in [TSAISurface.usualStyles, []] {
        let rig = try await context.tsai()
        try rig.testDouble.styles = styles
        try await rig.fetch()
        try rig.testDouble.holdFetches()
        let log = try await rig.startFetch()
        try await rig.reaches("the fetch reaches the provider") { $0.fetches.count == 2 }
        try rig.testDouble.fetches[1].fail(.networkUnavailable)
        try context.expectFailure(try await rig.only(log, "the completion"), .networkUnavailable, "a fetch without a network")
        try context.expectEqual(rig.implementation.availableStyles(), styles, "the snapshot after the failure")
      }
    },
    SurfaceCheck("T-05", "A failed first fetch leaves no snapshot.", level: .normative, group: .tsai) { context in
      let rig = try await context.tsai()
      try rig.testDouble.holdFetches()
      let log = try await rig.startFetch()
      try await rig.reaches("the fetch reaches the provider") { $0.fetches.count == 1 }
      try rig.testDouble.fetches[0].fail(.timeout)
      try await rig.only(log, "the completion")
      try context.expect(
        rig.implementation.availableStyles() == nil, "no snapshot",
        seen: "one of \(rig.implementation.availableStyles()?.count ?? 0) styles")
    },
    SurfaceCheck(
      "T-06", "A later fetch replaces the snapshot as a whole, before its completion runs.", level: .derived, group: .tsai
    ) { context in
      let rig = try await context.tsai()
      try await rig.fetch()
      try rig.testDouble.styles = other
      let atCompletion = Box<[TSAISurface.Style]?>(nil)
      let log = TSAIRig.StylesLog("styles", context.log)
      context.atEnd { log.close() }
      let implementation = rig.implementation
      try await rig.call {
        log.during {
          implementation.fetchAvailableStyles { styles, failure in
            atCompletion.value = implementation.availableStyles()
            log.block(styles, failure)
          }
        }
      }
      try await rig.only(log, "the completion")
      try context.expectEqual(atCompletion.value, other, "the snapshot as the completion sees it")
    },
    SurfaceCheck(
      "T-07",
      "The completion of a fetch runs once, later, on the main thread: whoever calls, whatever the outcome, cached or not.",
      level: .normative, group: .tsai, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.tsai()
      for caller in TSAIRig.Caller.allCases {
        try await rig.fetch(from: caller)
        // Now there's a snapshot.
        try await rig.fetch(from: caller)
      }
      guard context.isScripted else { return }
      let failing = try await context.tsai()
      try failing.testDouble.isSupported = false
      for caller in TSAIRig.Caller.allCases { try await failing.fetch(from: caller) }
      // The provider's answers on a thread of its own, and on the main one.
      let held = try await context.tsai()
      try held.testDouble.holdFetches()
      for (index, caller) in TSAIRig.Caller.allCases.enumerated() {
        let log = try await held.startFetch()
        try await held.reaches("the fetch reaches the provider") { $0.fetches.count == index + 1 }
        let fetch = try held.testDouble.fetches[index]
        _ = try await held.call(from: caller) { fetch.answer(other) }
        try await held.only(log, "the completion of a fetch that was answered on the \(caller.rawValue) thread")
      }
    },
    SurfaceCheck("T-08", "A completion of a fetch has styles or an error, never both or neither.", level: .derived, group: .tsai)
    {
      context in
      let rig = try await context.tsai()
      for styles in [TSAISurface.usualStyles, []] {
        try rig.testDouble.styles = styles
        let call = try await rig.fetch()
        try context.expectEqual(call.value, styles, "styles of a fetch of \(styles.count)")
        try context.expect(call.failure == nil, "no error beside them", seen: call.failure.map { "\($0)" } ?? "")
      }
      try rig.testDouble.isSupported = false
      let call = try await rig.fetch()
      try context.expect(
        call.failure != nil && call.value == nil, "an error and no styles", seen: "\(call.value?.count ?? 0) styles")
    },
    SurfaceCheck("T-09", "A fetch without a completion updates the snapshot too.", level: .normative, group: .tsai) { context in
      let rig = try await context.tsai()
      try rig.testDouble.styles = other
      rig.implementation.fetchAvailableStyles(nil)
      try await rig.reaches("the fetch reaches the provider") { $0.fetches.count == 1 }
      // A second fetch that fails comes to its end after the first one.
      try rig.testDouble.holdFetches()
      let log = try await rig.startFetch()
      try await rig.reaches("the second fetch reaches the provider") { $0.fetches.count == 2 }
      try rig.testDouble.fetches[1].fail(.timeout)
      try await rig.only(log, "the completion")
      try context.expectEqual(rig.implementation.availableStyles(), other, "the snapshot")
    },
    SurfaceCheck(
      "T-10", "Fetches at the same time have a completion each, and the snapshot is that of one of them.", level: .derived,
      group: .tsai
    ) { context in
      let rig = try await context.tsai()
      try rig.testDouble.holdFetches()
      var logs: [TSAIRig.StylesLog] = []
      for _ in 0..<4 { logs.append(try await rig.startFetch()) }
      try await rig.reaches("a fetch reaches the provider") { !$0.fetches.isEmpty }
      let answers = [TSAISurface.usualStyles, other, [], [other[0], TSAISurface.usualStyles[1]]]
      await rig.settle()
      // An implementation may ask once for all that wait.
      var answered = 0
      while answered < (try rig.testDouble.fetches.count) {
        try rig.testDouble.fetches[answered].answer(answers[answered % answers.count])
        answered += 1
        await rig.settle()
      }
      for (index, log) in logs.enumerated() { try await rig.only(log, "the completion of fetch \(index + 1) of 4") }
      let snapshot = rig.implementation.availableStyles()
      try context.expect(
        answers.prefix(answered).contains { $0 == snapshot }, "the styles of one fetch",
        seen: snapshot.map { "\($0.map(\.identifier))" } ?? "no snapshot")
    },
    SurfaceCheck(
      "T-11", "A snapshot stays as it is while the provider's styles change.", level: .derived, group: .tsai
    ) { context in
      let rig = try await context.tsai()
      let fetched = try await rig.fetch().value
      let obtained = rig.implementation.availableStyles()
      try rig.testDouble.styles = other
      try context.expectEqual(obtained, fetched, "the array that was obtained")
      try context.expectEqual(rig.implementation.availableStyles(), fetched, "the snapshot without a new fetch")
    },
  ]
}
