import Synchronization

/// How an answer went.
struct VisionRecord: Sendable {
  var pieces: [String]
  /// What ended the stream, or the call that should have made one; nil for an ordinary end.
  var failure: SDKFailure?
  /// Whether the call itself threw, so that there never was a stream.
  var isRefused: Bool
  var metrics: VisionSurface.Metrics?

  var joined: String { pieces.joined() }

  /// The text; fails the check when it didn't end well.
  func text(_ what: String = "the answer") throws -> String {
    if let failure { throw CheckFailure(expected: "\(what) succeeds", seen: failure.description) }
    return joined
  }
}

/// An answer at work.
final class VisionRunHandle: Sendable {
  private let task: Task<VisionRecord, Never>
  private let gate: Gate?
  private let context: CheckContext<VisionSurface>
  private let seen: PieceLog
  private let finished: Flag
  private let left: Flag

  /// The pieces that came.
  final class PieceLog: Sendable {
    private let list = Mutex<[String]>([])
    var all: [String] { list.withLock { $0 } }
    func add(_ piece: String) { list.withLock { $0.append(piece) } }
  }

  init(
    implementation: VisionImplementation, image: VisionSurface.Image, prompt: String, maxTokens: Int,
    options: VisionSurface.Options, gate: Gate?, leaveAfter: Int?, context: CheckContext<VisionSurface>
  ) {
    let (seen, finished, left, log) = (PieceLog(), Flag(), Flag(), context.log)
    self.gate = gate
    self.context = context
    self.seen = seen
    self.finished = finished
    self.left = left
    log.note("call: process '\(prompt.prefix(30))', at most \(maxTokens) tokens")
    task = Task {
      var record = VisionRecord(pieces: [], failure: nil, isRefused: true, metrics: nil)
      do {
        let answer = try await implementation.process(image, prompt, maxTokens, options)
        record.isRefused = false
        do {
          try await Self.read(answer.stream, into: seen, leaveAfter: leaveAfter)
          left.set()
          log.note("stream: ends after \(seen.all.count) pieces")
        } catch {
          record.failure = implementation.failure(error)
          log.note("stream: throws \(error) after \(seen.all.count) pieces")
        }
        if implementation.capabilities.contains(.metrics) { record.metrics = await answer.metrics() }
      } catch {
        record.failure = implementation.failure(error)
        log.note("call: throws \(error)")
      }
      record.pieces = seen.all
      finished.set()
      gate?.abandon()
      return record
    }
  }

  private static func read(_ stream: some AsyncSequence<String, any Error>, into seen: PieceLog, leaveAfter: Int?) async throws {
    for try await piece in stream {
      seen.add(piece)
      if seen.all.count == leaveAfter { return }
    }
  }

  /// All pieces until now.
  var pieces: [String] { seen.all }

  /// Whether it has ended.
  var isFinished: Bool { finished.isSet }

  /// Whether the stream was read to its end, or to where it was left.
  var hasLeft: Bool { left.isSet }

  /// Waits until the engine waits; fails when it ended before.
  func arrived() async throws {
    guard let gate else { return }
    let hasArrived = try await Timeout.within(context.timeout, "the answer reaches its pause") { await gate.arrival() }
    if !hasArrived {
      let record = await task.value
      throw CheckFailure(
        expected: "the answer is being made", seen: "it ended early: \(record.failure?.description ?? "no error")")
    }
  }

  /// Lets the engine go on.
  func open() { gate?.open() }

  /// Cancels the task that reads.
  func cancelTask() { task.cancel() }

  /// Waits for the end.
  func value() async throws -> VisionRecord {
    let task = task
    return try await Timeout.within(context.timeout, "the answer ends") { await task.value }
  }

  /// Whether it ends by itself while everything else waits.
  func endsWithoutHelp() async -> Bool {
    await Timeout.letOthersRun { isFinished }
    return isFinished
  }
}
