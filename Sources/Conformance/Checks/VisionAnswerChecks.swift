import Foundation
import GenBackend

extension Catalogue {
  /// V-17 to V-23, V-32 to V-38: what is answered.
  static let visionAnswerChecks: [SurfaceCheck<VisionSurface>] = [
    SurfaceCheck(
      "V-17", "The stream has at most maxTokens pieces; maxTokens below 1 is refused.", level: .normative, group: .vision,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.loaded(context)
      for limit in [1, 3, 7] {
        let record = try await rig.answer(maxTokens: limit)
        _ = try record.text("an answer of at most \(limit) tokens")
        try context.expect(record.pieces.count <= limit, "at most \(limit) pieces", seen: "\(record.pieces.count)")
        if let tokens = record.metrics?.completionTokens {
          try context.expect(tokens <= limit, "at most \(limit) tokens", seen: "\(tokens)")
        }
      }
      for limit in [0, -1, Int.min] {
        let record = try await rig.answer(maxTokens: limit)
        try rig.expect(record.failure, [.invalidInput], "maxTokens \(limit)")
      }
    },
    SurfaceCheck(
      "V-18", "The pieces of the stream together are the whole answer, byte for byte.", level: .normative, group: .vision,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.loaded(context)
      try rig.need(.wholeAnswers)
      for limit in [11, 64] {
        let streamed = try await rig.answer(maxTokens: limit).text()
        let whole = try await rig.within("the whole answer comes") {
          try await rig.implementation.wholeAnswer(rig.picture(), VisionRig.prompt, limit)
        }
        try context.expectEqual(streamed, whole, "the pieces together, as the whole of at most \(limit) tokens:")
      }
    },
    SurfaceCheck(
      "V-19", "Pieces come in the order of generation, none after the end, and the end comes once.", level: .normative,
      group: .vision
    ) {
      context in
      let rig = try await VisionRig.loaded(context)
      let engine = try rig.testDouble
      for round in 0..<20 {
        let record = try await rig.answer(nil, "question \(round)")
        _ = try record.text()
        guard let request = engine.runs.last?.request else { throw CheckFailure(expected: "a request", seen: "none") }
        let wanted = engine.pieces(of: request)
        try context.expectEqual(record.joined, wanted.joined(), "the text of answer \(round + 1):")
      }
      let answer = try await rig.implementation.process(rig.picture(), "and then", 64, .init())
      let after = try await rig.within("the stream ends twice") { try await Self.readPastTheEnd(answer.stream) }
      try context.expectEqual(after, 0, "pieces after the end:")
    },
    SurfaceCheck(
      "V-20", "A character that is split over tokens arrives whole: no U+FFFD, emoji and CJK as they were.", level: .recommended,
      group: .vision
    ) {
      context in
      let rig = try await VisionRig.loaded(context)
      let record = try await rig.answer()
      let text = try record.text()
      for part in ["🦊", "漢字"] { try context.expect(text.contains(part), "'\(part)' in the answer", seen: text) }
      try context.expect(
        !record.pieces.contains { $0.unicodeScalars.contains("\u{FFFD}") }, "no U+FFFD in any piece", seen: "\(record.pieces)")
    },
    SurfaceCheck("V-21", "Marks of the end, of the template and of images are never seen.", level: .recommended, group: .vision) {
      context in
      let rig = try await VisionRig.loaded(context)
      for limit in [5, 64] {
        let text = try await rig.answer(maxTokens: limit).text()
        let marks = ["<|", "|>", "<end_of_utterance>", "</s>", "<s>", "<image>", "<fake_token", "<row_", "[INST]"]
        for mark in marks { try context.expect(!text.contains(mark), "no '\(mark)' in the answer", seen: text) }
      }
    },
    SurfaceCheck(
      "V-22", "Why an answer ended is told, and told rightly: stop, length, cancelled, error.", level: .contract, group: .vision,
      environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.loaded(context)
      try rig.need(.metrics)
      try context.expectEqual(try await rig.answer(maxTokens: 2).metrics?.finishReason, "length", "reason at the limit:")
      guard let engine = rig.scripted else { return }
      try context.expectEqual(
        try await rig.answer(maxTokens: 500).metrics?.finishReason, "stop", "reason of the model's own end:")
      let run = rig.start(pauseBefore: 3)
      try await run.arrived()
      await rig.implementation.cancel()
      run.open()
      try context.expectEqual(try await run.value().metrics?.finishReason, "cancelled", "reason after a cancel:")
      engine.script.failure = (2, BackendError(.processingFailed, "the decoder failed"))
      try context.expectEqual(try await rig.answer().metrics?.finishReason, "error", "reason after a failure:")
    },
    SurfaceCheck(
      "V-23", "A failure in the middle is thrown out of the stream; it's never a short answer.", level: .recommended,
      group: .vision
    ) {
      context in
      let rig = try await VisionRig.loaded(context)
      let engine = try rig.testDouble
      for token in [0, 4] {
        engine.script.failure = (token, BackendError(.processingFailed, "the decoder failed"))
        try rig.expect(try await rig.answer().failure, [.processingFailed], "a failure before token \(token)")
      }
      engine.script.failure = nil
      _ = try await rig.answer().text("the answer after it")
    },
    SurfaceCheck(
      "V-32", "Answers don't depend on earlier ones.", level: .normative, group: .vision, environments: [.scripted, .engine]
    ) { context in
      let alone = try await VisionRig.loaded(context)
      let wanted = try await alone.answer(alone.picture(2)).text()
      let rig = try await VisionRig.loaded(context)
      let first = try await rig.answer(rig.picture(1), "another question").text()
      try context.expectEqual(try await rig.answer(rig.picture(2)).text(), wanted, "the second answer, as when it's the first:")
      try context.expectEqual(try await rig.answer(rig.picture(1), "another question").text(), first, "the first one again:")
    },
    SurfaceCheck(
      "V-33", "Metrics count real tokens, those of the prompt too, and the first token comes before the end.", level: .contract,
      group: .vision, environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.loaded(context)
      try rig.need(.metrics)
      for limit in [1, 6, 64] {
        let metrics = try await rig.answer(maxTokens: limit).metrics
        guard let prompt = metrics?.promptTokens, let tokens = metrics?.completionTokens, let total = metrics?.totalMs else {
          throw CheckFailure(
            expected: "tokens of the prompt, of the answer, and the time", seen: CheckContext<VisionSurface>.shown(metrics))
        }
        try context.expect(prompt > 0, "tokens of the prompt", seen: "\(prompt)")
        if let first = metrics?.firstTokenMs {
          try context.expect(first <= total, "the first token before the end", seen: "\(first) of \(total) ms")
        }
        guard let run = rig.scripted?.runs.last else { continue }
        try context.expectEqual(tokens, run.tokens, "tokens of the answer:")
        let words = run.request.prompt.split(separator: " ").count
        try context.expectEqual(prompt, words + (rig.scripted?.imageTokens ?? 0), "tokens of the prompt:")
      }
    },
    SurfaceCheck(
      "V-34", "The rate of decoding is over the time of decoding: the image and the prompt don't count.", level: .recommended,
      group: .vision
    ) {
      context in
      let rig = try await VisionRig.loaded(context)
      try rig.need(.metrics)
      for side in [8, 64] {
        let metrics = try await rig.answer(rig.picture(1, width: side, height: side)).metrics
        guard let rate = metrics?.tokensPerSecond, let tokens = metrics?.completionTokens, let first = metrics?.firstTokenMs,
          let total = metrics?.totalMs
        else { throw CheckFailure(expected: "a rate, tokens and times", seen: CheckContext<VisionSurface>.shown(metrics)) }
        let seconds = (total - first) / 1000
        let allowed = [Double(tokens - 1) / seconds, Double(tokens) / seconds]
        try context.expect(
          allowed.contains { abs($0 - rate) <= 0.01 * $0 }, "\(allowed[0]) or \(allowed[1]) tokens a second", seen: "\(rate)")
      }
    },
    SurfaceCheck(
      "V-36", "A large image is made smaller or refused, and takes its time; it never brings the engine down.", level: .normative,
      group: .vision, environments: [.scripted, .engine]
    ) { context in
      let rig = try await VisionRig.loaded(context)
      let small = try await rig.answer(rig.picture(1, width: 16, height: 16), maxTokens: 2)
      let large = try await rig.answer(rig.picture(1, width: 1024, height: 640), maxTokens: 2)
      if let failure = large.failure {
        try rig.expect(failure, [.other("invalidImage"), .invalidInput, .outOfMemory], "a large image")
      } else if rig.scripted != nil, let first = small.metrics?.firstTokenMs, let second = large.metrics?.firstTokenMs {
        try context.expect(second > first, "a first token later than the small image's \(first) ms", seen: "\(second) ms")
      }
      _ = try await rig.answer(rig.picture(1, width: 16, height: 16)).text("a small image after it")
    },
    SurfaceCheck(
      "V-37", "Each piece holds what is new: what is delivered grows as the answer does.", level: .recommended, group: .vision
    ) {
      context in
      let rig = try await VisionRig.loaded(context)
      let engine = try rig.testDouble
      var lengths: [Int] = []
      for tokens in [500, 2000] {
        engine.script.naturalLength = tokens
        let record = try await rig.answer(maxTokens: tokens + 1)
        _ = try record.text()
        lengths.append(record.pieces.reduce(0) { $0 + $1.utf8.count })
      }
      let wanted = engine.pieces(of: engine.runs[1].request).reduce(0) { $0 + $1.utf8.count }
      try context.expectEqual(lengths[1], wanted, "bytes delivered for 2000 tokens:")
      try context.expect(lengths[1] < 5 * lengths[0], "about four times the bytes for four times the tokens", seen: "\(lengths)")
    },
    SurfaceCheck(
      "V-38", "A guard against repetition, if there is one, is told by the finish reason.", level: .recommended, group: .vision
    ) { context in
      let rig = try await VisionRig.loaded(context)
      let engine = try rig.testDouble
      engine.script.repetitions = 40
      let record = try await rig.answer(maxTokens: 100)
      let text = try record.text()
      let words = text.split(separator: " ").count
      if words < 40 {
        let reason = record.metrics?.finishReason ?? "none"
        try context.expect(
          !["stop", "length", "none"].contains(reason), "a reason that tells of the guard", seen: "\(words) words, \(reason)")
      }
    },
  ]

  /// Reads to the end and three times beyond; gives the pieces that came after the first end.
  private static func readPastTheEnd(_ stream: some AsyncSequence<String, any Error>) async throws -> Int {
    var iterator = stream.makeAsyncIterator()
    while try await iterator.next(isolation: nil) != nil {}
    var count = 0
    for _ in 0..<3 where try await iterator.next(isolation: nil) != nil { count += 1 }
    return count
  }
}
