import BackendProtocol
import Foundation
import GenBackend
import Synchronization

/// Starts the child of a ``ProcessBackend`` when there's none, and greets it.
actor EngineStarter {
  /// A child that has said who it is.
  struct Live: Sendable {
    var connection: ProcessConnection
    var welcome: WelcomeReply
    var clock: ChildClock
    /// Counts the children.
    var number: Int

    /// What sees the events of a request.
    var watch: EventWatch { EventWatch(clock: clock, folder: connection.folder) }
  }

  private let options: ProcessBackend.Options
  private var started: Live?
  private var starting: Task<Result<Live, BackendError>, Never>?
  private var count = 0
  private var isClosed = false
  /// The newest child, for those who can't wait.
  private let newest = Mutex<ProcessConnection?>(nil)

  init(_ options: ProcessBackend.Options) { self.options = options }

  /// The child's number while it lives.
  nonisolated var processID: Int32? {
    newest.withLock { $0.flatMap { $0.failure == nil && !$0.isFinished ? $0.child.id : nil } }
  }

  /// The last of what the newest child wrote to its stderr.
  nonisolated var log: String { newest.withLock { $0 }?.log ?? "" }

  /// The child that runs; nil when there's none.
  var current: Live? { started.flatMap { $0.connection.failure == nil ? $0 : nil } }

  /// The child that runs, or a new one.
  ///
  /// - Throws: What went wrong with the former child since its last request, once; why a new one can't be started.
  func live() async throws(BackendError) -> Live {
    if isClosed { throw BackendError(.unavailable, "the engine was closed") }
    if let started {
      if started.connection.failure == nil { return started }
      self.started = nil
      if let failure = started.connection.takeFailure() { throw failure }
    }
    let task: Task<Result<Live, BackendError>, Never>
    if let starting {
      task = starting
    } else {
      count += 1
      let number = count
      task = Task {
        let result = await self.start(number)
        self.settle(result)
        return result
      }
      starting = task
    }
    return try await task.value.get()
  }

  private func settle(_ result: Result<Live, BackendError>) {
    starting = nil
    started = try? result.get()
  }

  private func start(_ number: Int) async -> Result<Live, BackendError> {
    do {
      // The message of a crash is enough; Swift's own backtrace of one outlives it and takes minutes on a busy machine.
      let environment = (options.environment ?? ProcessInfo.processInfo.environment)
        .merging(["SWIFT_BACKTRACE": "enable=no"]) { own, _ in own }
      let connection = try ProcessConnection(words: options.words, environment: environment, limits: options.limits)
      newest.withLock { $0 = connection }
      options.processes?.add(connection)
      let hello = HelloRequest(
        client: .init(name: options.client.name, version: options.client.version), exchange: connection.folder.path)
      guard case .welcome(let welcome) = try await connection.request(.hello(hello), timeoutNs: options.limits.helloNs).body
      else {
        return .failure(BackendError(.processingFailed, "the engine didn't greet"))
      }
      guard welcome.protocol == BackendProtocol.version else {
        return .failure(
          await connection.end(because: "speaks '\(welcome.protocol)', expected \(BackendProtocol.version)"))
      }
      guard !welcome.name.isEmpty else { return .failure(await connection.end(because: "has no name")) }
      var clock = ChildClock()
      for _ in 0..<5 {
        let reply = try await connection.request(.clock, timeoutNs: options.limits.helloNs)
        if case .clock(let told) = reply.body {
          clock.take(childNs: told.timeNs, sentNs: reply.sentNs, receivedNs: reply.receivedNs)
        }
      }
      return .success(Live(connection: connection, welcome: welcome, clock: clock, number: number))
    } catch {
      // An engine that refuses to greet isn't one to ask again.
      newest.withLock { $0 }?.closeSoon()
      return .failure(error)
    }
  }

  /// Says goodbye and waits until the child is gone.
  func close() async {
    isClosed = true
    _ = await starting?.value
    started = nil
    await newest.withLock { $0 }?.close()
  }

  /// Says goodbye without waiting.
  nonisolated func abandon() { newest.withLock { $0 }?.closeSoon() }
}
