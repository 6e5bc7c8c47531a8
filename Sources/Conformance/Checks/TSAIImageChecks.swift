extension Catalogue {
  /// TSAI: what may be asked for, and what comes back.
  static let tsaiImageChecks: [SurfaceCheck<TSAISurface>] = [
    SurfaceCheck(
      "T-12", "A call returns a task identifier of its own at once, for arguments that can't be used too.", level: .normative,
      group: .tsai, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.tsai()
      var started: [TSAIRig.Started] = []
      for prompt in ["a red boat", "a red boat", "", "   "] { started.append(try await rig.start(prompt)) }
      started.append(try await rig.start("a boat", TSAIRig.config { $0.imageCount = 0 }))
      started.append(try await rig.start("a boat", TSAIRig.config { $0.language = .auto }))
      for (index, task) in started.enumerated() {
        try context.expect(!task.taskId.isEmpty, "call \(index + 1): an identifier", seen: "an empty one")
      }
      try context.expectEqual(Set(started.map(\.taskId)).count, started.count, "identifiers that differ:")
      for task in started { try await rig.only(task.log, "the completion") }
    },
    SurfaceCheck(
      "T-13", "The completion of a generation runs once, later, on the main thread, with a result or an error.",
      level: .normative, group: .tsai, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.tsai()
      for caller in TSAIRig.Caller.allCases {
        for prompt in ["a red boat", ""] {
          let task = try await rig.start(prompt, from: caller)
          try await rig.only(task.log, "the completion, called from the \(caller.rawValue) thread")
        }
      }
      guard context.isScripted else { return }
      try rig.testDouble.holdTasks()
      let before = try rig.testDouble.tasks.count
      for (index, caller) in TSAIRig.Caller.allCases.enumerated() {
        let task = try await rig.start()
        try await rig.reaches("the task reaches the provider") { $0.tasks.count == before + index + 1 }
        let pending = try rig.testDouble.tasks[before + index]
        _ = try await rig.call(from: caller) { pending.answer() }
        try await rig.only(task.log, "the completion of a task that was answered on the \(caller.rawValue) thread")
      }
    },
    SurfaceCheck("T-14", "A generation without a completion is made like any other.", level: .normative, group: .tsai) {
      context in
      let rig = try await context.tsai()
      let taskId = rig.implementation.generateImages("a red boat", TSAIRig.config(), nil, nil)
      try context.expect(!taskId.isEmpty, "an identifier", seen: "an empty one")
      try await rig.reaches("the task reaches the provider") { $0.tasks.count == 1 }
      _ = rig.implementation.generateImages("", TSAIRig.config(), nil, nil)
      _ = try await rig.images()
    },
    SurfaceCheck(
      "T-15", "A prompt that is empty or blank is refused.", level: .normative, group: .tsai, environments: [.scripted, .engine]
    ) {
      context in
      let rig = try await context.tsai()
      for prompt in ["", " ", "\n\t "] {
        try context.expectFailure(try await rig.generate(prompt), .invalidParameter, "the prompt '\(prompt)'")
      }
      if context.isScripted {
        try context.expectEqual(try rig.testDouble.tasks.count, 0, "tasks that reached the provider:")
      }
    },
    SurfaceCheck(
      "T-16", "Fewer than one image and more than the limit are refused; both ends of the range are made.", level: .normative,
      group: .tsai
    ) { context in
      let rig = try await context.tsai()
      try rig.testDouble.maximumImageCount = 3
      for count in [Int.min, -1, 0, 4, Int.max] {
        let call = try await rig.generate("a boat", TSAIRig.config { $0.imageCount = count })
        try context.expectFailure(call, .invalidParameter, "\(count) images of 3")
      }
      for count in [1, 3] {
        let result = try await rig.images("a boat", TSAIRig.config { $0.imageCount = count })
        try context.expectEqual(result.images.count, count, "images:")
        try context.expectEqual(
          try rig.testDouble.tasks.last?.request.imageCount, count, "images that the provider was asked for:")
      }
    },
    SurfaceCheck("T-17", "Where the limit is zero, images and styles end with NotSupported.", level: .derived, group: .tsai) {
      context in
      let rig = try await context.tsai()
      try rig.testDouble.maximumImageCount = 0
      try context.expectFailure(try await rig.generate(), .notSupported, "a generation with a limit of zero")
      try context.expectFailure(try await rig.fetch(), .notSupported, "a fetch with a limit of zero")
    },
    SurfaceCheck("T-18", "A style that is nil or empty leaves the choice to the provider.", level: .normative, group: .tsai) {
      context in
      let rig = try await context.tsai()
      for style in [nil, ""] as [String?] {
        for hasSnapshot in [false, true] {
          if hasSnapshot { try await rig.fetch() }
          _ = try await rig.images("a boat", TSAIRig.config { $0.styleIdentifier = style })
          let seen = try rig.testDouble.tasks.last?.request.styleIdentifier
          try context.expect(seen?.isEmpty ?? true, "no style for the provider", seen: "'\(seen ?? "")'")
        }
      }
    },
    SurfaceCheck(
      "T-19", "A style that isn't in the provider's current snapshot is refused, one of a former provider too.",
      level: .normative, group: .tsai
    ) { context in
      let rig = try await context.tsai()
      try await rig.fetch()
      for style in ["oil", "PHOTO", "photo "] {
        let call = try await rig.generate("a boat", TSAIRig.config { $0.styleIdentifier = style })
        try context.expectFailure(call, .invalidParameter, "the style '\(style)'")
      }
      _ = try await rig.images("a boat", TSAIRig.config { $0.styleIdentifier = "photo" })
      try context.expectEqual(try rig.testDouble.tasks.last?.request.styleIdentifier, "photo", "the provider's style:")

      try rig.testDouble.styles = [TSAISurface.Style(name: "Oil", identifier: "oil")]
      try await rig.fetch()
      let dropped = try await rig.generate("a boat", TSAIRig.config { $0.styleIdentifier = "photo" })
      try context.expectFailure(dropped, .invalidParameter, "a style of a former snapshot")

      guard rig.implementation.capabilities.contains(.providerSwitch) else { return }
      let next = try rig.testDouble.makeAnother()
      next.styles = [TSAISurface.Style(name: "Ink", identifier: "ink")]
      rig.implementation.switchProvider(next)
      try await rig.fetch()
      let former = try await rig.generate("a boat", TSAIRig.config { $0.styleIdentifier = "oil" })
      try context.expectFailure(former, .invalidParameter, "a style of the former provider")
      _ = try await rig.images("a boat", TSAIRig.config { $0.styleIdentifier = "ink" })
    },
    SurfaceCheck("T-20", "A style without a snapshot to take it from is refused.", level: .derived, group: .tsai) { context in
      let rig = try await context.tsai()
      let call = try await rig.generate("a boat", TSAIRig.config { $0.styleIdentifier = "photo" })
      try context.expectFailure(call, .invalidParameter, "the style 'photo' before any fetch")
    },
    SurfaceCheck(
      "T-21", "The language Auto is refused, Unknown becomes the app's own, others reach the provider as they are.",
      level: .normative, group: .tsai
    ) { context in
      let rig = try await context.tsai()
      let auto = try await rig.generate("a boat", TSAIRig.config { $0.language = .auto })
      try context.expectFailure(auto, .invalidParameter, "the language Auto")
      let own = rig.implementation.appLanguage
      let cases: [(TSAISurface.Language?, TSAISurface.Language)] = [
        (.unknown, own), (nil, own), (.tag("en-US"), .tag("en-US")), (.tag("en-GB"), .tag("en-GB")),
        (.tag("zh-TW"), .tag("zh-TW")), (.tag("ja-JP"), .tag("ja-JP")),
      ]
      for (language, wanted) in cases {
        _ = try await rig.images("a boat", TSAIRig.config { $0.language = language })
        try context.expectEqual(
          try rig.testDouble.tasks.last?.request.language, wanted,
          "the provider's language for \(language.map { "\($0)" } ?? "none")")
      }
    },
    SurfaceCheck(
      "T-22", "The size is in pixels and reaches the provider as it is; zero, negative and non-finite sizes are refused.",
      level: .normative, group: .tsai, environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.tsai()
      for (width, height) in [(64.0, 48.0), (48, 64), (100, 36)] {
        let result = try await rig.images("a boat", TSAISurface.Config(width: width, height: height))
        for image in result.images {
          try context.expect(
            (image.width, image.height) == (Int(width), Int(height)), "\(Int(width)) x \(Int(height)) pixels",
            seen: "\(image.width) x \(image.height)")
        }
        guard context.isScripted, let request = try rig.testDouble.tasks.last?.request else { continue }
        try context.expect(
          (request.width, request.height) == (Int(width), Int(height)), "\(Int(width)) x \(Int(height)) for the provider",
          seen: "\(request.width) x \(request.height)")
      }
      let useless: [(Double, Double)] = [
        (0, 64), (64, 0), (-64, 64), (64, -1), (.nan, 64), (64, .nan), (.infinity, 64), (64, -.infinity),
        (.greatestFiniteMagnitude, 64),
      ]
      for (width, height) in useless {
        let call = try await rig.generate("a boat", TSAISurface.Config(width: width, height: height))
        try context.expectFailure(call, .invalidParameter, "a size of \(width) x \(height)")
      }
    },
    SurfaceCheck(
      "T-23", "What the caller changes in the configuration after the call doesn't reach the task.", level: .contract,
      group: .tsai
    ) { context in
      let rig = try await context.tsai()
      try await rig.fetch()
      let config = TSAIRig.config {
        $0.imageCount = 2
        $0.styleIdentifier = "photo"
        $0.language = .tag("en-US")
      }
      var changed = TSAISurface.Config(width: 32, height: 32)
      changed.imageCount = 3
      changed.styleIdentifier = "sketch"
      changed.language = .tag("ja-JP")
      let task = try await rig.start("a boat", config, thenChanging: changed)
      try await rig.only(task.log, "the completion")
      guard let request = try rig.testDouble.tasks.last?.request else { return }
      try context.expectEqual(request.imageCount, 2, "images:")
      try context.expectEqual(request.styleIdentifier, "photo", "style:")
      try context.expectEqual(request.language, .tag("en-US"), "language:")
      try context.expect((request.width, request.height) == (64, 48), "64 x 48", seen: "\(request.width) x \(request.height)")
    },
    SurfaceCheck(
      "T-24", "The factory of configurations makes one image.", level: .contract, group: .tsai,
      environments: [.scripted, .engine]
    ) {
      context in
      let implementation = try await context.tsai().implementation
      let config = implementation.factoryConfig("photo", 1024, 768)
      try context.expectEqual(config.imageCount, 1, "images:")
      try context.expectEqual(config.styleIdentifier, "photo", "style:")
      try context.expect((config.width, config.height) == (1024, 768), "1024 x 768", seen: "\(config.width) x \(config.height)")
    },
    SurfaceCheck(
      "T-25", "The result carries the identifier that the call returned.", level: .normative, group: .tsai,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.tsai()
      var tasks: [TSAIRig.Started] = []
      for prompt in ["a boat", "a house"] { tasks.append(try await rig.start(prompt)) }
      for task in tasks {
        let call = try await rig.only(task.log, "the completion")
        try context.expectEqual(call.value?.taskId, task.taskId, "taskId:")
      }
    },
    SurfaceCheck(
      "T-26", "A success has at least one image and at most as many as asked for.", level: .derived, group: .tsai,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.tsai()
      for count in [1, min(3, rig.implementation.maximumImageCount())] {
        let images = try await rig.images("a boat", TSAIRig.config { $0.imageCount = count }).images
        try context.expect((1...count).contains(images.count), "1...\(count) images", seen: "\(images.count)")
        for image in images {
          try context.expect(image.width > 0 && image.height > 0, "pixels", seen: "\(image.width) x \(image.height)")
        }
      }
    },
    SurfaceCheck(
      "T-36", "A provider that answers twice is heard once.", level: .normative, group: .tsai
    ) { context in
      let rig = try await context.tsai()
      try rig.testDouble.holdTasks()
      for (index, isFailureFirst) in [false, true].enumerated() {
        let task = try await rig.start()
        try await rig.reaches("the task reaches the provider") { $0.tasks.count == index + 1 }
        let pending = try rig.testDouble.tasks[index]
        if isFailureFirst { pending.fail(.taskFailed) } else { pending.answer() }
        _ = try await rig.first(task.log, "the completion")
        if isFailureFirst { pending.answer() } else { pending.fail(.taskFailed) }
        pending.answer()
        let call = try await rig.only(task.log, "the completion of a task that was answered three times")
        try context.expectEqual(call.value == nil, isFailureFirst, "the first answer was a failure:")
      }
    },
    SurfaceCheck(
      "T-37", "Too many images, none, or those of another task are never handed on as they are.", level: .contract, group: .tsai
    ) { context in
      let rig = try await context.tsai()
      try rig.testDouble.holdTasks()
      let answers: [(String, @Sendable (TSAISurface.PendingTask) -> Void)] = [
        ("five images of two", { $0.answer(count: 5) }), ("no images", { $0.answer(count: 0) }),
        ("another task's images", { $0.answer(taskId: "another") }), ("nobody's images", { $0.answer(taskId: "") }),
      ]
      for (index, (what, answer)) in answers.enumerated() {
        let task = try await rig.start("a boat", TSAIRig.config { $0.imageCount = 2 })
        try await rig.reaches("the task reaches the provider") { $0.tasks.count == index + 1 }
        answer(try rig.testDouble.tasks[index])
        let call = try await rig.only(task.log, "the completion for \(what)")
        if let failure = call.failure {
          try context.expect(failure.code == .invalidResponse, "\(what): error invalidResponse", seen: "\(failure)")
        } else if let result = call.value {
          try context.expect(
            index == 0 && result.images.count <= 2 && result.taskId == task.taskId, "\(what): refused, or cut to two images",
            seen: "\(result.images.count) images of task \(result.taskId == task.taskId ? "this" : "'\(result.taskId)'")")
        }
      }
    },
    SurfaceCheck(
      "T-38", "After the completion nobody but the app holds the images.", level: .derived, group: .tsai,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await context.tsai()
      let probe = WeakProbe()
      let log = CompletionLog<Int, TSAISurface.Failure>("images", context.log)
      context.atEnd { log.close() }
      _ = rig.implementation.generateImages("a boat", TSAIRig.config(), nil) { result, failure in
        for image in result?.images ?? [] { probe.add(image.object) }
        log.block(result?.images.count, failure)
      }
      let call = try await rig.only(log, "the completion")
      try context.expect((call.value ?? 0) > 0, "images", seen: call.failure.map { "\($0)" } ?? "none")
      await Timeout.letOthersRun { probe.liveCount == 0 }
      await rig.settle()
      // The engine's thread may still be on its way out of the call that made them.
      await Timeout.until(context.timeout) { probe.liveCount == 0 }
      try context.expectEqual(probe.liveCount, 0, "images that are still held:")
    },
    SurfaceCheck(
      "T-39", "Calls return at once while the provider's thread stands still.", level: .derived, group: .tsai
    ) { context in
      let rig = try await context.tsai()
      let gate = Gate()
      try rig.testDouble.block(with: gate)
      let fetch = try await rig.startFetch()
      let task = try await rig.start()
      try await rig.cancel(try await rig.start("another boat").taskId, from: .main)
      try context.expect(
        fetch.calls.isEmpty && task.log.calls.isEmpty, "no completion while the provider stands still", seen: "one")
      gate.open()
      try await rig.only(fetch, "the completion of the fetch")
      try await rig.only(task.log, "the completion of the task")
    },
    SurfaceCheck("T-40", "Each failure of the provider has its own code.", level: .contract, group: .tsai) { context in
      let rig = try await context.tsai()
      try rig.testDouble.holdTasks()
      try rig.testDouble.holdFetches()
      let codes: [TSAISurface.Code] = [
        .contentRejected, .timeout, .networkUnavailable, .authorizationRequired, .taskFailed, .busy, .providerUnavailable,
        .bridgeUnavailable,
      ]
      for (index, code) in codes.enumerated() {
        let task = try await rig.start()
        try await rig.reaches("the task reaches the provider") { $0.tasks.count == index + 1 }
        try rig.testDouble.tasks[index].fail(code)
        try context.expectFailure(
          try await rig.only(task.log, "the completion"), code, "a task that failed with \(code)")
        let fetch = try await rig.startFetch()
        try await rig.reaches("the fetch reaches the provider") { $0.fetches.count == index + 1 }
        try rig.testDouble.fetches[index].fail(code)
        try context.expectFailure(try await rig.only(fetch, "the completion"), code, "a fetch that failed with \(code)")
      }
    },
  ]
}
