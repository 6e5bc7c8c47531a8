public import Conformance
import Foundation
public import GenBackend
public import PlaygroundKit
import Tensors

extension PlaygroundImplementation {
  /// This repository's `PlaygroundKit` over an engine that follows a script; also the example for others.
  ///
  /// - Throws: What the engine throws when its model is loaded.
  public static func playgroundKit(_ backend: any GenBackend, _ setup: PlaygroundSurface.Setup) async throws
    -> PlaygroundImplementation
  {
    var own = PlaygroundEnvironment(locale: Locale(identifier: setup.isRegionSupported ? "en_US" : "tlh_US"))
    own.isDeviceCapable = setup.isDeviceCapable
    own.isEnabledByUser = setup.isEnabledByUser
    own.isInBackground = setup.isInBackground
    own.executionSite = setup.isMadeOnServers ? .privateCloudCompute : .onDevice
    own.isNetworkReachable = setup.isOnline
    own.offersImageCreator = setup.offersCreator
    own.people = setup.people.map { PlaygroundEnvironment.Person(name: $0.name, appearance: $0.appearance) }
    if let side = setup.faceSide { own.faces = { _ in [PlaygroundEnvironment.Face(width: side, height: side)] } }
    let model =
      setup.hasModel
      ? try await backend.load(LoadRequest(path: ScriptedModels.root + "sd15", safety: .off), control: GenerationControl()) : nil
    var settings = ImagePlaygroundSystem.Settings()
    settings.steps = 4
    settings.seed = 7
    let system = ImagePlaygroundSystem(
      backend: backend, model: model, environment: own,
      externalProvider: setup.externalProvider.map(ClosureImageProvider.init),
      usage: setup.usageLimit.map { PlaygroundUsage(limit: $0) }, settings: settings)
    return playgroundKit(system, providerToSetUp: setup.providerToSetUp, seesRequests: true)
  }

  /// This repository's `PlaygroundKit` over any engine; the requests of one that computes can't be seen.
  public static func playgroundKit(_ system: ImagePlaygroundSystem) -> PlaygroundImplementation {
    playgroundKit(system, providerToSetUp: nil, seesRequests: false)
  }

  private static func playgroundKit(
    _ system: ImagePlaygroundSystem, providerToSetUp: (@Sendable (String) async throws -> Bitmap)?, seesRequests: Bool
  ) -> PlaygroundImplementation {
    PlaygroundImplementation(
      capabilities: Set(PlaygroundSurface.Capability.allCases).subtracting(seesRequests ? [] : [.visibleRequests]),
      // The same as `supportsImageGeneration`.
      isAvailable: { system.supportsImagePlayground },
      supportedSizes: ImagePlaygroundOptions.SizeSpecification.supported,
      defaultSize: ImagePlaygroundOptions().sizeSpecification.size,
      closestSize: { ImagePlaygroundOptions.SizeSpecification.closest(to: $0).size },
      styles: [
        "animation": ImagePlaygroundStyle.animation.id, "illustration": ImagePlaygroundStyle.illustration.id,
        "sketch": ImagePlaygroundStyle.sketch.id, "emoji": ImagePlaygroundStyle.emoji.id,
        "externalProvider": ImagePlaygroundStyle.externalProvider.id,
      ],
      encodedStyle: { try JSONEncoder().encode(ImagePlaygroundStyle(id: $0)) },
      decodedStyle: { try JSONDecoder().decode(ImagePlaygroundStyle.self, from: $0).id },
      isPersonalizedByDefault: ImagePlaygroundOptions().personalization.isEnabled,
      makesImageConceptOfURL: { ImagePlaygroundConcept.image($0) != nil },
      makesImageConceptOfPixels: { bitmap in
        let concept: ImagePlaygroundConcept? = ImagePlaygroundConcept.image(bitmap)
        return concept != nil
      },
      present: { presentation, onCallback in
        var own = ImagePlaygroundPresentation(
          concepts: presentation.concepts.map(translated), sourceImage: presentation.sourceImage,
          options: translated(presentation.options), defaultStyle: presentation.defaultStyle.map { ImagePlaygroundStyle(id: $0) },
          onCompletion: { onCallback(.file($0)) },
          onAdaptiveImageGlyphCreation: { onCallback(.glyph(.init(png: $0.imageContent, description: $0.contentDescription))) },
          onCancellation: { onCallback(.cancelled) })
        if let styles = presentation.allowedStyles { own.allowedStyles = styles.map { ImagePlaygroundStyle(id: $0) } }
        return try await show(own, on: system, providerToSetUp)
      },
      makeCreator: {
        let creator = try await ImageCreator(system: system)
        return PlaygroundCreator(availableStyles: creator.availableStyles.map(\.id)) { concepts, style, limit in
          let images = creator.images(for: concepts.map(translated), style: ImagePlaygroundStyle(id: style), limit: limit)
          let pull = Pull(images.makeAsyncIterator())
          return { try await pull.next() }
        }
      },
      failure: { error in
        Failure((error as? ImageCreator.Error).flatMap { .init(rawValue: $0.rawValue) }, message: "\(error)")
      })
  }
}

@MainActor private func show(
  _ presentation: ImagePlaygroundPresentation, on system: ImagePlaygroundSystem,
  _ provider: (@Sendable (String) async throws -> Bitmap)?
) throws -> PlaygroundSheet? {
  let sheet = ImagePlaygroundSheet(presentation, on: system)
  sheet.isPresented = true
  guard sheet.isPresented, let session = sheet.session else {
    // Styles that can't be presented are the app's mistake; a sheet that isn't available just doesn't appear.
    if let error = sheet.lastError, error.code != .unavailable { throw error }
    return nil
  }
  return PlaygroundSheet(
    state: { await state(of: session) }, offeredStyles: { await session.offeredStyles.map(\.id) },
    isStyleLocked: { await session.isStyleLocked }, selectedStyle: { await session.selectedStyle.id },
    offersPeople: { await session.offersPeople }, detectedNames: { await session.detectedPeople.map(\.name) },
    type: { await session.type($0) }, pick: { try await session.pick(ImagePlaygroundStyle(id: $0)) },
    replaceSourceImage: { await session.replaceSourceImage($0) }, generate: { await session.generate() },
    finishProviderSetup: { await session.setUpExternalProvider(provider.map(ClosureImageProvider.init)) },
    accept: { try await session.accept() }, cancel: { await session.cancel() },
    end: {
      await session.end()
      // The sheet goes with its session.
      withExtendedLifetime(sheet) {}
    })
}

@MainActor private func state(of session: ImagePlaygroundSession) -> PlaygroundSurface.State {
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

private func translated(_ concept: PlaygroundSurface.Concept) -> ImagePlaygroundConcept {
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

private func translated(_ options: PlaygroundSurface.Options) -> ImagePlaygroundOptions {
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

/// A provider that a closure is.
private struct ClosureImageProvider: ExternalImageProvider {
  let name = "scripted provider"
  let make: @Sendable (String) async throws -> Bitmap
  init(_ make: @escaping @Sendable (String) async throws -> Bitmap) { self.make = make }
  func image(_ request: ExternalImageRequest) async throws -> Bitmap { try await make(request.prompt) }
}
