public import Foundation

extension ImageCreator {
  /// Why there's no image.
  ///
  /// The documentation has nine cases and no more, so that an app can switch over all.
  public enum Error: String, LocalizedError, Sendable, Hashable, Codable, CaseIterable {
    /// The device or this version of the system doesn't make images.
    case notSupported
    /// Images can't be made now: no model, turned off, no network, the limit of images is reached.
    case unavailable
    /// The task was cancelled.
    case creationCancelled
    /// A face of an input image is too small.
    case faceInImageTooSmall
    /// A concept is in a language that isn't supported.
    case unsupportedLanguage
    /// An input image has a size that can't be used, or there are several.
    case unsupportedInputImage
    /// The app is in the background.
    case backgroundCreationForbidden
    /// It failed: a style that isn't available, nothing to show, content that's withheld, a failure of the engine.
    case creationFailed
    /// A concept names a person, and nobody has said what they look like.
    case conceptsRequirePersonIdentity

    /// A sentence for people.
    public var errorDescription: String? {
      switch self {
      case .notSupported: "This device doesn't make images."
      case .unavailable: "Images can't be made at the moment."
      case .creationCancelled: "The creation was cancelled."
      case .faceInImageTooSmall: "A face in the image is too small."
      case .unsupportedLanguage: "The description is in a language that isn't supported."
      case .unsupportedInputImage: "The image can't be used to start from."
      case .backgroundCreationForbidden: "Images can't be made while the app is in the background."
      case .creationFailed: "The image couldn't be made."
      case .conceptsRequirePersonIdentity: "The description names somebody whose looks aren't known."
      }
    }

    init(_ problem: PlaygroundProblem) {
      self =
        switch problem {
        case .notSupported: .notSupported
        case .unavailable, .usageLimitReached: .unavailable
        case .cancelled: .creationCancelled
        case .faceTooSmall: .faceInImageTooSmall
        case .unsupportedLanguage: .unsupportedLanguage
        case .unsupportedInput: .unsupportedInputImage
        case .inBackground: .backgroundCreationForbidden
        case .personNeeded: .conceptsRequirePersonIdentity
        case .externalProviderMissing, .nothingToShow, .filtered, .failed: .creationFailed
        }
    }
  }
}
