import Conformance
import Foundation
import GenBackend
import PictureKit

/// The page of code that an SDK's owner writes: each member calls the SDK and translates values.
struct PictureKitAdapter: DiffusionImplementation {
  private let maker = PictureMaker()

  var capabilities: Set<Surface.Capability> { [.seed, .unload] }
  var defaultConfiguration: Surface.Configuration { .init(variant: .sd15, checksSafety: true, reducesMemory: false) }

  func defaultOptions(prompt: String) -> Surface.Options {
    let settings = PictureMaker.Settings()
    var options = Surface.Options(prompt: prompt)
    (options.width, options.height) = (settings.side, settings.side)
    options.steps = settings.rounds
    options.guidanceScale = settings.adherence
    return options
  }

  func recommendedSizes(_ variant: Surface.Variant) -> [ImageSize]? {
    variant == .sd15 ? [ImageSize(width: 512, height: 512)] : nil
  }

  func load(path: String, id: String, name: String, configuration: Surface.Configuration) async throws {
    try await maker.open(folder: path, name: id)
  }

  var isLoaded: Bool { get async { await maker.hasModel } }
  var loadedID: String? { get async { await maker.modelName } }
  func unload() async throws { await maker.close() }
  func cancel() async throws { await maker.stop() }

  func generate(
    prompt: String, options: Surface.Options, onProgress: @escaping @Sendable (Surface.Update) -> Bool
  ) async throws -> Surface.Result {
    var settings = PictureMaker.Settings()
    // The SDK draws squares only, and has one number for both sides.
    if let width = options.width, let height = options.height { settings.side = width == height ? width : -1 }
    if let steps = options.steps { settings.rounds = steps }
    if let scale = options.guidanceScale { settings.adherence = scale }
    if let seed = options.seed, seed != -1 {
      guard let value = UInt32(exactly: seed) else { throw PictureMaker.Problem.badSetting("seed \(seed)") }
      settings.seed = value
    }
    guard options.mode == .textToImage else { throw Surface.Failure(.notSupported, message: "text-to-image only") }
    let picture = try await maker.draw(prompt, settings: settings) { done, all in
      onProgress(Surface.Update(progress: Double(done) / Double(all), step: done, total: all))
    }
    return Surface.Result(
      images: [Surface.Image(data: picture.png, seed: Int64(picture.seed))], width: picture.side, height: picture.side,
      milliseconds: picture.milliseconds)
  }

  func stream(prompt: String, options: Surface.Options) throws -> AsyncThrowingStream<Surface.Event, any Error>? { nil }

  func failure(of error: any Error) -> Surface.Failure {
    switch error {
    case PictureMaker.Problem.noModel: .init(.notInitialized, message: "no model is open")
    case PictureMaker.Problem.missingFile(let path): .init(.modelNotFound, message: "\(path) is missing")
    case PictureMaker.Problem.badSetting(let what): .init(.invalidInput, message: what)
    case PictureMaker.Problem.alreadyDrawing: .init(.busy, message: "a picture is being drawn")
    case PictureMaker.Problem.stopped: .init(.cancelled, message: "stopped")
    case let failure as Surface.Failure: failure
    default: .init(.other("\(type(of: error))"), message: "\(error)")
    }
  }
}
