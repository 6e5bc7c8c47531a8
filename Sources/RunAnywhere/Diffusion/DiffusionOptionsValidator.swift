import Foundation
import GenBackend
import Imaging
import Tensors

/// Turns options into a request, or refuses them: nothing is clamped, nothing is ignored.
struct DiffusionOptionsValidator {
  let model: ModelInfo
  let configuration: DiffusionConfiguration

  /// The sizes that may be asked for: the family's, as far as the loaded model has them.
  static func sizes(of model: ModelInfo, variant: DiffusionModelVariant) -> [ImageSize] {
    variant.recommendedSizes.filter { size in
      (model.nativeSizes.isEmpty || model.nativeSizes.contains(size))
        && size.width % model.sizeMultiple == 0 && size.height % model.sizeMultiple == 0
    }
  }

  func request(prompt: String, options: DiffusionGenerationOptions) throws(SDKError) -> ImageRequest {
    guard prompt == options.prompt else {
      throw invalid("prompt: the argument and options.prompt differ; give the same text twice")
    }
    guard prompt.contains(where: { !$0.isWhitespace }) else { throw invalid("prompt: expected some text, found none") }
    try checkRange("steps", options.steps, DiffusionGenerationOptions.stepsRange)
    try checkRange("guidanceScale", options.guidanceScale, DiffusionGenerationOptions.guidanceScaleRange)
    try checkRange("imageCount", options.imageCount, DiffusionGenerationOptions.imageCountRange)
    if let stride = options.previewStride, stride < 1 {
      throw invalid("previewStride: expected at least 1, found \(stride)")
    }

    var request = ImageRequest(model: model.id, prompt: prompt)
    request.size = try size(options)
    request.steps = options.steps
    request.guidanceScale = options.guidanceScale
    request.negativePrompt = options.negativePrompt
    if let scheduler = options.scheduler {
      do { request.scheduler = try SchedulerName(scheduler.rawValue) } catch { throw invalid("scheduler: \(error.message)") }
    }
    request.seed = try seed(options)
    request.imageCount = options.imageCount
    request.previewStride = options.previewStride
    request.checksSafety = configuration.enableSafetyChecker
    try requireCapability(options.negativePrompt?.isEmpty == false, .negativePrompt, "negativePrompt")
    try requireCapability(options.previewStride != nil, .previews, "previewStride")
    try requireCapability(options.imageCount > 1, .batch, "imageCount above 1")
    try addImages(options, to: &request)
    return request
  }

  private func size(_ options: DiffusionGenerationOptions) throws(SDKError) -> ImageSize {
    let size = ImageSize(width: Int(options.width), height: Int(options.height))
    let sizes = Self.sizes(of: model, variant: configuration.modelVariant)
    guard sizes.contains(size) else {
      throw invalid(
        "width and height: expected one of \(sizes.map(\.description).joined(separator: ", ")) for \(configuration.modelVariant.rawValue), found \(size)"
      )
    }
    return size
  }

  private func seed(_ options: DiffusionGenerationOptions) throws(SDKError) -> UInt64? {
    guard let seed = options.seed, seed != -1 else { return nil }
    guard (0...DiffusionGenerationOptions.largestSeed).contains(seed) else {
      throw invalid("seed: expected 0...\(DiffusionGenerationOptions.largestSeed), or -1 for a random one, found \(seed)")
    }
    return UInt64(seed)
  }

  // MARK: - Images

  private func addImages(_ options: DiffusionGenerationOptions, to request: inout ImageRequest) throws(SDKError) {
    guard options.mode != .textToImage else {
      if options.maskImage != nil, options.inputImage == nil { throw invalid("maskImage: needs an inputImage to repaint") }
      guard options.inputImage == nil, options.maskImage == nil else {
        throw invalid("inputImage and maskImage: the mode is textToImage; choose imageToImage or inpainting")
      }
      return
    }
    guard let inputData = options.inputImage else { throw invalid("inputImage: the mode \(options.mode.rawValue) needs one") }
    guard options.strength > 0, options.strength <= 1 else {
      throw invalid("strength: expected a number above 0 and at most 1, found \(options.strength)")
    }
    guard Int(Double(options.steps) * options.strength) >= 1 else {
      throw invalid("strength: \(options.strength) of \(options.steps) steps leaves no step to run; raise one of them")
    }
    let input = try decode(inputData, "inputImage").rgbOnWhite()
    switch options.mode {
    case .textToImage: break
    case .imageToImage:
      guard options.maskImage == nil else { throw invalid("maskImage: the mode is imageToImage; choose inpainting") }
      try requireCapability(true, .imageToImage, "mode imageToImage")
      // At full strength nothing of the image is left, so that it's the same as having none.
      if options.strength < 1 {
        request.image = input.unitValues
        request.strength = options.strength
      }
    case .inpainting:
      guard let maskData = options.maskImage else { throw invalid("maskImage: the mode inpainting needs one") }
      try requireCapability(true, .inpainting, "mode inpainting")
      let mask = try decode(maskData, "maskImage").grey()
      guard mask.width == input.width, mask.height == input.height else {
        throw invalid(
          "maskImage: expected the size of inputImage, \(input.width)x\(input.height), found \(mask.width)x\(mask.height)")
      }
      request.image = input.unitValues
      request.mask = mask.unitValues
      request.strength = options.strength
    }
  }

  private func decode(_ data: Data, _ name: String) throws(SDKError) -> Bitmap {
    do {
      return try ImageFile.decode([UInt8](data), file: name)
    } catch {
      throw invalid(error.description)
    }
  }

  // MARK: - Refusals

  private func checkRange<Value: Comparable>(_ name: String, _ value: Value, _ range: ClosedRange<Value>) throws(SDKError) {
    // NaN is in no range.
    guard range.contains(value) else {
      throw invalid("\(name): expected \(range.lowerBound)...\(range.upperBound), found \(value)")
    }
  }

  private func requireCapability(_ isNeeded: Bool, _ capability: Capability, _ name: String) throws(SDKError) {
    guard !isNeeded || model.capabilities.contains(capability) else {
      throw SDKError(.notSupported, "\(name): the loaded model can't do this (\(capability.rawValue))")
    }
  }

  private func invalid(_ message: String) -> SDKError { SDKError(.invalidInput, message) }
}
