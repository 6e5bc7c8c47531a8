public import Foundation
import GenBackend
public import PlaygroundKit
import Synchronization
public import Tensors

/// The adapter for this repository's own `PlaygroundKit`; also the example for others.
public struct PlaygroundKitImplementation: PlaygroundImplementation {
  private let system: ImagePlaygroundSystem
  private let providerToSetUp: (@Sendable (String) async throws -> Bitmap)?
  private let seesRequests: Bool

  /// Judges a system over an engine that follows a script.
  public init(backend: ScriptedBackend, environment: PlaygroundSurface.Environment) async throws {
    var own = PlaygroundEnvironment(locale: Locale(identifier: environment.isRegionSupported ? "en_US" : "tlh_US"))
    own.isDeviceCapable = environment.isDeviceCapable
    own.isEnabledByUser = environment.isEnabledByUser
    own.isInBackground = environment.isInBackground
    own.executionSite = environment.isMadeOnServers ? .privateCloudCompute : .onDevice
    own.isNetworkReachable = environment.isOnline
    own.offersImageCreator = environment.offersCreator
    own.people = environment.people.map { PlaygroundEnvironment.Person(name: $0.name, appearance: $0.appearance) }
    if let side = environment.faceSide { own.faces = { _ in [PlaygroundEnvironment.Face(width: side, height: side)] } }
    let model =
      environment.hasModel
      ? try await backend.load(LoadRequest(path: "scripted:/sd15", safety: .off), control: GenerationControl()) : nil
    var settings = ImagePlaygroundSystem.Settings()
    settings.steps = 4
    settings.seed = 7
    system = ImagePlaygroundSystem(
      backend: backend, model: model, environment: own,
      externalProvider: environment.externalProvider.map(ClosureImageProvider.init),
      usage: environment.usageLimit.map { PlaygroundUsage(limit: $0) }, settings: settings)
    providerToSetUp = environment.providerToSetUp
    seesRequests = true
  }

  /// Judges a system over any engine.
  public init(system: ImagePlaygroundSystem) {
    self.system = system
    providerToSetUp = nil
    seesRequests = false
  }

  /// It lacks nothing; the requests of an engine that computes can't be seen.
  public var capabilities: Set<PlaygroundSurface.Capability> {
    Set(PlaygroundSurface.Capability.allCases).subtracting(seesRequests ? [] : [.visibleRequests])
  }
  /// `supportsImagePlayground`, which is the same as `supportsImageGeneration`.
  public var isAvailable: Bool { system.supportsImagePlayground }
  /// The sizes that images can have.
  public var supportedSizes: [CGSize] { ImagePlaygroundOptions.SizeSpecification.supported }
  /// The size of options that set none.
  public var defaultSize: CGSize { ImagePlaygroundOptions().sizeSpecification.size }
  /// `closest(to:)`.
  public func closestSize(to size: CGSize) -> CGSize? { ImagePlaygroundOptions.SizeSpecification.closest(to: size).size }
  /// The documented styles.
  public var styles: [String: String] {
    [
      "animation": ImagePlaygroundStyle.animation.id, "illustration": ImagePlaygroundStyle.illustration.id,
      "sketch": ImagePlaygroundStyle.sketch.id, "emoji": ImagePlaygroundStyle.emoji.id,
      "externalProvider": ImagePlaygroundStyle.externalProvider.id,
    ]
  }
  /// Encodes a style.
  public func encoded(style: String) throws -> Data { try JSONEncoder().encode(ImagePlaygroundStyle(id: style)) }
  /// Decodes a style.
  public func decodedStyle(_ json: Data) throws -> String { try JSONDecoder().decode(ImagePlaygroundStyle.self, from: json).id }
  /// Whether personalization is on in options that set nothing.
  public var isPersonalizedByDefault: Bool { ImagePlaygroundOptions().personalization.isEnabled }
  /// Whether an image concept comes of a URL.
  public func hasImageConcept(of url: URL) -> Bool { ImagePlaygroundConcept.image(url) != nil }
  /// Image concepts of pixels always exist.
  public func hasImageConcept(of bitmap: Bitmap) -> Bool {
    let concept: ImagePlaygroundConcept? = ImagePlaygroundConcept.image(bitmap)
    return concept != nil
  }

  /// Presents the sheet.
  public func present(
    _ presentation: PlaygroundSurface.Presentation, told: @escaping @Sendable (PlaygroundSurface.Told) -> Void
  ) async throws -> (any PlaygroundSessionImplementation)? {
    var own = ImagePlaygroundPresentation(
      concepts: presentation.concepts.map(translate), sourceImage: presentation.sourceImage,
      options: translate(presentation.options), defaultStyle: presentation.defaultStyle.map { ImagePlaygroundStyle(id: $0) },
      onCompletion: { told(.file($0)) },
      onAdaptiveImageGlyphCreation: { told(.glyph(.init(png: $0.imageContent, description: $0.contentDescription))) },
      onCancellation: { told(.cancelled) })
    if let styles = presentation.allowedStyles { own.allowedStyles = styles.map { ImagePlaygroundStyle(id: $0) } }
    return try await Self.show(own, on: system, providerToSetUp)
  }

  @MainActor private static func show(
    _ presentation: ImagePlaygroundPresentation, on system: ImagePlaygroundSystem,
    _ provider: (@Sendable (String) async throws -> Bitmap)?
  ) throws -> (any PlaygroundSessionImplementation)? {
    let sheet = ImagePlaygroundSheet(presentation, on: system)
    sheet.isPresented = true
    guard sheet.isPresented, let session = sheet.session else {
      // Styles that can't be presented are the app's mistake; a sheet that isn't available just doesn't appear.
      if let error = sheet.lastError, error.code != .unavailable { throw error }
      return nil
    }
    return KitSession(sheet: sheet, session: session, provider: provider)
  }

  /// Makes a creator.
  public func makeCreator() async throws -> any PlaygroundCreatorImplementation {
    KitCreator(creator: try await ImageCreator(system: system))
  }

  /// An error by its case.
  public func creatorError(of error: any Error) -> PlaygroundSurface.CreatorError? {
    (error as? ImageCreator.Error).flatMap { PlaygroundSurface.CreatorError(rawValue: $0.rawValue) }
  }
}

private func translate(_ concept: PlaygroundSurface.Concept) -> ImagePlaygroundConcept {
  switch concept {
  case .text(let text): .text(text)
  case .extracted(let text, let title): .extracted(from: text, title: title)
  case .image(let bitmap): .image(bitmap)
  case .drawing(let strokes):
    .drawing(
      PlaygroundDrawing(
        strokes: strokes.map { points in
          PlaygroundDrawing.Stroke(points: points.map { .init(x: $0.x, y: $0.y, width: $0.width, opacity: $0.opacity) })
        }, canvas: CGSize(width: 100, height: 100)))
  }
}

private func translate(_ options: PlaygroundSurface.Options) -> ImagePlaygroundOptions {
  var own = ImagePlaygroundOptions()
  switch options.personalization {
  case nil: break
  case .automatic: own.personalization = .automatic
  case .enabled: own.personalization = .enabled
  case .disabled: own.personalization = .disabled
  }
  if let size = options.size { own.sizeSpecification = .closest(to: size) }
  return own
}

/// A presented sheet of PlaygroundKit.
@MainActor private final class KitSession: PlaygroundSessionImplementation {
  private let sheet: ImagePlaygroundSheet
  private let session: ImagePlaygroundSession
  private let provider: (@Sendable (String) async throws -> Bitmap)?

  init(sheet: ImagePlaygroundSheet, session: ImagePlaygroundSession, provider: (@Sendable (String) async throws -> Bitmap)?) {
    self.sheet = sheet
    self.session = session
    self.provider = provider
  }

  var state: PlaygroundSurface.State {
    switch session.phase {
    case .editing: .editing
    case .generating: .generating
    case .showing: .showing
    case .failed: .failed
    case .usageLimitReached: .usageLimitReached
    case .settingUpExternalProvider: .settingUpProvider
    case .accepted: .accepted
    case .cancelled: .cancelled
    }
  }
  var offeredStyles: [String] { session.offeredStyles.map(\.id) }
  var isStyleLocked: Bool { session.isStyleLocked }
  var selectedStyle: String { session.selectedStyle.id }
  var offersPeople: Bool { session.offersPeople }
  var detectedNames: [String] { session.detectedPeople.map(\.name) }
  func type(_ text: String) { session.type(text) }
  func pick(_ style: String) throws { try session.pick(ImagePlaygroundStyle(id: style)) }
  func replaceSourceImage(_ image: Bitmap?) { session.replaceSourceImage(image) }
  func generate() async { await session.generate() }
  func finishProviderSetup() { session.setUpExternalProvider(provider.map(ClosureImageProvider.init)) }
  func accept() throws { try session.accept() }
  func cancel() { session.cancel() }
  func end() { session.end() }
}

/// A creator of PlaygroundKit.
private struct KitCreator: PlaygroundCreatorImplementation {
  let creator: ImageCreator

  var availableStyles: [String] { creator.availableStyles.map(\.id) }

  func images(for concepts: [PlaygroundSurface.Concept], style: String, limit: Int) -> @Sendable () async throws -> Bitmap? {
    let images = creator.images(for: concepts.map(translate), style: ImagePlaygroundStyle(id: style), limit: limit)
    let pull = Pull(images.makeAsyncIterator())
    return { try await pull.next() }
  }

  /// An iterator that several closures could share, one call at a time.
  private actor Pull {
    private var iterator: ImageCreator.Images.Iterator
    init(_ iterator: ImageCreator.Images.Iterator) { self.iterator = iterator }
    func next() async throws -> Bitmap? {
      var own = iterator
      defer { iterator = own }
      return try await own.next()?.bitmap
    }
  }
}

/// A provider that a closure is.
private struct ClosureImageProvider: ExternalImageProvider {
  let name = "scripted provider"
  let make: @Sendable (String) async throws -> Bitmap
  init(_ make: @escaping @Sendable (String) async throws -> Bitmap) { self.make = make }
  func image(_ request: ExternalImageRequest) async throws -> Bitmap { try await make(request.prompt) }
}
