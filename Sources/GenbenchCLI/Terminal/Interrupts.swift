import Dispatch
import Foundation
import Synchronization
public import Tensors

/// Ctrl-C and termination: the first asks the work to stop, the second ends the process at once.
public final class Interrupts: Sendable {
  /// Cancelled by the first signal.
  public let cancellation = CancellationToken()
  private let received = Mutex<Int32?>(nil)

  /// Makes an object that has seen nothing.
  public init() {}

  /// The first signal that arrived, if any.
  public var signal: Int32? { received.withLock { $0 } }

  /// What a signal handler calls; also for tests.
  public func deliver(_ signal: Int32) {
    let isFirst = received.withLock { current -> Bool in
      if current != nil { return false }
      current = signal
      return true
    }
    if isFirst { cancellation.cancel() } else { _exit(128 + signal) }
  }

  /// Starts to listen to SIGINT and SIGTERM; the returned sources must be kept.
  func listen() -> [any DispatchSourceSignal] {
    [SIGINT, SIGTERM].map { number in
      // The default action would end the process before the source sees the signal.
      Foundation.signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { self.deliver(number) }
      source.resume()
      return source
    }
  }
}
