import Foundation
import GenBackend
import Imaging
import Tensors

extension ImagePlaygroundSystem {
  /// Makes one image of the requested size.
  ///
  /// Waits for its turn at the engine. Cancelling the task stops the engine.
  func image(_ request: PlaygroundRequest) async throws(PlaygroundProblem) -> Bitmap {
    let environment = environment
    try check(request, environment)
    if let usage, !usage.take() { throw .usageLimitReached }
    do {
      let bitmap =
        request.style == .externalProvider
        ? try await externalImage(request, environment) : try await ownImage(request, environment)
      return bitmap.filling(width: request.size.width, height: request.size.height)
    } catch {
      usage?.giveBack()
      throw error
    }
  }

  // MARK: - Before

  /// A seed for the images of the same inputs.
  func newSeed() -> UInt64 { settings.seed ?? UInt64(UInt32.random(in: 0 ... .max)) }

  /// What stands against making images at all.
  func checkEnvironment(_ environment: PlaygroundEnvironment) throws(PlaygroundProblem) {
    let availability = environment.availability
    guard environment.isDeviceCapable else { throw .notSupported("the device can't make images") }
    guard availability.supportsImagePlayground else {
      throw .unavailable(availability.reasons.joined(separator: "; "))
    }
    guard environment.isSiteReachable else { throw .unavailable("images are made on servers, and there's no network") }
    if environment.isInBackground { throw .inBackground }
  }

  private func check(_ request: PlaygroundRequest, _ environment: PlaygroundEnvironment) throws(PlaygroundProblem) {
    try checkEnvironment(environment)
    if request.style != .externalProvider {
      guard let model, model.capabilities.contains(.textToImage) else {
        throw .unavailable("no model that makes images is loaded")
      }
    }
    for text in request.concepts.compactMap(\.text) where !environment.locales.supports(text: text) {
      throw .unsupportedLanguage("'\(text.prefix(40))' is in a language that isn't supported")
    }
    let images = request.concepts.compactMap { concept -> Bitmap? in
      if case .image(let bitmap) = concept.content { return bitmap }
      return nil
    }
    let drawings = request.concepts.count { concept in
      if case .drawing = concept.content { return true }
      return false
    }
    guard images.count + (request.sourceImage == nil ? 0 : 1) <= 1 else {
      throw .unsupportedInput("at most one image can be given, \(images.count + (request.sourceImage == nil ? 0 : 1)) were")
    }
    guard drawings <= 1 else { throw .unsupportedInput("at most one drawing can be given, \(drawings) were") }
    for image in images + [request.sourceImage].compactMap({ $0 }) { try check(image, environment) }
    try checkPeople(request, environment)
    let hasDrawing = request.concepts.contains { concept in
      if case .drawing(let drawing) = concept.content { return !drawing.isEmpty }
      return false
    }
    guard !request.words(environment).isEmpty || hasDrawing || !images.isEmpty || request.sourceImage != nil else {
      throw .nothingToShow
    }
  }

  private func check(_ image: Bitmap, _ environment: PlaygroundEnvironment) throws(PlaygroundProblem) {
    let sides = environment.inputImageSides
    guard sides.contains(image.width), sides.contains(image.height) else {
      throw .unsupportedInput(
        "an image with sides of \(sides.lowerBound)...\(sides.upperBound) pixels is needed, found \(image.width)x\(image.height)")
    }
    for face in environment.faces?(image) ?? [] where min(face.width, face.height) < environment.smallestFace {
      throw .faceTooSmall(
        "a face of at least \(environment.smallestFace) pixels is needed, found \(face.width)x\(face.height)")
    }
  }

  private func checkPeople(_ request: PlaygroundRequest, _ environment: PlaygroundEnvironment) throws(PlaygroundProblem) {
    guard request.options.personalization.isEnabled else { return }
    let text = request.concepts.map(\.words).joined(separator: ". ")
    for person in PersonNames.found(in: text, among: environment.people) + request.people where person.appearance == nil {
      throw .personNeeded("'\(person.name)' is a person of the library, and nobody has said what they look like")
    }
  }

  // MARK: - Making

  private func ownImage(_ request: PlaygroundRequest, _ environment: PlaygroundEnvironment) async throws(PlaygroundProblem)
    -> Bitmap
  {
    guard let model else { throw .unavailable("no model is loaded") }
    let asked = engineRequest(request, model: model, environment)
    let token = CancellationToken()
    await turn.take()
    let outcome: Result<ImageResult, any Error>
    do {
      outcome = .success(
        try await withTaskCancellationHandler {
          try await backend.generateImages(asked, control: GenerationControl(cancellation: token))
        } onCancel: {
          token.cancel()
        })
    } catch {
      outcome = .failure(error)
    }
    await turn.give()
    // Whatever came out of an engine that was told to stop, stopping is what was wanted.
    if token.isCancelled { throw .cancelled }
    switch outcome {
    case .failure(let error): throw Self.problem(error)
    case .success(let result):
      guard let image = result.images.first, image.bitmap.width > 0, image.bitmap.height > 0 else {
        throw .failed("the engine returned no image")
      }
      guard image.safety != .filtered else { throw .filtered }
      return image.bitmap
    }
  }

  private func engineRequest(_ request: PlaygroundRequest, model: ModelInfo, _ environment: PlaygroundEnvironment) -> ImageRequest
  {
    var asked = ImageRequest(model: model.id, prompt: request.style.prompt(request.words(environment)))
    let size = model.generationSize(for: request.size)
    asked.size = size
    asked.steps = settings.steps
    asked.guidanceScale = settings.guidanceScale
    if model.capabilities.contains(.negativePrompt) { asked.negativePrompt = request.style.negativePrompt }
    asked.seed = (request.seed &+ UInt64(request.index)) & 0xffff_ffff
    if let (image, hasSource) = request.start(size: size), model.capabilities.contains(.imageToImage) {
      asked.image = image.unitValues
      let isEditing = request.options.creationStrategy == .editExisting
      asked.strength =
        hasSource ? (isEditing ? settings.editingStrength : settings.inspirationStrength) : settings.drawingStrength
      // At least one step must be left to run.
      let steps = settings.steps ?? model.defaultSteps
      asked.strength = min(max(asked.strength, 1.001 / Double(max(1, steps))), 1)
      if asked.strength >= 1 { asked.image = nil }
    } else if request.options.creationVariety == .low, model.capabilities.contains(.latentsInput) {
      asked.latents = sharedNoise(base: request.seed, index: request.index, size: size)
    }
    return asked
  }

  /// Noise that is mostly that of the first image: cos α of it, sin α of the image's own, which is unit-normal again.
  private func sharedNoise(base: UInt64, index: Int, size: ImageSize) -> Tensor {
    let shape: Shape = [1, 4, size.height / 8, size.width / 8]
    var common = RandomSource.torch.makeNoiseSource(seed: base)
    let shared = common.normals(shape: shape)
    guard index > 0 else { return shared }
    var own = RandomSource.torch.makeNoiseSource(seed: base &+ UInt64(index))
    let ownValues = own.normals(shape: shape).elements
    let (kept, added) = (Float(cos(settings.lowVarietyAngle)), Float(sin(settings.lowVarietyAngle)))
    return Tensor(zip(shared.elements, ownValues).map { kept * $0 + added * $1 }, shape: shape)
  }

  private func externalImage(_ request: PlaygroundRequest, _ environment: PlaygroundEnvironment) async throws(PlaygroundProblem)
    -> Bitmap
  {
    guard let externalProvider else { throw .externalProviderMissing }
    let size = request.size
    let asked = ExternalImageRequest(
      prompt: request.words(environment), width: size.width, height: size.height, sourceImage: request.start(size: size)?.image)
    do {
      let bitmap = try await externalProvider.image(asked)
      if Task.isCancelled { throw PlaygroundProblem.cancelled }
      guard bitmap.width > 0, bitmap.height > 0 else { throw PlaygroundProblem.failed("the provider returned no image") }
      return bitmap.rgbOnWhite()
    } catch {
      throw Task.isCancelled ? .cancelled : Self.problem(error)
    }
  }

  /// The problem for an error of an engine or a provider.
  static func problem(_ error: any Error) -> PlaygroundProblem {
    switch error {
    case let error as PlaygroundProblem: error
    case is CancellationError, is CancelledError: .cancelled
    case let error as BackendError:
      switch error.code {
      case .cancelled: .cancelled
      case .notLoaded, .modelNotFound, .unavailable: .unavailable(error.message)
      default: .failed(error.message)
      }
    default: .failed("\(error)")
    }
  }
}
