public import Tensors

/// An engine that makes images or text, in this process or another one.
///
/// Everything that crosses this boundary is a value: requests, events, results, tensors, ids. A backend keeps its models
/// under ids that it hands out; a client holds no reference to the inside of the engine.
public protocol GenBackend: Sendable {
  /// What it is and what it can do; known before any model is loaded.
  var info: BackendInfo { get async throws }

  /// Loads a model and returns its description.
  ///
  /// - Throws: ``BackendError``: `modelNotFound`, `invalidModel`, `outOfMemory`, `notSupported`, `unavailable`, `cancelled`.
  func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo

  /// Frees a model; unknown ids are ignored. A running generation of that model is cancelled and waited for.
  func unload(_ model: ModelID) async

  /// Makes images.
  ///
  /// Events arrive in order, on a thread of the backend's choice, none after this call has returned or thrown.
  ///
  /// - Throws: ``BackendError``: `notLoaded`, `invalidInput`, `notSupported`, `busy`, `cancelled`, `processingFailed`, `outOfMemory`.
  func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult

  /// Makes text, from a prompt and possibly an image.
  ///
  /// - Throws: As ``generateImages(_:control:)``.
  func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult

  /// Where the work is done; quick, and safe from any thread.
  var workPlace: WorkPlace { get }

  /// Ends what the backend holds beside its models, as processes are; it can't be used afterwards.
  func close() async
}

/// How a running request is watched and stopped.
public struct GenerationControl: Sendable {
  /// Stops the work when cancelled; the call then throws `cancelled`.
  public var cancellation: CancellationToken
  /// Sees each event.
  public var onEvent: @Sendable (GenerationEvent) -> Void

  /// Makes a control; without arguments nobody watches and nothing cancels.
  public init(
    cancellation: CancellationToken = CancellationToken(), onEvent: @escaping @Sendable (GenerationEvent) -> Void = { _ in }
  ) {
    self.cancellation = cancellation
    self.onEvent = onEvent
  }
}

/// Names a loaded model; made by the backend.
public struct ModelID: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The text of the id.
  public let rawValue: String
  /// Makes an id.
  public init(_ rawValue: String) { self.rawValue = rawValue }
  /// The text of the id.
  public var description: String { rawValue }
}

/// What a backend is and can do.
public struct BackendInfo: Sendable, Hashable, Codable {
  /// Its name: `reference`, `stable-diffusion.cpp`.
  public var name: String
  /// Its version.
  public var version: String
  /// What at least some of its models can do.
  public var capabilities: Set<Capability>
  /// Names and values worth reporting: kernel set, instruction set, threads.
  public var details: [String: String]

  /// Makes a description.
  public init(name: String, version: String, capabilities: Set<Capability>, details: [String: String] = [:]) {
    self.name = name
    self.version = version
    self.capabilities = capabilities
    self.details = details
  }
}

/// Something that a backend or a model may be able to do.
public enum Capability: String, Sendable, Hashable, Codable, CaseIterable {
  case textToImage = "text_to_image"
  case imageToImage = "image_to_image"
  case inpainting
  case negativePrompt = "negative_prompt"
  /// Intermediate images on request.
  case previews
  /// A safety checker is there.
  case safetyChecker = "safety_checker"
  /// Takes initial latents instead of a seed.
  case latentsInput = "latents_input"
  /// Returns a trace of embeddings and latents.
  case trace
  /// Several images of one request.
  case batch
  case reduceMemory = "reduce_memory"
  case textGeneration = "text_generation"
  case imageUnderstanding = "image_understanding"
}
