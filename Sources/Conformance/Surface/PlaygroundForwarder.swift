import Foundation
import Tensors

/// An implementation of Image Playground that does what another one does, but for what is changed; mutants are made of it.
struct PlaygroundForwarder: PlaygroundImplementation {
  typealias Told = @Sendable (PlaygroundSurface.Told) -> Void
  typealias Present =
    @Sendable (PlaygroundSurface.Presentation, @escaping Told) async throws -> (any PlaygroundSessionImplementation)?

  private let base: any PlaygroundImplementation
  var onAvailable: @Sendable () async -> Bool
  var onClosest: @Sendable (CGSize) -> CGSize?
  var styles: [String: String]
  var onDecode: @Sendable (Data) throws -> String
  var isPersonalizedByDefault: Bool
  var onImageURL: @Sendable (URL) -> Bool
  var onPresent: Present
  var onCreator: @Sendable () async throws -> any PlaygroundCreatorImplementation
  var onCreatorError: @Sendable (any Error) -> PlaygroundSurface.CreatorError?

  init(_ base: any PlaygroundImplementation) {
    self.base = base
    onAvailable = { await base.isAvailable }
    onClosest = { base.closestSize(to: $0) }
    styles = base.styles
    onDecode = { try base.decodedStyle($0) }
    isPersonalizedByDefault = base.isPersonalizedByDefault
    onImageURL = { base.hasImageConcept(of: $0) }
    onPresent = { try await base.present($0, told: $1) }
    onCreator = { try await base.makeCreator() }
    onCreatorError = { base.creatorError(of: $0) }
  }

  var capabilities: Set<PlaygroundSurface.Capability> { base.capabilities }
  var isAvailable: Bool { get async { await onAvailable() } }
  var supportedSizes: [CGSize] { base.supportedSizes }
  var defaultSize: CGSize { base.defaultSize }
  func closestSize(to size: CGSize) -> CGSize? { onClosest(size) }
  func encoded(style: String) throws -> Data { try base.encoded(style: style) }
  func decodedStyle(_ json: Data) throws -> String { try onDecode(json) }
  func hasImageConcept(of url: URL) -> Bool { onImageURL(url) }
  func hasImageConcept(of bitmap: Bitmap) -> Bool { base.hasImageConcept(of: bitmap) }
  func present(_ presentation: PlaygroundSurface.Presentation, told: @escaping Told) async throws
    -> (any PlaygroundSessionImplementation)?
  { try await onPresent(presentation, told) }
  func makeCreator() async throws -> any PlaygroundCreatorImplementation { try await onCreator() }
  func creatorError(of error: any Error) -> PlaygroundSurface.CreatorError? {
    // Errors that a mutant made up are already translated.
    (error as? PlaygroundMutantError)?.error ?? onCreatorError(error)
  }

  // MARK: - Changes

  /// Changes what the sheet is presented with.
  func mappingPresentation(_ change: @escaping @Sendable (inout PlaygroundSurface.Presentation) -> Void) -> Self {
    var copy = self
    let inner = onPresent
    copy.onPresent = { presentation, told in
      var presentation = presentation
      change(&presentation)
      return try await inner(presentation, told)
    }
    return copy
  }

  /// Changes concepts, those of the creator too.
  func mappingConcepts(_ change: @escaping @Sendable (PlaygroundSurface.Concept) -> PlaygroundSurface.Concept?) -> Self {
    var copy = mappingPresentation { $0.concepts = $0.concepts.compactMap(change) }
    copy = copy.mappingCreator { creator in
      let inner = creator.onImages
      creator.onImages = { concepts, style, limit in inner(concepts.compactMap(change), style, limit) }
    }
    return copy
  }

  /// Changes what the app is told.
  func mappingTold(_ change: @escaping @Sendable (@escaping Told) -> Told) -> Self {
    var copy = self
    let inner = onPresent
    copy.onPresent = { presentation, told in try await inner(presentation, change(told)) }
    return copy
  }

  /// Changes the session; what it's presented with and whom it tells are known.
  func mappingSession(
    _ change: @escaping @Sendable (inout SessionForwarder, PlaygroundSurface.Presentation, @escaping Told) -> Void
  ) -> Self {
    var copy = self
    let inner = onPresent
    copy.onPresent = { presentation, told in
      guard let session = try await inner(presentation, told) else { return nil }
      var forwarder = SessionForwarder(session)
      change(&forwarder, presentation, told)
      return forwarder
    }
    return copy
  }

  /// Changes the creator.
  func mappingCreator(_ change: @escaping @Sendable (inout CreatorForwarder) -> Void) -> Self {
    var copy = self
    let inner = onCreator
    copy.onCreator = {
      var forwarder = CreatorForwarder(try await inner())
      change(&forwarder)
      return forwarder
    }
    return copy
  }
}

/// A session that does what another one does, but for what is changed.
struct SessionForwarder: PlaygroundSessionImplementation {
  var onState: @Sendable () async -> PlaygroundSurface.State
  var onOffered: @Sendable () async -> [String]
  var onLocked: @Sendable () async -> Bool
  var onSelected: @Sendable () async -> String
  var onOffersPeople: @Sendable () async -> Bool
  var onNames: @Sendable () async -> [String]
  var onType: @Sendable (String) async -> Void
  var onPick: @Sendable (String) async throws -> Void
  var onReplace: @Sendable (Bitmap?) async -> Void
  var onGenerate: @Sendable () async -> Void
  var onSetup: @Sendable () async -> Void
  var onAccept: @Sendable () async throws -> Void
  var onCancel: @Sendable () async -> Void
  var onEnd: @Sendable () async -> Void

  init(_ base: any PlaygroundSessionImplementation) {
    onState = { await base.state }
    onOffered = { await base.offeredStyles }
    onLocked = { await base.isStyleLocked }
    onSelected = { await base.selectedStyle }
    onOffersPeople = { await base.offersPeople }
    onNames = { await base.detectedNames }
    onType = { await base.type($0) }
    onPick = { try await base.pick($0) }
    onReplace = { await base.replaceSourceImage($0) }
    onGenerate = { await base.generate() }
    onSetup = { await base.finishProviderSetup() }
    onAccept = { try await base.accept() }
    onCancel = { await base.cancel() }
    onEnd = { await base.end() }
  }

  var state: PlaygroundSurface.State { get async { await onState() } }
  var offeredStyles: [String] { get async { await onOffered() } }
  var isStyleLocked: Bool { get async { await onLocked() } }
  var selectedStyle: String { get async { await onSelected() } }
  var offersPeople: Bool { get async { await onOffersPeople() } }
  var detectedNames: [String] { get async { await onNames() } }
  func type(_ text: String) async { await onType(text) }
  func pick(_ style: String) async throws { try await onPick(style) }
  func replaceSourceImage(_ image: Bitmap?) async { await onReplace(image) }
  func generate() async { await onGenerate() }
  func finishProviderSetup() async { await onSetup() }
  func accept() async throws { try await onAccept() }
  func cancel() async { await onCancel() }
  func end() async { await onEnd() }
}

/// A creator that does what another one does, but for what is changed.
struct CreatorForwarder: PlaygroundCreatorImplementation {
  typealias Next = @Sendable () async throws -> Bitmap?
  var availableStyles: [String]
  var onImages: @Sendable ([PlaygroundSurface.Concept], String, Int) -> Next

  init(_ base: any PlaygroundCreatorImplementation) {
    availableStyles = base.availableStyles
    onImages = { base.images(for: $0, style: $1, limit: $2) }
  }

  func images(for concepts: [PlaygroundSurface.Concept], style: String, limit: Int) -> Next { onImages(concepts, style, limit) }
}

/// An error that a mutant throws.
struct PlaygroundMutantError: Error {
  var error: PlaygroundSurface.CreatorError
}

/// What stands around a mutant of Image Playground.
struct PlaygroundMutantSurroundings: Sendable {
  var backend: ScriptedBackend
  var environment: PlaygroundSurface.Environment
  /// Makes a right implementation over the same engine, in another environment.
  var make: @Sendable (PlaygroundSurface.Environment) async throws -> any PlaygroundImplementation
}

extension Mutant {
  /// Makes a mutant of an implementation of Image Playground.
  init(
    playground id: String, _ story: String, breaks: [String],
    change: @escaping @Sendable (inout PlaygroundForwarder, PlaygroundMutantSurroundings) -> Void
  ) {
    self.init(id, story, breaks: breaks, of: .playground) { (surroundings: PlaygroundSurroundings) in
      guard case .scripted(let make) = surroundings.making else { return surroundings }
      return PlaygroundSurroundings(
        .scripted { backend, environment in
          var forwarder = PlaygroundForwarder(try await make(backend, environment))
          change(
            &forwarder,
            PlaygroundMutantSurroundings(backend: backend, environment: environment) { try await make(backend, $0) })
          return forwarder
        })
    }
  }

  /// Makes a mutant that takes its environment for another one.
  init(
    playground id: String, _ story: String, breaks: [String],
    environment change: @escaping @Sendable (inout PlaygroundSurface.Environment) -> Void
  ) {
    self.init(id, story, breaks: breaks, of: .playground) { (surroundings: PlaygroundSurroundings) in
      guard case .scripted(let make) = surroundings.making else { return surroundings }
      return PlaygroundSurroundings(
        .scripted { backend, environment in
          var environment = environment
          change(&environment)
          return try await make(backend, environment)
        })
    }
  }
}
