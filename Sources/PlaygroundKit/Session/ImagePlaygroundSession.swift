import Foundation
import GenBackend
import Imaging
public import Tensors

/// The sheet without its pixels: what a person can see is properties, what they can do is calls.
///
/// ```swift
/// let session = try ImagePlaygroundSession(presentation, on: system)
/// session.type("cherry blossoms")
/// try session.pick(.illustration)
/// await session.generate()
/// try session.accept()
/// ```
@MainActor public final class ImagePlaygroundSession {
  /// What the sheet shows.
  public enum Phase: Sendable, Hashable {
    /// It waits for the person.
    case editing
    /// An image is being made.
    case generating
    /// It shows an image.
    case showing
    /// It says why there's no image; the person may change something and try again.
    case failed(String)
    /// It says that the limit of images is reached. The app has nothing to do.
    case usageLimitReached
    /// It leads the person to setting up the external provider. The app has nothing to do.
    case settingUpExternalProvider
    /// The person has accepted an image.
    case accepted
    /// The person has cancelled.
    case cancelled
  }

  /// What the sheet shows.
  public private(set) var phase = Phase.editing
  /// The images that were made, the latest last.
  public private(set) var images: [Bitmap] = []
  /// The image that would be accepted; nil without any.
  public private(set) var selectedImage: Int?
  /// The concepts, those of the app and the person's.
  public private(set) var concepts: [ImagePlaygroundConcept]
  /// What the person has typed; empty at first.
  public private(set) var typedText = ""
  /// The image to start from.
  public private(set) var sourceImage: Bitmap?
  /// The style of the next image.
  public private(set) var selectedStyle: ImagePlaygroundStyle
  /// The styles of the picker, in the order of the app.
  public let offeredStyles: [ImagePlaygroundStyle]
  /// Size, personalization, variety, strategy.
  public let options: ImagePlaygroundOptions
  /// The people who were picked.
  public private(set) var includedPeople: [PlaygroundEnvironment.Person] = []

  private let presentation: ImagePlaygroundPresentation
  private let system: ImagePlaygroundSystem
  private let seed: UInt64
  private var origins: [(style: ImagePlaygroundStyle, description: String)] = []
  private var work: Task<Result<Bitmap, PlaygroundProblem>, Never>?
  private let files = TemporaryImages()

  /// Presents.
  ///
  /// - Parameter system: Who makes the images; nil is the shared one.
  /// - Throws: ``ImagePlaygroundError``: `unavailable`, `invalidStyles`.
  public init(_ presentation: ImagePlaygroundPresentation, on system: ImagePlaygroundSystem? = nil) throws(ImagePlaygroundError) {
    guard let system = system ?? .shared else {
      throw ImagePlaygroundError(.unavailable, "no system is configured; call ImagePlaygroundSystem.configure(_:) first")
    }
    let availability = system.environment.availability
    guard availability.supportsImagePlayground else {
      throw ImagePlaygroundError(.unavailable, availability.reasons.joined(separator: "; "))
    }
    var styles: [ImagePlaygroundStyle] = []
    for style in presentation.allowedStyles where !styles.contains(style) { styles.append(style) }
    guard let first = styles.first else { throw ImagePlaygroundError(.invalidStyles, "at least one style must be allowed") }
    let opening = presentation.defaultStyle ?? first
    guard styles.contains(opening) else {
      throw ImagePlaygroundError(
        .invalidStyles, "the default style '\(opening)' isn't among the allowed ones: \(styles.map(\.id).joined(separator: ", "))"
      )
    }
    self.presentation = presentation
    self.system = system
    offeredStyles = styles
    selectedStyle = opening
    concepts = presentation.concepts
    sourceImage = presentation.sourceImage
    options = presentation.options
    seed = system.newSeed()
  }

  // MARK: - What the person sees

  /// Whether the picker has one style only.
  public var isStyleLocked: Bool { offeredStyles.count == 1 }

  /// Whether people of the library can be picked.
  public var offersPeople: Bool { options.personalization.isEnabled }

  /// The people whose names stand in the description; empty where personalization is disabled.
  public var detectedPeople: [PlaygroundEnvironment.Person] {
    guard options.personalization.isEnabled else { return [] }
    let text = (concepts.map(\.words) + [typedText]).joined(separator: ". ")
    return PersonNames.found(in: text, among: system.environment.people)
  }

  /// What the next image will show, in words.
  public var imageDescription: String {
    (concepts.map(\.words) + [typedText]).filter { !$0.isEmpty }.joined(separator: ", ")
  }

  // MARK: - What the person does

  /// Types a description, in place of what was typed before.
  public func type(_ text: String) { if !isOver { typedText = text.trimmingCharacters(in: .whitespacesAndNewlines) } }

  /// Adds a concept.
  public func add(_ concept: ImagePlaygroundConcept) { if !isOver { concepts.append(concept) } }

  /// Takes a concept away; a place that doesn't exist is ignored.
  public func removeConcept(at index: Int) { if !isOver, concepts.indices.contains(index) { concepts.remove(at: index) } }

  /// Replaces the image to start from; nil takes it away.
  public func replaceSourceImage(_ image: Bitmap?) { if !isOver { sourceImage = image } }

  /// Picks a style.
  ///
  /// - Throws: ``ImagePlaygroundError`` `styleNotOffered`, `invalidState`.
  public func pick(_ style: ImagePlaygroundStyle) throws(ImagePlaygroundError) {
    try requireOpen()
    guard offeredStyles.contains(style) else {
      throw ImagePlaygroundError(
        .styleNotOffered, "the style '\(style)' isn't offered: \(offeredStyles.map(\.id).joined(separator: ", "))")
    }
    selectedStyle = style
  }

  /// Includes a person of the library.
  ///
  /// - Throws: ``ImagePlaygroundError`` `personalizationDisabled`, `invalidState`.
  public func include(_ person: PlaygroundEnvironment.Person) throws(ImagePlaygroundError) {
    try requireOpen()
    guard offersPeople else {
      throw ImagePlaygroundError(.personalizationDisabled, "personalization is disabled, so no people can be included")
    }
    if !includedPeople.contains(person) { includedPeople.append(person) }
  }

  /// Finishes setting up the external provider; nil leaves without one.
  public func setUpExternalProvider(_ provider: (any ExternalImageProvider)?) {
    if let provider { system.externalProvider = provider }
    if phase == .settingUpExternalProvider { phase = images.isEmpty ? .editing : .showing }
  }

  /// Makes an image, and shows it or says why there's none.
  ///
  /// While one is being made, asking again does nothing.
  @discardableResult
  public func generate() async -> Phase {
    guard !isOver, phase != .generating else { return phase }
    if selectedStyle == .externalProvider, system.externalProvider == nil {
      phase = .settingUpExternalProvider
      return phase
    }
    phase = .generating
    var all = concepts
    if !typedText.isEmpty { all.append(.text(typedText)) }
    let request = PlaygroundRequest(
      concepts: all, style: selectedStyle, options: options, sourceImage: sourceImage, people: includedPeople, seed: seed,
      index: images.count)
    let description = imageDescription
    let system = system
    let work = Task { () -> Result<Bitmap, PlaygroundProblem> in
      do throws(PlaygroundProblem) { return .success(try await system.image(request)) } catch { return .failure(error) }
    }
    self.work = work
    let result = await withTaskCancellationHandler {
      await work.value
    } onCancel: {
      work.cancel()
    }
    self.work = nil
    // The person may have left in the meantime.
    guard !isOver else { return phase }
    switch result {
    case .success(let image):
      images.append(image)
      origins.append((request.style, description))
      selectedImage = images.count - 1
      phase = .showing
    case .failure(.cancelled): phase = images.isEmpty ? .editing : .showing
    case .failure(.usageLimitReached): phase = .usageLimitReached
    case .failure(.externalProviderMissing): phase = .settingUpExternalProvider
    case .failure(let problem): phase = .failed(problem.description)
    }
    return phase
  }

  /// Stops the image that is being made; the sheet stays.
  public func stopGenerating() { work?.cancel() }

  /// Chooses among the images that were made.
  ///
  /// - Throws: ``ImagePlaygroundError`` `invalidState`.
  public func selectImage(_ index: Int) throws(ImagePlaygroundError) {
    try requireOpen()
    guard images.indices.contains(index) else {
      throw ImagePlaygroundError(.invalidState, "there's no image \(index) of \(images.count)")
    }
    selectedImage = index
  }

  /// Accepts the selected image: the app's completion gets a file or, in the style `emoji`, its other one gets a glyph.
  ///
  /// - Throws: ``ImagePlaygroundError``: `invalidState` without an image, while one is being made, and after the end;
  ///   `creationFailed` when the image can't be written.
  public func accept() throws(ImagePlaygroundError) {
    try requireOpen()
    guard phase != .generating else { throw ImagePlaygroundError(.invalidState, "an image is being made; wait for it") }
    guard let selectedImage else { throw ImagePlaygroundError(.invalidState, "there's no image to accept; make one first") }
    let image = images[selectedImage]
    if origins[selectedImage].style == .emoji {
      let glyph = try AdaptiveImageGlyph(picture: image, description: origins[selectedImage].description)
      phase = .accepted
      presentation.onAdaptiveImageGlyphCreation(glyph)
    } else {
      let url = try files.write(image)
      phase = .accepted
      presentation.onCompletion(url)
    }
  }

  /// Leaves without an image; what is being made is stopped.
  public func cancel() {
    guard !isOver else { return }
    phase = .cancelled
    work?.cancel()
    presentation.onCancellation()
  }

  /// Ends the session and removes its files; an open one is cancelled.
  ///
  /// Letting go of the session does the same to its files.
  public func end() {
    cancel()
    files.remove()
  }

  private var isOver: Bool { phase == .accepted || phase == .cancelled }

  private func requireOpen() throws(ImagePlaygroundError) {
    if isOver { throw ImagePlaygroundError(.invalidState, "the session is over") }
  }
}
