import Conformance
import Foundation
import GenBackend
import PictureKit

/// The page of code that an SDK's owner writes: each function calls the SDK and translates values.
func pictureKit() -> DiffusionImplementation {
  let maker = PictureMaker()
  return DiffusionImplementation(
    capabilities: [.seed, .unload],
    defaultConfiguration: .init(variant: .sd15, checksSafety: true, reducesMemory: false),
    defaultOptions: { prompt in
      let settings = PictureMaker.Settings()
      var options = DiffusionSurface.Options(prompt: prompt)
      (options.width, options.height) = (settings.side, settings.side)
      options.steps = settings.rounds
      options.guidanceScale = settings.adherence
      return options
    },
    recommendedSizes: { variant in variant == .sd15 ? [ImageSize(width: 512, height: 512)] : nil },
    load: { path, id, _, _ in try await maker.open(folder: path, name: id) },
    isLoaded: { await maker.hasModel },
    loadedID: { await maker.modelName },
    unload: { await maker.close() },
    generate: { prompt, options, onProgress in
      let picture = try await maker.draw(prompt, settings: settings(options)) { done, all in
        onProgress(DiffusionSurface.Update(progress: Double(done) / Double(all), step: done, total: all))
      }
      return DiffusionSurface.Result(
        images: [DiffusionSurface.Image(data: picture.png, seed: Int64(picture.seed))], width: picture.side,
        height: picture.side, milliseconds: picture.milliseconds)
    },
    cancel: { await maker.stop() },
    failure: { error in
      switch error {
      case PictureMaker.Problem.noModel: .init(.notInitialized, message: "no model is open")
      case PictureMaker.Problem.missingFile(let path): .init(.modelNotFound, message: "\(path) is missing")
      case PictureMaker.Problem.badSetting(let what): .init(.invalidInput, message: what)
      case PictureMaker.Problem.alreadyDrawing: .init(.busy, message: "a picture is being drawn")
      case PictureMaker.Problem.stopped: .init(.cancelled, message: "stopped")
      default: .init(.other("\(type(of: error))"), message: "\(error)")
      }
    })
}

private func settings(_ options: DiffusionSurface.Options) throws -> PictureMaker.Settings {
  var settings = PictureMaker.Settings()
  // The SDK draws squares only, and has one number for both sides.
  if let width = options.width, let height = options.height { settings.side = width == height ? width : -1 }
  if let steps = options.steps { settings.rounds = steps }
  if let scale = options.guidanceScale { settings.adherence = scale }
  if let seed = options.seed, seed != -1 {
    guard let value = UInt32(exactly: seed) else { throw PictureMaker.Problem.badSetting("seed \(seed)") }
    settings.seed = value
  }
  guard options.mode == .textToImage else { throw SDKFailure(.notSupported, message: "text-to-image only") }
  return settings
}
