import Synchronization

/// The entry: holds the context that an app works in.
///
/// ```swift
/// guard let context = TSAIKit.sharedInstance.activeContext, context.supportsAIFeatures(.imageGeneration) else { return }
/// let imageGeneration = context.imageGeneration
/// ```
public final class TSAIKit: Sendable {
  /// The one that apps share.
  public static let sharedInstance = TSAIKit()

  private let active = Mutex<TSAIContext?>(nil)

  /// Makes one of its own, for tests.
  public init() {}

  /// The context that is active; nil without one.
  public var activeContext: TSAIContext? { active.withLock { $0 } }

  /// Makes a context the active one, in place of the one before.
  ///
  /// What is pending in the one before ends with ``TSAIError/Code/activationSuperseded``, and later calls of it with
  /// ``TSAIError/Code/contextInactive``. Activating the active one does nothing.
  public func activate(_ context: TSAIContext) {
    let former = active.withLock { active in
      defer { active = context }
      return active
    }
    guard former !== context else { return }
    former?.end(with: TSAIError(.activationSuperseded, "another context was activated"))
    context.begin()
  }

  /// Ends the active context; without one, nothing happens.
  ///
  /// What is pending in it ends with ``TSAIError/Code/contextInactive``, as do later calls.
  public func deactivate() {
    let former = active.withLock { active in
      defer { active = nil }
      return active
    }
    former?.end(with: TSAIError(.contextInactive, "the context was deactivated"))
  }
}
