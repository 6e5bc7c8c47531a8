import GenBackend
import Tensors

/// Refuses requests that contradict themselves or the model: never clamps, never ignores.
struct ImageRequestValidator {
  let info: ModelInfo
  let latentChannels: Int

  /// The most pixels in either direction.
  static let largestSide = 8192

  func validate(_ request: ImageRequest) throws(BackendError) {
    if let size = request.size { try check(size) }
    let size = request.size ?? info.nativeSizes.first ?? ImageSize(width: 0, height: 0)
    if let steps = request.steps, steps < 1 { throw invalid("steps: expected at least 1, found \(steps)") }
    if let scale = request.guidanceScale, !scale.isFinite || scale < 0 {
      throw invalid("guidance scale: expected a finite number of at least 0, found \(scale)")
    }
    try checkUnit("guidance rescale", request.guidanceRescale)
    try checkUnit("strength", request.strength)
    if let eta = request.eta { try checkUnit("eta", eta) }
    guard request.imageCount >= 1 else { throw invalid("image count: expected at least 1, found \(request.imageCount)") }
    if let stride = request.previewStride, stride < 1 {
      throw invalid("preview stride: expected at least 1, found \(stride)")
    }
    if let clipSkip = request.clipSkip, clipSkip < 0 { throw invalid("clip skip: expected at least 0, found \(clipSkip)") }
    guard let source = RandomSource(rawValue: request.randomSource) else {
      throw invalid(
        "rng: expected \(RandomSource.allCases.map(\.rawValue).joined(separator: ", ")), found '\(request.randomSource)'")
    }
    // Each image takes the next seed.
    let (last, overflow) = (request.seed ?? 0).addingReportingOverflow(UInt64(request.imageCount - 1))
    if source.largestSeed < .max, overflow || last > source.largestSeed {
      throw invalid("seed: \(source.rawValue) takes 0 to \(source.largestSeed), found \(overflow ? request.seed ?? 0 : last)")
    }
    if let spacing = request.timestepSpacing, !["leading", "trailing", "linspace"].contains(spacing) {
      throw invalid("timestep spacing: expected leading, trailing or linspace, found '\(spacing)'")
    }
    if let image = request.image {
      guard image.shape.rank == 4, image.shape[0] == 1, image.shape[1] == 3, image.count > 0 else {
        throw invalid("image: expected shape [1, 3, H, W], found \(image.shape)")
      }
      guard !image.hasNonFinite else { throw invalid("image: holds values that aren't finite") }
    }
    if let mask = request.mask {
      guard let image = request.image else { throw invalid("mask: needs an image to repaint") }
      guard mask.shape == [1, 1, image.shape[2], image.shape[3]] else {
        throw invalid("mask: expected the image's size, [1, 1, \(image.shape[2]), \(image.shape[3])], found \(mask.shape)")
      }
      guard !mask.hasNonFinite else { throw invalid("mask: holds values that aren't finite") }
    }
    if let latents = request.latents {
      let multiple = info.sizeMultiple
      let target = request.image.map { $0.shape } ?? [1, 3, size.height, size.width]
      let (height, width) =
        request.size.map { ($0.height, $0.width) } ?? (target[2] / multiple * multiple, target[3] / multiple * multiple)
      let expected: Shape = [1, latentChannels, height / multiple, width / multiple]
      guard latents.shape == expected else {
        throw invalid("latents: expected shape \(expected) for \(width)x\(height), found \(latents.shape)")
      }
      guard !latents.hasNonFinite else { throw invalid("latents: hold values that aren't finite") }
      guard request.imageCount == 1 else { throw invalid("latents: make one image; several need seeds") }
    }
  }

  private func check(_ size: ImageSize) throws(BackendError) {
    let multiple = info.sizeMultiple
    for (name, value) in [("width", size.width), ("height", size.height)] {
      guard value >= multiple, value <= Self.largestSide, value % multiple == 0 else {
        throw invalid("\(name): expected a multiple of \(multiple) in \(multiple)...\(Self.largestSide), found \(value)")
      }
    }
  }

  private func checkUnit(_ name: String, _ value: Double) throws(BackendError) {
    guard value >= 0, value <= 1 else { throw invalid("\(name): expected a number in 0...1, found \(value)") }
  }

  private func invalid(_ message: String) -> BackendError { BackendError(.invalidInput, message) }
}
