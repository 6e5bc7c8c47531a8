extension ModelInfo {
  /// The size at which this model is best asked for a picture that is needed in another one.
  ///
  /// A native size is taken as it is. Otherwise the picture has the requested aspect (at most 4 to 1) and about as many pixels
  /// as the native size whose count is nearest, with sides that are multiples of ``sizeMultiple``: latent diffusion repeats its
  /// subject far above the size that it was trained on, and loses it far below (Podell et al. 2023, arXiv:2307.01952, 2.2).
  ///
  /// - Parameter requested: Width and height in pixels; anything below 1 counts as 1.
  public func generationSize(for requested: ImageSize) -> ImageSize {
    if nativeSizes.contains(requested) { return requested }
    let (width, height) = (Double(max(1, requested.width)), Double(max(1, requested.height)))
    let areas = nativeSizes.map { Double($0.width) * Double($0.height) }
    let wanted = width * height
    let area = areas.min { abs($0 - wanted) < abs($1 - wanted) } ?? wanted
    let aspect = min(max(width / height, 0.25), 4)
    let multiple = max(1, sizeMultiple)
    func rounded(_ side: Double) -> Int {
      let steps = (side / Double(multiple)).rounded()
      // Sides beyond any model's are cut here, so that the arithmetic can't overflow.
      return Int(min(max(1, steps), 65536)) * multiple
    }
    return ImageSize(width: rounded((area * aspect).squareRoot()), height: rounded((area / aspect).squareRoot()))
  }
}
