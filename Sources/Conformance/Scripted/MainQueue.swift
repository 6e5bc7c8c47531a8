import Dispatch

/// Tells whether code runs where completions belong.
///
/// On Linux the main queue of a command-line tool is served by whichever thread is free, so the queue is looked at, not the
/// thread.
enum MainQueue {
  private static let key: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) ?? false }
}
