/// Why an image isn't made; every part of the kit tells it in its own documented form.
enum PlaygroundProblem: Error, Sendable, Hashable, CustomStringConvertible {
  /// The device can't.
  case notSupported(String)
  /// It could, but not now: no model, turned off, no network.
  case unavailable(String)
  case cancelled
  case faceTooSmall(String)
  case unsupportedLanguage(String)
  case unsupportedInput(String)
  case inBackground
  case personNeeded(String)
  case usageLimitReached
  case externalProviderMissing
  case nothingToShow
  /// The safety checker let nothing pass.
  case filtered
  case failed(String)

  var description: String {
    switch self {
    case .notSupported(let why), .unavailable(let why), .faceTooSmall(let why), .unsupportedLanguage(let why),
      .unsupportedInput(let why), .personNeeded(let why), .failed(let why):
      why
    case .cancelled: "the creation was cancelled"
    case .inBackground: "images can't be made while the app is in the background"
    case .usageLimitReached: "the limit of images is reached; more can be made later"
    case .externalProviderMissing: "no external provider is configured"
    case .nothingToShow: "there's neither a description nor a drawing nor an image to start from"
    case .filtered: "this image can't be shown; change the description"
    }
  }
}
