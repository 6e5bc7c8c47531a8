import Foundation
import GenBackend
import Synchronization
import Tensors

/// An implementation of Image Playground with what stands around it.
package typealias PlaygroundRig = Rig<PlaygroundSurface>

extension Rig where Surface == PlaygroundSurface {
  /// The identifier of a documented style.
  func style(_ name: String) throws -> String {
    guard let id = implementation.styles[name] else { throw CheckFailure(expected: "the style \(name)", seen: "no such style") }
    return id
  }

  // MARK: - The sheet

  /// A sheet on the screen, with the calls of the app's handlers.
  struct Sheet: Sendable {
    var session: PlaygroundSheet
    var callbacks: CallbackLog
  }

  /// The calls of an app's handlers.
  final class CallbackLog: Sendable {
    private struct State {
      var entries: [PlaygroundSurface.Callback] = []
      var offMain = 0
      var files: [Data?] = []
    }
    private let state = Mutex(State())
    private let log: EvidenceLog
    init(_ log: EvidenceLog) { self.log = log }

    func add(_ callback: PlaygroundSurface.Callback) {
      var file: Data??
      switch callback {
      case .file(let url):
        log.note("app: onCompletion \(url.lastPathComponent)")
        file = .some(FileManager.default.contents(atPath: url.path))
      case .glyph(let glyph): log.note("app: onAdaptiveImageGlyphCreation, \(glyph.png.count) bytes")
      case .cancelled: log.note("app: onCancellation")
      }
      let isOnMain = MainQueue.isCurrent
      state.withLock { state in
        state.entries.append(callback)
        if let file { state.files.append(file) }
        if !isOnMain { state.offMain += 1 }
      }
    }

    var entries: [PlaygroundSurface.Callback] { state.withLock { $0.entries } }
    /// How often it was told off the main thread.
    var offMain: Int { state.withLock { $0.offMain } }
    /// The content of each file as it was when the app was told.
    var files: [Data?] { state.withLock { $0.files } }
    var urls: [URL] {
      entries.compactMap { if case .file(let url) = $0 { url } else { nil } }
    }
    var glyphs: [PlaygroundSurface.Glyph] {
      entries.compactMap { if case .glyph(let glyph) = $0 { glyph } else { nil } }
    }
  }

  /// Presents; nil when the sheet doesn't appear.
  func tryPresent(_ change: (inout PlaygroundSurface.Presentation) throws -> Void = { _ in }) async throws -> Sheet? {
    var presentation = PlaygroundSurface.Presentation()
    presentation.concepts = [.text("a red boat")]
    try change(&presentation)
    let callbacks = CallbackLog(context.log)
    let (implementation, chosen) = (implementation, presentation)
    context.log.note("app: presents the sheet")
    let session = try await within("the sheet appears or not") {
      try await implementation.present(chosen) { callbacks.add($0) }
    }
    if let session { context.atEnd { await session.end() } }
    return session.map { Sheet(session: $0, callbacks: callbacks) }
  }

  /// Presents; a sheet that doesn't appear fails the check.
  func present(_ change: (inout PlaygroundSurface.Presentation) throws -> Void = { _ in }) async throws -> Sheet {
    guard let sheet = try await tryPresent(change) else {
      throw CheckFailure(expected: "the sheet appears", seen: "it doesn't")
    }
    return sheet
  }

  /// Makes an image in a sheet.
  @discardableResult
  func generate(_ sheet: Sheet, expecting wanted: PlaygroundSurface.State = .showing, _ what: String = "an image") async throws
    -> ImageRequest?
  {
    context.log.note("person: generates")
    try await within("the image is made or not") { await sheet.session.generate() }
    let state = await sheet.session.state()
    try context.expectEqual(state, wanted, "\(what): the sheet is")
    return scripted?.runs.last?.request
  }

  /// Accepts.
  func accept(_ sheet: Sheet) async throws {
    context.log.note("person: accepts")
    try await within("accept returns") { try await sheet.session.accept() }
    await settle()
  }

  /// Cancels.
  func cancel(_ sheet: Sheet) async throws {
    context.log.note("person: cancels")
    try await within("cancel returns") { await sheet.session.cancel() }
    await settle()
  }

  // MARK: - The creator

  /// The creator, or what is thrown in its place.
  func tryCreator() async throws -> Result<PlaygroundCreator, any Error> {
    let implementation = implementation
    return try await within("a creator is made or not") {
      do { return .success(try await implementation.makeCreator()) } catch { return .failure(error) }
    }
  }

  /// The creator; an error fails the check.
  func creator() async throws -> PlaygroundCreator {
    try need(.creator)
    switch try await tryCreator() {
    case .success(let creator): return creator
    case .failure(let error): throw CheckFailure(expected: "a creator", seen: "\(error)")
    }
  }

  /// How a series of images ended.
  struct Series: Sendable {
    var images: [Bitmap] = []
    /// The error that ended it; nil when there was none.
    var failure: ThrownFailure?
    /// The error as text.
    var errorText: String { failure.map { $0.code?.rawValue ?? "an undocumented error" } ?? "no error" }
  }

  /// Awaits all images.
  func series(_ concepts: [PlaygroundSurface.Concept] = [.text("a red boat")], style: String? = nil, limit: Int = 1) async throws
    -> Series
  {
    let creator: PlaygroundCreator
    switch try await tryCreator() {
    case .success(let made): creator = made
    case .failure(let error): return Series(failure: implementation.failure(error))
    }
    let chosen = try style ?? self.style("illustration")
    let implementation = implementation
    context.log.note("call: images(for:style:limit: \(limit))")
    return try await within("the series ends") {
      var series = Series()
      do {
        let next = creator.images(concepts, chosen, limit)
        while let image = try await next() {
          series.images.append(image)
          if series.images.count > 100 { break }
        }
      } catch {
        series.failure = implementation.failure(error)
      }
      return series
    }
  }
}

extension CheckContext where Surface == PlaygroundSurface {
  /// Makes a fresh implementation of Image Playground.
  func playground(_ change: (inout PlaygroundSurface.Setup) -> Void = { _ in }) async throws -> PlaygroundRig {
    var setup = PlaygroundSurface.Setup()
    change(&setup)
    let rig = try await make(setup)
    if let engine = rig.scripted { atEnd { engine.openAllGates() } }
    return rig
  }

  /// Fails unless a series ended with an error, and made no image.
  func expectError(_ series: PlaygroundRig.Series, _ error: PlaygroundSurface.CreatorError, _ what: String) throws {
    try expect(
      series.failure?.code == error && series.images.isEmpty, "\(what): \(error.rawValue) and no image",
      seen: "\(series.errorText), \(series.images.count) images")
  }
}
