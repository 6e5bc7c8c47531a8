public import GenBackend

/// What is judged: the adapter that the owner of an SDK writes, about a page of code.
///
/// Each member calls the SDK and translates values, nothing else: an adapter that repairs what the SDK does would be judged
/// in its place. Errors are thrown as they are; ``failure(of:)`` translates them by their code, never by their text.
public protocol DiffusionImplementation: Sendable {
  /// What the SDK can do beyond the documented minimum.
  var capabilities: Set<Surface.Capability> { get }
  /// A configuration that was made without arguments.
  var defaultConfiguration: Surface.Configuration { get }
  /// Options that were made from a prompt alone, every field that the SDK has filled in.
  func defaultOptions(prompt: String) -> Surface.Options
  /// The sizes that the SDK recommends for a variant; nil when it doesn't have the variant.
  func recommendedSizes(_ variant: Surface.Variant) -> [ImageSize]?

  /// Loads a model.
  func load(path: String, id: String, name: String, configuration: Surface.Configuration) async throws
  /// Whether a model is loaded.
  var isLoaded: Bool { get async }
  /// The id of the loaded model; nil without one, or when the SDK doesn't tell.
  var loadedID: String? { get async }
  /// Unloads the model.
  func unload() async throws

  /// Makes an image; `prompt` is the call's own argument beside the one in `options`.
  func generate(
    prompt: String, options: Surface.Options, onProgress: @escaping @Sendable (Surface.Update) -> Bool
  ) async throws -> Surface.Result
  /// Makes an image, told as a stream; nil when the SDK has none.
  func stream(prompt: String, options: Surface.Options) throws -> AsyncThrowingStream<Surface.Event, any Error>?
  /// Cancels the running generation.
  func cancel() async throws

  /// A thrown error by its code.
  func failure(of error: any Error) -> Surface.Failure
}
