import BackendProtocol
import CProcessGroup
import Foundation
import GenBackend
import Synchronization
import Tensors

/// A running child and the lines that go to and fro, on one thread of its own.
///
/// The thread alone touches the child's streams. Callers hand it requests and are resumed with replies.
final class ProcessConnection: Sendable {
  /// A reply and when it was asked for and came, by our clock.
  struct Reply: Sendable {
    var body: ProtocolAnswer.Body
    var sentNs: UInt64
    var receivedNs: UInt64
    var firstTokenNs: UInt64?
  }

  /// A request that waits for the thread.
  struct Submission: Sendable {
    var body: ProtocolRequest.Body
    var timeoutNs: UInt64
    var control: GenerationControl?
    var watch: EventWatch?
    var finish: @Sendable (Result<Reply, BackendError>) -> Void
  }

  struct State {
    var submissions: [Submission] = []
    /// Why there's nothing to be had from it any more.
    var failure: BackendError?
    var isReported = false
    /// What a caller found wrong with a reply.
    var complaint: String?
    var isClosing = false
    var isFinished = false
    /// Requests whose replies may still be read from the folder.
    var holds = 0
    var log = EngineLog()
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  let child: ChildProcess
  let folder: ExchangeFolder
  let name: String
  let limits: BackendLimits
  let state = Mutex(State())
  private let wakeUp: (read: Int32, write: Int32)

  /// Starts the program and the thread.
  ///
  /// - Throws: `BackendError` `.unavailable`.
  init(words: [String], environment: [String: String], limits: BackendLimits) throws(BackendError) {
    name = URL(fileURLWithPath: words[0]).lastPathComponent
    self.limits = limits
    let folder = try ExchangeFolder.make()
    var ends: [Int32] = [-1, -1]
    let code = genbench_pipe(&ends)
    guard code == 0 else {
      folder.remove()
      throw BackendError(.unavailable, "no pipe can be made: \(String(cString: strerror(code)))")
    }
    do { child = try ChildProcess.start(words, environment: environment) } catch {
      for end in ends { Foundation.close(end) }
      folder.remove()
      throw error
    }
    self.folder = folder
    wakeUp = (ends[0], ends[1])
    let thread = Thread { [self] in
      var loop = ProcessLoop(connection: self, wakeUp: wakeUp.read)
      loop.run()
    }
    thread.name = "engine process"
    thread.stackSize = 1 << 20
    thread.start()
  }

  /// What has gone wrong; nil while all is well.
  var failure: BackendError? { state.withLock { $0.failure } }

  /// Whether the child is gone and all of it cleaned up.
  var isFinished: Bool { state.withLock { $0.isFinished } }

  /// The failure, once: for the request that comes after it.
  func takeFailure() -> BackendError? {
    state.withLock { state in
      guard let failure = state.failure, !state.isReported else { return nil }
      state.isReported = true
      return failure
    }
  }

  /// The last of what the child wrote to its stderr.
  var log: String { state.withLock { $0.log.text } }

  /// Sends a request and waits for its reply, which isn't an error.
  ///
  /// - Throws: `BackendError`: the engine's own, or what went wrong with the engine, which is over then.
  func request(
    _ body: ProtocolRequest.Body, timeoutNs: UInt64? = nil, control: GenerationControl? = nil, watch: EventWatch? = nil
  ) async throws(BackendError) -> Reply {
    let result: Result<Reply, BackendError> = await withCheckedContinuation { continuation in
      submit(
        Submission(body: body, timeoutNs: timeoutNs ?? limits.timeoutNs, control: control, watch: watch) {
          continuation.resume(returning: $0)
        })
    }
    return try result.get()
  }

  private func submit(_ submission: Submission) {
    let failure = state.withLock { state -> BackendError? in
      if let failure = state.failure {
        state.isReported = true
        return failure
      }
      if state.isClosing { return BackendError(.unavailable, "\(name) was closed") }
      state.submissions.append(submission)
      wake()
      return nil
    }
    if let failure { submission.finish(.failure(failure)) }
  }

  /// Ends the child because a reply of its is wrong; returns the error that says so.
  func end(because complaint: String) async -> BackendError {
    state.withLock { state in
      if state.complaint == nil { state.complaint = complaint }
      if !state.isFinished { wake() }
    }
    await finished()
    return state.withLock { state in
      state.isReported = true
      return state.failure ?? BackendError(.processingFailed, "\(name) \(complaint)")
    }
  }

  /// Says `bye`, and ends the child when it doesn't go by itself; returns when it's gone.
  func close() async {
    state.withLock { state in
      state.isClosing = true
      if !state.isFinished { wake() }
    }
    await finished()
  }

  /// Does what ``close()`` does without waiting for it.
  func closeSoon() {
    state.withLock { state in
      state.isClosing = true
      if !state.isFinished { wake() }
    }
  }

  private func finished() async {
    await withCheckedContinuation { continuation in
      let isFinished = state.withLock { state in
        if !state.isFinished { state.waiters.append(continuation) }
        return state.isFinished
      }
      if isFinished { continuation.resume() }
    }
  }

  /// Wakes the thread; only while the lock is held and the thread isn't finished, which closes the pipe.
  private func wake() {
    var byte: UInt8 = 1
    _ = write(wakeUp.write, &byte, 1)
  }

  /// Keeps the folder, whatever becomes of the child: its last reply may be read after its end.
  func hold() { state.withLock { $0.holds += 1 } }

  /// Removes what nobody has read, and the folder with it when the child is gone.
  func release() {
    let isLast = state.withLock { state in
      state.holds -= 1
      return state.isFinished && state.holds == 0
    }
    if isLast { folder.remove() } else { folder.empty() }
  }

  /// What the thread does last.
  func finish(_ failure: BackendError?) {
    child.closeStreams()
    let waiters = state.withLock { state in
      // Under the lock, so that who waits for the end finds the folder gone.
      if state.holds == 0 { folder.remove() }
      state.isFinished = true
      state.failure = failure ?? state.failure
      Foundation.close(wakeUp.read)
      Foundation.close(wakeUp.write)
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}
