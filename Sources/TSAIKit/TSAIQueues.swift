import Dispatch

/// Where a context runs what isn't the caller's: completions and calls of the provider.
///
/// A test may give queues of its own, so as to choose the order in which things happen.
public struct TSAIQueues: Sendable {
  /// Runs a completion, later and on the main actor.
  public var completion: @Sendable (_ work: @escaping @MainActor @Sendable () -> Void) -> Void
  /// Runs a call of the provider, later and in the order of the posts.
  public var provider: @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

  /// Makes queues.
  public init(
    completion: @escaping @Sendable (_ work: @escaping @MainActor @Sendable () -> Void) -> Void,
    provider: @escaping @Sendable (_ work: @escaping @Sendable () -> Void) -> Void
  ) {
    self.completion = completion
    self.provider = provider
  }

  /// The main dispatch queue for completions, and a serial queue of its own for the provider.
  ///
  /// Something has to serve the main queue: an app does; a command-line tool with an asynchronous `main` does while it
  /// awaits, another one calls `dispatchMain()` or runs its run loop.
  public static func standard() -> TSAIQueues {
    let queue = DispatchQueue(label: "genbench.tsai.provider")
    return TSAIQueues(
      completion: { work in DispatchQueue.main.async { MainActor.assumeIsolated { work() } } },
      provider: { work in queue.async { work() } })
  }
}
