import Dispatch

/// Tells whether code runs where completions belong.
///
/// On Linux the main queue of a command-line tool is served by whichever thread is free, so the queue is looked at, not the
/// thread.
package enum MainQueue {
  private static let key: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Whether the caller runs on the main queue.
  package static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) ?? false }

  /// Waits until what was posted to it so far has run.
  package static func drain() async {
    await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
  }
}
