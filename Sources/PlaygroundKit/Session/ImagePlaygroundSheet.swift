/// What an app binds the sheet to: set ``isPresented`` and it appears, if images can be made here.
///
/// It stands for the view modifier of SwiftUI and for the view controller of UIKit: both are this with pixels.
@MainActor public final class ImagePlaygroundSheet {
  /// What the sheet is presented with; changes count from the next presentation on.
  public var presentation: ImagePlaygroundPresentation
  /// The session that is on the screen; nil when there's none.
  public private(set) var session: ImagePlaygroundSession?
  /// Why the last presentation didn't appear; nil when it did.
  public private(set) var lastError: ImagePlaygroundError?
  private let system: ImagePlaygroundSystem?
  /// The session of an accepted image, whose file lives until the next presentation.
  private var former: ImagePlaygroundSession?

  /// Makes a sheet that isn't presented.
  ///
  /// - Parameter system: Who makes the images; nil is the shared one.
  public init(_ presentation: ImagePlaygroundPresentation, on system: ImagePlaygroundSystem? = nil) {
    self.presentation = presentation
    self.system = system
  }

  /// Whether the sheet is on the screen.
  ///
  /// Setting it presents: nothing appears where images can't be made, and it stays false. It becomes false when the person
  /// accepts or cancels. Setting it to false takes the sheet away without a word to the app.
  public var isPresented: Bool {
    get { session != nil }
    set { if newValue { present() } else { dismiss() } }
  }

  /// Whether the app may show the sheet; otherwise it shows its fallback.
  public var isAvailable: Bool { (system ?? .shared)?.supportsImagePlayground ?? false }

  private func present() {
    guard session == nil else { return }
    former?.end()
    former = nil
    var own = presentation
    own.onCompletion = { [weak self, presentation] url in
      self?.close(keepsFiles: true)
      presentation.onCompletion(url)
    }
    own.onAdaptiveImageGlyphCreation = { [weak self, presentation] glyph in
      self?.close(keepsFiles: false)
      presentation.onAdaptiveImageGlyphCreation(glyph)
    }
    own.onCancellation = { [weak self, presentation] in
      guard let self, session != nil else { return }
      close(keepsFiles: false)
      presentation.onCancellation()
    }
    do throws(ImagePlaygroundError) {
      session = try ImagePlaygroundSession(own, on: system)
      lastError = nil
    } catch {
      lastError = error
    }
  }

  private func close(keepsFiles: Bool) {
    if keepsFiles { former = session }
    session = nil
  }

  private func dismiss() {
    let open = session
    session = nil
    open?.end()
  }
}
