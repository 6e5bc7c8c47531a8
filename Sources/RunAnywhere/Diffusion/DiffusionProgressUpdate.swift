public import Foundation

/// How far a generation is; one for each step.
public struct DiffusionProgressUpdate: Sendable, Hashable {
  /// `currentStep / totalSteps`; the last one is 1.
  public let progress: Double
  /// The step that was completed, counted from 1.
  public let currentStep: Int
  /// The steps that will have been run at the end.
  public let totalSteps: Int
  /// A PNG of the image so far, on every `previewStride`-th step and the last; nil otherwise, and when it was filtered.
  public let previewImage: Data?

  /// Makes an update.
  public init(progress: Double, currentStep: Int, totalSteps: Int, previewImage: Data? = nil) {
    self.progress = progress
    self.currentStep = currentStep
    self.totalSteps = totalSteps
    self.previewImage = previewImage
  }
}

/// What a stream of a generation tells: `started`, one `progress` a step, `completed`; or it ends with an error.
public enum DiffusionEvent: Sendable, Hashable {
  /// The request was taken.
  case started
  /// A step is complete.
  case progress(DiffusionProgressUpdate)
  /// All is done.
  case completed(DiffusionResult)
}
