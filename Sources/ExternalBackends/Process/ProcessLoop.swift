import BackendProtocol
import Foundation
import GenBackend
import Synchronization
import Tensors

/// What the thread of a ``ProcessConnection`` does: reads, writes, watches the time, and cleans up.
struct ProcessLoop {
  /// A request that was sent.
  private struct Pending {
    var submission: ProcessConnection.Submission
    var sentNs: UInt64
    var cancelledNs: UInt64?
    /// Nobody waits for it: `cancel` and `bye`.
    var isOwn = false
  }

  /// Why the child is to be ended.
  private struct Violation: Error {
    var code: BackendError.Code
    var message: String
  }

  /// How long a process that ends may take from the closing of its files to its end, which tells more.
  private static let exitNs: UInt64 = 2_000_000_000

  private let connection: ProcessConnection
  private let wakeUp: Int32
  private var outgoing: [UInt8] = []
  private var lines = LineBuffer()
  private var pending: [Int: Pending] = [:]
  private var nextID = 1
  private var lastHeardNs = MonotonicTime.nanoseconds()
  private var isOutputOpen = true
  private var closedNs: UInt64?
  private var areErrorsOpen = true
  private var bye: (id: Int, sentNs: UInt64)?
  /// Requests whose reply has come, told to their callers when nothing follows it.
  private var complete: [(Pending, Result<ProcessConnection.Reply, BackendError>)] = []

  init(connection: ProcessConnection, wakeUp: Int32) {
    self.connection = connection
    self.wakeUp = wakeUp
  }

  private var child: ChildProcess { connection.child }
  private var limits: BackendLimits { connection.limits }

  mutating func run() {
    // A child that is gone must be told by an error of write, not by a signal that ends this process.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    do {
      while try turn() {}
      finish(nil)
    } catch {
      finish(error)
    }
  }

  /// One round; false when the child was told to go and has gone.
  private mutating func turn() throws(Violation) -> Bool {
    wait(milliseconds: pending.isEmpty && isOutputOpen ? 1000 : 10)
    try take()
    readErrors()
    try readOutput()
    if !complete.isEmpty {
      // What a child sends together with its reply belongs to the request too.
      try readOutput()
      tellComplete()
    }
    flush()
    try watchTime(MonotonicTime.nanoseconds())
    if child.hasEnded {
      // Its last words may be a reply.
      readErrors()
      while try readOutput() {}
      tellComplete()
      if bye != nil, pending.values.allSatisfy(\.isOwn) { return false }
      throw Violation(code: .unavailable, message: "")
    }
    if let closedNs, MonotonicTime.nanoseconds() - closedNs > Self.exitNs {
      throw Violation(code: .unavailable, message: "closed its stdout")
    }
    return true
  }

  // MARK: - Streams

  private func wait(milliseconds: Int32) {
    var descriptors = [
      pollfd(fd: isOutputOpen ? child.output : -1, events: Int16(POLLIN), revents: 0),
      pollfd(fd: areErrorsOpen ? child.errors : -1, events: Int16(POLLIN), revents: 0),
      pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0),
      pollfd(fd: outgoing.isEmpty ? -1 : child.input, events: Int16(POLLOUT), revents: 0),
    ]
    _ = poll(&descriptors, nfds_t(descriptors.count), milliseconds)
    var bytes = [UInt8](repeating: 0, count: 256)
    while read(wakeUp, &bytes, bytes.count) > 0 {}
  }

  /// The next bytes of a stream; nil at its end, none when there are none now.
  private static func next(_ descriptor: Int32) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { return [] }
      return count > 0 ? Array(buffer[0..<count]) : nil
    }
  }

  private mutating func readErrors() {
    // At most as much as is kept, so that a child that writes without end holds nobody up.
    for _ in 0..<4 where areErrorsOpen {
      guard let bytes = Self.next(child.errors) else {
        areErrorsOpen = false
        return
      }
      if bytes.isEmpty { return }
      connection.state.withLock { $0.log.append(bytes) }
    }
  }

  /// Reads and handles what there is now; false when there's nothing.
  @discardableResult
  private mutating func readOutput() throws(Violation) -> Bool {
    guard isOutputOpen else { return false }
    guard let bytes = Self.next(child.output) else {
      isOutputOpen = false
      closedNs = MonotonicTime.nanoseconds()
      guard !lines.hasRest else { throw Violation(code: .processingFailed, message: "closed its stdout within a line") }
      return false
    }
    if bytes.isEmpty { return false }
    lastHeardNs = MonotonicTime.nanoseconds()
    lines.append(bytes)
    while true {
      let line: Data?
      do { line = try lines.next() } catch {
        throw Violation(
          code: .processingFailed, message: "sent a line of more than \(BackendProtocol.longestLine) bytes")
      }
      guard let line else { return true }
      try handle(line, nowNs: lastHeardNs)
    }
  }

  private mutating func flush() {
    while !outgoing.isEmpty {
      let count = write(child.input, outgoing, outgoing.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        // Full, or nobody reads any more, which the child's end or the time limit will tell.
        if errno != EAGAIN { outgoing = [] }
        return
      }
      outgoing.removeFirst(count)
    }
  }

  // MARK: - Requests

  private mutating func take() throws(Violation) {
    let (submissions, complaint, isClosing) = connection.state.withLock { state in
      defer { state.submissions = [] }
      return (state.submissions, state.complaint, state.isClosing)
    }
    for submission in submissions {
      let id = nextID
      do {
        outgoing += try MessageCoding.line(ProtocolRequest(id: id, submission.body)) + [UInt8(ascii: "\n")]
      } catch {
        submission.finish(.failure(error))
        continue
      }
      nextID += 1
      var entry = Pending(submission: submission, sentNs: MonotonicTime.nanoseconds())
      entry.submission.watch?.start(entry.sentNs)
      pending[id] = entry
      lastHeardNs = entry.sentNs
    }
    if let complaint { throw Violation(code: .processingFailed, message: complaint) }
    if isClosing, bye == nil, pending.values.allSatisfy(\.isOwn) { bye = (send(.bye), MonotonicTime.nanoseconds()) }
    flush()
  }

  /// Sends a request of the connection's own and returns its id.
  private mutating func send(_ body: ProtocolRequest.Body) -> Int {
    let id = nextID
    nextID += 1
    guard let line = try? MessageCoding.line(ProtocolRequest(id: id, body)) else { return id }
    outgoing += line + [UInt8(ascii: "\n")]
    pending[id] = Pending(
      submission: .init(body: body, timeoutNs: limits.cancelNs) { _ in }, sentNs: MonotonicTime.nanoseconds(), isOwn: true)
    return id
  }

  private mutating func watchTime(_ nowNs: UInt64) throws(Violation) {
    func since(_ timeNs: UInt64) -> UInt64 { nowNs - min(timeNs, nowNs) }
    func seconds(_ ns: UInt64) -> String { "\((Double(ns) / 1e7).rounded() / 100) s" }
    for (id, entry) in pending {
      let what = entry.submission.body.type
      if entry.submission.control?.cancellation.isCancelled == true, entry.cancelledNs == nil {
        pending[id]?.cancelledNs = nowNs
        _ = send(.cancel(CancelMessage(target: id)))
        flush()
      }
      if let cancelledNs = entry.cancelledNs, since(cancelledNs) > limits.cancelNs {
        throw Violation(code: .cancelled, message: "didn't stop within \(seconds(limits.cancelNs)) of the cancellation")
      }
      if since(entry.sentNs) > entry.submission.timeoutNs {
        throw Violation(
          code: .unavailable, message: "didn't answer \(what) within the time limit of \(seconds(entry.submission.timeoutNs))")
      }
      if !entry.isOwn, since(max(entry.sentNs, lastHeardNs)) > limits.silenceNs {
        throw Violation(code: .unavailable, message: "said nothing for \(seconds(limits.silenceNs)) during \(what)")
      }
    }
    if let bye, since(bye.sentNs) > limits.terminationNs { throw Violation(code: .unavailable, message: "didn't go after bye") }
  }

  // MARK: - Answers

  private mutating func handle(_ line: Data, nowNs: UInt64) throws(Violation) {
    let answer: ProtocolAnswer
    do {
      _ = try MessageCoding.header(of: line)
      answer = try MessageCoding.message(ProtocolAnswer.self, line)
    } catch {
      throw Violation(code: .processingFailed, message: "sent something else than an answer: \(error.message)")
    }
    guard let id = answer.id else {
      guard case .error(let error) = answer.body else { return }
      throw Violation(code: .processingFailed, message: "couldn't read a request: \(error.message)")
    }
    guard let entry = pending[id] else {
      let why = id >= 1 && id < nextID ? "after its reply" : "which was never made"
      throw Violation(code: .processingFailed, message: "sent '\(answer.body.type)' for request \(id), \(why)")
    }
    let asked = entry.submission.body
    switch answer.body {
    case .event(let event):
      guard entry.submission.watch != nil else {
        throw Violation(code: .processingFailed, message: "sent the event '\(event.type)' for \(asked.type), which has none")
      }
      let seen: GenerationEvent?
      do { seen = try pending[id]?.submission.watch?.see(event, nowNs: nowNs) } catch {
        throw Violation(code: .processingFailed, message: error.message)
      }
      if let seen { entry.submission.control?.onEvent(seen) }
    case .error(let error):
      pending[id] = nil
      complete.append((entry, .failure(error.error)))
    default:
      guard Self.answers(answer.body, asked) else {
        throw Violation(code: .processingFailed, message: "answered \(asked.type) with '\(answer.body.type)'")
      }
      do { try entry.submission.watch?.finish() } catch {
        throw Violation(code: .processingFailed, message: "answered \(asked.type) too early: \(error.message)")
      }
      pending[id] = nil
      complete.append(
        (
          entry,
          .success(
            .init(
              body: answer.body, sentNs: entry.sentNs, receivedNs: nowNs, firstTokenNs: entry.submission.watch?.firstTokenNs))
        ))
    }
  }

  private static func answers(_ reply: ProtocolAnswer.Body, _ request: ProtocolRequest.Body) -> Bool {
    switch (request, reply) {
    case (.hello, .welcome), (.clock, .clock), (.load, .loaded), (.generateImages, .images), (.generateText, .text),
      (.operation, .operationResult), (.cancel, .ok), (.unload, .ok), (.bye, .ok):
      true
    default: false
    }
  }

  private mutating func tellComplete() {
    for (entry, result) in complete { entry.submission.finish(result) }
    complete = []
  }

  // MARK: - The end

  /// Ends the child and tells everyone who waits.
  private mutating func finish(_ violation: Violation?) {
    let end = terminate()
    var failure: BackendError?
    if let violation {
      let what = violation.message.isEmpty ? end.description : violation.message
      let tail = connection.state.withLock { $0.log.tail }
      let said = tail.isEmpty ? "" : "; the end of its stderr: \(tail)"
      failure = BackendError(violation.code, "\(connection.name) \(what)\(said)")
    }
    let left = connection.state.withLock { state in
      // From now on nothing is submitted.
      state.failure = failure ?? BackendError(.unavailable, "\(connection.name) was closed")
      let waits = !pending.values.allSatisfy(\.isOwn) || !complete.isEmpty || !state.submissions.isEmpty
      state.isReported = failure == nil || waits
      defer { state.submissions = [] }
      return state.submissions
    }
    let told = failure ?? BackendError(.unavailable, "\(connection.name) was closed")
    connection.finish(failure)
    for (entry, _) in complete { entry.submission.finish(.failure(told)) }
    for entry in pending.values { entry.submission.finish(.failure(told)) }
    for submission in left { submission.finish(.failure(told)) }
  }

  /// Sees that nothing of the group is left: asks, waits, forces.
  private mutating func terminate() -> ChildProcess.End {
    if !child.hasEnded {
      child.signal(SIGTERM)
      let askedNs = MonotonicTime.nanoseconds()
      while !child.hasEnded {
        if MonotonicTime.nanoseconds() - askedNs > limits.terminationNs {
          child.signal(SIGKILL)
        }
        // What hangs in the system's own code doesn't even die of that; nobody waits for it for ever.
        if MonotonicTime.nanoseconds() - askedNs > limits.terminationNs + 10_000_000_000 { return .signalled(SIGKILL) }
        readErrors()
        usleep(2000)
      }
    }
    readErrors()
    return child.reap()
  }
}
