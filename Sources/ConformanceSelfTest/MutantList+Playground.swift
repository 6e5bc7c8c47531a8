import Conformance
import Foundation
import Imaging
import Tensors

extension Mutant {
  /// Faulty implementations of Image Playground.
  static let playground: [Mutant] = playgroundSheets + playgroundStyles + playgroundSizes + playgroundCreators

  /// A file that the app is notify of, changed.
  private static func mappingFiles(
    _ mutant: PlaygroundImplementation, _ change: @escaping @Sendable (URL, @escaping PlaygroundChange.Notify) -> Void
  ) -> PlaygroundImplementation {
    mutant.mappingCallbacks { notify in
      { entry in if case .file(let url) = entry { change(url, notify) } else { notify(entry) } }
    }
  }

  private static func mappingGlyphs(
    _ mutant: PlaygroundImplementation,
    _ change: @escaping @Sendable (PlaygroundSurface.Glyph, @escaping PlaygroundChange.Notify) -> Void
  ) -> PlaygroundImplementation {
    mutant.mappingCallbacks { notify in
      { entry in if case .glyph(let glyph) = entry { change(glyph, notify) } else { notify(entry) } }
    }
  }

  // MARK: - The sheet

  private static let playgroundSheets: [Mutant] = [
    Mutant(playground: "setting-not-asked", "Whether the person has it on isn't looked at.", breaks: ["P-01", "P-02"]) {
      $0.isEnabledByUser = true
    },
    Mutant(playground: "region-not-asked", "Language and region aren't looked at.", breaks: ["P-01", "P-02"]) {
      $0.isRegionSupported = true
    },
    Mutant(playground: "sheet-though-unavailable", "The sheet appears, and fails later.", breaks: ["P-02"]) {
      mutant, context in
      let inner = mutant.present
      mutant.present = { presentation, notify in
        if let session = try await inner(presentation, notify) { return session }
        var setup = PlaygroundSurface.Setup()
        setup.engine = context.testDouble
        return try await context.make(setup).present(presentation, notify)
      }
    },
    Mutant(playground: "completion-on-cancel", "Cancelling hands out the image that was shown.", breaks: ["P-03"]) { mutant, _ in
      mutant = mutant.mappingSession { session, _, _ in
        let (accept, cancel) = (session.accept, session.cancel)
        session.cancel = {
          try? await accept()
          await cancel()
        }
      }
    },
    Mutant(playground: "cancelled-each-time", "The app hears of each cancel.", breaks: ["P-03"]) { mutant, _ in
      mutant = mutant.mappingSession { session, _, notify in
        let cancel = session.cancel
        let wasCancelled = Box(false)
        session.cancel = {
          await cancel()
          if wasCancelled.exchange(true) { await MainActor.run { notify(.cancelled) } }
        }
      }
    },
    Mutant(playground: "told-off-the-main-thread", "The app hears of its file on a thread of the engine.", breaks: ["P-03"]) {
      mutant, _ in
      mutant = mappingFiles(mutant) { url, notify in
        let isDone = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          notify(.file(url))
          isDone.signal()
        }
        isDone.wait()
      }
    },
    Mutant(playground: "file-too-late", "The app hears of a file that's being written.", breaks: ["P-04"]) { mutant, _ in
      mutant = mappingFiles(mutant) { url, notify in
        let content = FileManager.default.contents(atPath: url.path)
        try? FileManager.default.removeItem(at: url)
        notify(.file(url))
        try? content?.write(to: url)
      }
    },
    Mutant(playground: "one-file-for-all", "Every session writes the same file.", breaks: ["P-04"]) { mutant, context in
      let shared = FileManager.default.temporaryDirectory.appendingPathComponent(
        "genbench-shared-\(ObjectIdentifier(context.testDouble).hashValue).png")
      mutant = mappingFiles(mutant) { url, notify in
        try? FileManager.default.contents(atPath: url.path)?.write(to: shared)
        notify(.file(shared))
      }
      mutant = mutant.mappingSession { session, _, _ in
        let end = session.end
        session.end = {
          await end()
          try? FileManager.default.removeItem(at: shared)
        }
      }
    },
    Mutant(playground: "long-text-whole", "A long text goes into the prompt as it is.", breaks: ["P-05"]) { mutant, _ in
      mutant = mutant.mappingConcepts { concept in
        if case .extracted(let text, _) = concept { return .text(text) }
        return concept
      }
    },
    Mutant(playground: "text-in-small-letters", "Texts are normalised to small letters.", breaks: ["P-05"]) { mutant, _ in
      mutant = mutant.mappingConcepts { concept in
        if case .text(let text) = concept { return .text(text.lowercased()) }
        return concept
      }
    },
    Mutant(playground: "title-dropped", "The title of a text is dropped.", breaks: ["P-05"]) { mutant, _ in
      mutant = mutant.mappingConcepts { concept in
        if case .extracted(let text, _) = concept { return .extracted(text, title: nil) }
        return concept
      }
    },
    Mutant(playground: "last-concept-wins", "Of several concepts the last one is used.", breaks: ["P-05", "P-06", "P-07"]) {
      mutant, _ in
      mutant = mutant.mappingPresentation { $0.concepts = Array($0.concepts.suffix(1)) }
    },
    Mutant(playground: "source-image-dropped", "The source image is shown, and not used.", breaks: ["P-06"]) { mutant, _ in
      mutant = mutant.mappingPresentation { $0.sourceImage = nil }
    },
    Mutant(playground: "source-image-stays", "The person can't replace the source image.", breaks: ["P-06"]) { mutant, _ in
      mutant = mutant.mappingSession { session, _, _ in session.replaceSourceImage = { _ in } }
    },
    Mutant(playground: "drawing-dropped", "A drawing beside a text is dropped.", breaks: ["P-07"]) { mutant, _ in
      mutant = mutant.mappingConcepts { concept in
        if case .drawing = concept { return nil }
        return concept
      }
    },
    Mutant(playground: "drawing-opaque", "All strokes of a drawing are opaque.", breaks: ["P-07"]) { mutant, _ in
      mutant = mutant.mappingConcepts { concept in
        guard case .drawing(let strokes) = concept else { return concept }
        return .drawing(strokes.map { $0.map { .init(x: $0.x, y: $0.y, width: $0.width, opacity: 1) } })
      }
    },
    Mutant(playground: "drawing-one-width", "All strokes of a drawing have one width.", breaks: ["P-07"]) { mutant, _ in
      mutant = mutant.mappingConcepts { concept in
        guard case .drawing(let strokes) = concept else { return concept }
        return .drawing(strokes.map { $0.map { .init(x: $0.x, y: $0.y, width: 4, opacity: $0.opacity) } })
      }
    },
    Mutant(playground: "any-url-is-an-image", "A concept of a URL is made without looking at it.", breaks: ["P-08"]) {
      mutant, _ in
      mutant.makesImageConceptOfURL = { _ in true }
    },
    Mutant(playground: "disabled-still-finds-names", "Disabled personalization still looks for names.", breaks: ["P-13"]) {
      mutant, context in
      mutant = mutant.mappingSession { session, presentation, _ in
        session.detectedNames = {
          context.setup.people.map(\.name).filter { name in
            presentation.concepts.contains { if case .text(let text) = $0 { text.contains(name) } else { false } }
          }
        }
      }
    },
    Mutant(playground: "personalization-off-by-default", "Personalization has to be turned on.", breaks: ["P-13"]) { mutant, _ in
      mutant.isPersonalizedByDefault = false
      mutant = mutant.mappingPresentation { if $0.options.personalization == nil { $0.options.personalization = .disabled } }
    },
    Mutant(playground: "limit-closes-the-sheet", "At the limit the sheet goes away as if it were cancelled.", breaks: ["P-16"]) {
      mutant, _ in
      mutant = mutant.mappingSession { session, _, _ in
        let (generate, state, cancel) = (session.generate, session.state, session.cancel)
        session.generate = {
          await generate()
          if await state() == .usageLimitReached { await cancel() }
        }
      }
    },
    Mutant(playground: "limit-not-kept", "The limit of images isn't kept.", breaks: ["P-16"]) { $0.usageLimit = nil },
  ]

  // MARK: - Styles

  private static let playgroundStyles: [Mutant] = [
    Mutant(playground: "offers-all-styles", "The allowed styles are a wish.", breaks: ["P-09", "P-10"]) { mutant, _ in
      mutant = mutant.mappingPresentation { presentation in
        guard let allowed = presentation.allowedStyles, !allowed.isEmpty else { return }
        presentation.allowedStyles = allowed + ["animation", "illustration", "sketch", "emoji"].filter { !allowed.contains($0) }
      }
    },
    Mutant(playground: "default-adds-itself", "A default style that isn't allowed is added.", breaks: ["P-09"]) { mutant, _ in
      mutant = mutant.mappingPresentation { presentation in
        if let style = presentation.defaultStyle, let allowed = presentation.allowedStyles, !allowed.contains(style) {
          presentation.allowedStyles = allowed + [style]
        }
      }
    },
    Mutant(playground: "opens-on-the-first-style", "The default style is ignored.", breaks: ["P-09"]) { mutant, _ in
      mutant = mutant.mappingPresentation { $0.defaultStyle = nil }
    },
    Mutant(playground: "single-style-unlocked", "A picker with one style can still be opened.", breaks: ["P-10"]) { mutant, _ in
      mutant = mutant.mappingSession { session, _, _ in session.isStyleLocked = { false } }
    },
    Mutant(playground: "external-always-offered", "The external provider is offered unless it's left out.", breaks: ["P-11"]) {
      mutant, _ in
      mutant = mutant.mappingPresentation { presentation in
        if presentation.allowedStyles == nil { presentation.allowedStyles = ["illustration", "sketch", "externalProvider"] }
      }
    },
    Mutant(playground: "external-needs-a-check", "Without a configured provider the image fails.", breaks: ["P-11"]) {
      mutant, _ in
      mutant = mutant.mappingSession { session, _, _ in
        let state = session.state
        session.state = {
          let now = await state()
          return now == .settingUpProvider ? .failed : now
        }
      }
    },
    Mutant(playground: "external-made-here", "What's asked of the external provider is made by the system.", breaks: ["P-11"]) {
      mutant, _ in
      mutant = mutant.mappingSession { session, _, _ in
        let (generate, pick, selected) = (session.generate, session.pick, session.selectedStyle)
        let offered = session.offeredStyles
        session.generate = {
          if await selected() == "externalProvider", let other = await offered().first(where: { $0 != "externalProvider" }) {
            try? await pick(other)
          }
          await generate()
        }
      }
    },
    Mutant(playground: "glyph-and-file", "In the style emoji the app gets a file too.", breaks: ["P-12"]) { mutant, _ in
      mutant = mappingGlyphs(mutant) { glyph, notify in
        notify(.glyph(glyph))
        notify(.file(URL(fileURLWithPath: "/tmp/glyph.png")))
      }
    },
    Mutant(playground: "glyph-opaque", "The glyph has a white background.", breaks: ["P-12"]) { mutant, _ in
      mutant = mappingGlyphs(mutant) { glyph, notify in
        var glyph = glyph
        if let bitmap = try? PNGFile.decode([UInt8](glyph.png)), let bytes = try? PNGFile.encode(bitmap.rgbOnWhite()) {
          glyph.png = Data(bytes)
        }
        notify(.glyph(glyph))
      }
    },
    Mutant(playground: "glyph-not-square", "The glyph has the size of the options.", breaks: ["P-12"]) { mutant, _ in
      mutant = mappingGlyphs(mutant) { glyph, notify in
        var glyph = glyph
        if let bitmap = try? PNGFile.decode([UInt8](glyph.png)),
          let bytes = try? PNGFile.encode(bitmap.cropped(x: 0, y: 0, width: bitmap.width, height: bitmap.height / 2))
        {
          glyph.png = Data(bytes)
        }
        notify(.glyph(glyph))
      }
    },
    Mutant(playground: "glyph-without-words", "The glyph has no description.", breaks: ["P-12"]) { mutant, _ in
      mutant = mappingGlyphs(mutant) { glyph, notify in notify(.glyph(.init(png: glyph.png, description: ""))) }
    },
    Mutant(playground: "style-ids-by-version", "Identifiers of styles carry a version.", breaks: ["P-26"]) { mutant, _ in
      mutant.styles = mutant.styles.mapValues { $0 + "-v2" }
    },
    Mutant(playground: "later-styles-lost", "A style that isn't known is decoded as another one.", breaks: ["P-26"]) {
      mutant, _ in
      let inner = mutant.decodedStyle
      let known = Set(mutant.styles.values)
      mutant.decodedStyle = { json in
        let id = try inner(json)
        return known.contains(id) ? id : "illustration"
      }
    },
  ]

  // MARK: - Sizes

  private static let playgroundSizes: [Mutant] = [
    Mutant(playground: "always-square", "Every size becomes a square.", breaks: ["P-14"]) { mutant, _ in
      let inner = mutant.closestSize
      mutant.closestSize = { size in
        let side = min(size.width, size.height)
        return inner(CGSize(width: side, height: side))
      }
    },
    Mutant(playground: "aspect-alone", "The resolution isn't looked at.", breaks: ["P-14"]) { mutant, _ in
      let inner = mutant.closestSize
      mutant.closestSize = { size in
        guard size.width > 0, size.height > 0, size.width.isFinite, size.height.isFinite else { return inner(size) }
        let scale = 512 / max(size.width, size.height)
        return inner(CGSize(width: size.width * scale, height: size.height * scale))
      }
    },
    Mutant(playground: "size-as-asked", "Sizes near a supported one are kept as they are.", breaks: ["P-14"]) { mutant, _ in
      let inner = mutant.closestSize
      mutant.closestSize = { size in size.width > 500 && size.width < 600 && size.height > 0 ? size : inner(size) }
    },
    Mutant(playground: "useless-size-is-large", "A size that's no size becomes the largest one.", breaks: ["P-15"]) { mutant, _ in
      let inner = mutant.closestSize
      mutant.closestSize = { size in
        size.width > 0 && size.height > 0 && size.width.isFinite && size.height.isFinite
          ? inner(size) : CGSize(width: 1536, height: 1024)
      }
    },
    Mutant(playground: "negative-is-positive", "The sign of a size is dropped.", breaks: ["P-15"]) { mutant, _ in
      let inner = mutant.closestSize
      mutant.closestSize = { size in inner(CGSize(width: abs(size.width), height: abs(size.height) * 2)) }
    },
  ]

  // MARK: - ImageCreator

  private static let playgroundCreators: [Mutant] = [
    Mutant(playground: "creator-anywhere", "A creator can be made on any device.", breaks: ["P-18", "P-24"]) {
      $0.isDeviceCapable = true
    },
    Mutant(
      playground: "missing-model-is-not-supported", "A model that isn't there yet is taken for a device that can't.",
      breaks: ["P-18", "P-24"]
    ) {
      mutant, _ in
      let inner = mutant.failure
      mutant.failure = { error in
        var seen = inner(error)
        if seen.code == .unavailable { seen.code = .notSupported }
        return seen
      }
    },
    Mutant(playground: "more-than-four", "The limit alone counts, whatever it is.", breaks: ["P-19"]) { mutant, _ in
      mutant = mutant.mappingCreator { creator in
        let inner = creator.images
        creator.images = { concepts, style, limit in
          let (first, second) = (inner(concepts, style, limit), inner(concepts, style, limit - 4))
          return {
            if let image = try await first() { return image }
            return try await second()
          }
        }
      }
    },
    Mutant(playground: "at-least-one", "A limit below one makes one image.", breaks: ["P-19"]) { mutant, _ in
      mutant = mutant.mappingCreator { creator in
        let inner = creator.images
        creator.images = { concepts, style, limit in inner(concepts, style, max(1, limit)) }
      }
    },
    Mutant(playground: "same-image-each-time", "The images of a series are one.", breaks: ["P-19"]) { mutant, _ in
      mutant = mutant.mappingCreator { creator in
        let inner = creator.images
        creator.images = { concepts, style, limit in
          let next = inner(concepts, style, limit)
          let first = Box<Bitmap?>(nil)
          return {
            guard let image = try await next() else { return nil }
            if let known = first.value { return known }
            first.value = image
            return image
          }
        }
      }
    },
    Mutant(playground: "any-style-made", "A style that isn't available becomes a usual one.", breaks: ["P-20"]) { mutant, _ in
      mutant = mutant.mappingCreator { creator in
        let (inner, styles) = (creator.images, creator.availableStyles)
        creator.images = { concepts, style, limit in inner(concepts, styles.contains(style) ? style : styles[0], limit) }
      }
    },
    Mutant(playground: "external-available-to-creators", "The external provider is among the creator's styles.", breaks: ["P-20"])
    { mutant, _ in
      mutant = mutant.mappingCreator { $0.availableStyles.append("externalProvider") }
    },
    Mutant(playground: "cancelled-is-failed", "A cancelled series ends like one that failed.", breaks: ["P-21", "P-24"]) {
      mutant, _ in
      let inner = mutant.failure
      mutant.failure = { error in
        var seen = inner(error)
        if seen.code == .creationCancelled { seen.code = .creationFailed }
        return seen
      }
    },
    Mutant(playground: "cancelled-ends-quietly", "A cancelled series just ends.", breaks: ["P-21"]) { mutant, _ in
      let inner = mutant.failure
      mutant = mutant.mappingCreator { creator in
        let images = creator.images
        creator.images = { concepts, style, limit in
          let next = images(concepts, style, limit)
          return {
            do { return try await next() } catch {
              if inner(error).code == .creationCancelled { return nil }
              throw error
            }
          }
        }
      }
    },
    Mutant(playground: "task-cancel-not-heard", "Cancelling the task doesn't reach the engine.", breaks: ["P-21"]) { mutant, _ in
      mutant = mutant.mappingCreator { creator in
        let images = creator.images
        creator.images = { concepts, style, limit in
          let next = images(concepts, style, limit)
          return { try await Task.detached { try await next() }.value }
        }
      }
    },
    Mutant(playground: "makes-all-at-once", "All images are made before the first one is handed out.", breaks: ["P-22"]) {
      mutant, _ in
      mutant = mutant.mappingCreator { creator in
        let images = creator.images
        creator.images = { concepts, style, limit in
          let next = images(concepts, style, limit)
          let made = Box<[Bitmap]?>(nil)
          return {
            var all = made.value ?? []
            if made.value == nil { while let image = try await next() { all.append(image) } }
            let first = all.isEmpty ? nil : all.removeFirst()
            made.value = all
            return first
          }
        }
      }
    },
    Mutant(playground: "works-in-the-background", "The background isn't looked at.", breaks: ["P-23", "P-24"]) {
      $0.isInBackground = false
    },
    Mutant(playground: "one-error-for-all", "Every failure is creationFailed.", breaks: ["P-18", "P-21", "P-23", "P-24", "P-28"])
    { mutant, _ in
      mutant.failure = { _ in Failure(.creationFailed) }
    },
    Mutant(playground: "failure-lasts", "After a failure nothing is made any more.", breaks: ["P-25"]) { mutant, _ in
      let hasFailed = Box(false)
      mutant = mutant.mappingCreator { creator in
        let images = creator.images
        creator.images = { concepts, style, limit in
          let next = images(concepts, style, limit)
          return {
            if hasFailed.value { throw Failure<PlaygroundSurface.CreatorError>(.creationFailed) }
            do { return try await next() } catch {
              hasFailed.value = true
              throw error
            }
          }
        }
      }
    },
    Mutant(playground: "failure-closes-the-sheet", "A failure takes the sheet away.", breaks: ["P-25"]) { mutant, _ in
      mutant = mutant.mappingSession { session, _, _ in
        let (generate, state, cancel) = (session.generate, session.state, session.cancel)
        session.generate = {
          await generate()
          if await state() == .failed { await cancel() }
        }
      }
    },
    Mutant(playground: "offline-hangs", "Without a network the request waits for one.", breaks: ["P-28"]) {
      mutant, context in
      guard context.setup.isMadeOnServers, !context.setup.isOnline else { return }
      mutant.makeCreator = {
        // Until the check gives up.
        while !Task.isCancelled { await Task.yield() }
        throw Failure<PlaygroundSurface.CreatorError>(.creationCancelled)
      }
    },
    Mutant(playground: "offline-makes-something", "Without a network a lesser image is made.", breaks: ["P-28"]) {
      $0.isOnline = true
    },
  ]
}
