public import Tensors

/// A sheet that is presented: what a person sees and does.
public struct PlaygroundSheet: Sendable {
  /// What it shows.
  public var state: @Sendable () async -> PlaygroundSurface.State
  /// The styles of the picker.
  public var offeredStyles: @Sendable () async -> [String]
  /// Whether the picker has one style only.
  public var isStyleLocked: @Sendable () async -> Bool
  /// The style of the next image.
  public var selectedStyle: @Sendable () async -> String
  /// Whether people can be picked.
  public var offersPeople: @Sendable () async -> Bool
  /// Names that were found in the description.
  public var detectedNames: @Sendable () async -> [String]
  /// Types a description.
  public var type: @Sendable (_ text: String) async -> Void
  /// Picks a style; throws when it isn't offered.
  public var pick: @Sendable (_ style: String) async throws -> Void
  /// Replaces the image to start from.
  public var replaceSourceImage: @Sendable (Bitmap?) async -> Void
  /// Makes an image.
  public var generate: @Sendable () async -> Void
  /// Finishes setting up the setup's provider.
  public var finishProviderSetup: @Sendable () async -> Void
  /// Accepts the image; throws when there's none.
  public var accept: @Sendable () async throws -> Void
  /// Leaves.
  public var cancel: @Sendable () async -> Void
  /// The session's end: what is temporary goes.
  public var end: @Sendable () async -> Void

  /// Makes a sheet.
  public init(
    state: @escaping @Sendable () async -> PlaygroundSurface.State,
    offeredStyles: @escaping @Sendable () async -> [String],
    isStyleLocked: @escaping @Sendable () async -> Bool,
    selectedStyle: @escaping @Sendable () async -> String,
    offersPeople: @escaping @Sendable () async -> Bool,
    detectedNames: @escaping @Sendable () async -> [String],
    type: @escaping @Sendable (_ text: String) async -> Void,
    pick: @escaping @Sendable (_ style: String) async throws -> Void,
    replaceSourceImage: @escaping @Sendable (Bitmap?) async -> Void,
    generate: @escaping @Sendable () async -> Void,
    finishProviderSetup: @escaping @Sendable () async -> Void,
    accept: @escaping @Sendable () async throws -> Void,
    cancel: @escaping @Sendable () async -> Void,
    end: @escaping @Sendable () async -> Void
  ) {
    self.state = state
    self.offeredStyles = offeredStyles
    self.isStyleLocked = isStyleLocked
    self.selectedStyle = selectedStyle
    self.offersPeople = offersPeople
    self.detectedNames = detectedNames
    self.type = type
    self.pick = pick
    self.replaceSourceImage = replaceSourceImage
    self.generate = generate
    self.finishProviderSetup = finishProviderSetup
    self.accept = accept
    self.cancel = cancel
    self.end = end
  }
}

/// An `ImageCreator`.
public struct PlaygroundCreator: Sendable {
  /// Awaits the next image; nil is the end.
  public typealias Next = @Sendable () async throws -> Bitmap?
  /// `availableStyles`.
  public var availableStyles: [String]
  /// `images(for:style:limit:)`.
  public var images: @Sendable ([PlaygroundSurface.Concept], _ style: String, _ limit: Int) -> Next

  /// Makes a creator.
  public init(
    availableStyles: [String], images: @escaping @Sendable ([PlaygroundSurface.Concept], _ style: String, _ limit: Int) -> Next
  ) {
    self.availableStyles = availableStyles
    self.images = images
  }
}
