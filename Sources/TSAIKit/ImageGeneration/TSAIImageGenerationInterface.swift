/// Receives the styles, or the error.
public typealias TSAIImageGenerationStylesCompletionBlock =
  @MainActor @Sendable (_ styles: [TSAIImageGenerationStyle]?, _ error: TSAIError?) -> Void

/// Receives the images, or the error.
public typealias TSAIImageGenerationCompletionBlock =
  @MainActor @Sendable (_ result: TSAIImageGenerationResult?, _ error: TSAIError?) -> Void

/// Images from text, whoever makes them.
///
/// Completions run asynchronously, on the main thread, exactly once; one of their two arguments is nil, the other isn't. (On
/// Linux the main thread is whichever serves the main dispatch queue.) All members may be called from any thread, and return
/// at once however slow the provider is.
public protocol TSAIImageGenerationInterface: Sendable {
  /// The last valid snapshot of styles: empty is a known result, nil means that there's none.
  var availableStyles: [TSAIImageGenerationStyle]? { get }

  /// Asks the provider for its styles.
  ///
  /// A success replaces the snapshot as a whole before the completion runs; a failure leaves it alone.
  func fetchAvailableStyles(completion: TSAIImageGenerationStylesCompletionBlock?)

  /// The most images of one call; zero when images aren't supported.
  var maximumImageCount: Int { get }

  /// Makes images.
  ///
  /// - Parameters:
  ///   - prompt: What to show; not empty.
  ///   - config: How; it's copied.
  ///   - completion: Receives the images or the error, what was wrong with the arguments included.
  /// - Returns: The task's identifier, which is in the result too.
  @discardableResult
  func generateImages(
    prompt: String, config: TSAIImageGenerationConfig, completion: TSAIImageGenerationCompletionBlock?
  ) -> String

  /// Cancels a task; its completion runs with ``TSAIError/Code/cancelled``, and never sees a result that comes late.
  ///
  /// The provider may go on working. Identifiers that are unknown, done or cancelled already are ignored.
  func cancelImageGeneration(taskId: String)

  /// Cancels everything that is pending, fetches of styles included, and forgets the snapshot.
  func cancelAllTasks()
}
