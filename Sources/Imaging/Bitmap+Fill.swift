public import Tensors

extension Bitmap {
  /// The picture at another size, filling it: what has another aspect is cut away at both ends, the rest resampled (Lanczos).
  ///
  /// - Precondition: Both sides, and those of the picture, are at least 1.
  public func filling(width newWidth: Int, height newHeight: Int) -> Bitmap {
    precondition(newWidth > 0 && newHeight > 0 && width > 0 && height > 0)
    if newWidth == width, newHeight == height { return self }
    // The largest box of the new aspect within the old picture.
    let byWidth = (width * newHeight + newWidth / 2) / newWidth
    let box =
      byWidth <= height
      ? (width: width, height: max(1, byWidth))
      : (width: max(1, min(width, (height * newWidth + newHeight / 2) / newHeight)), height: height)
    let cut = centerCropped(width: box.width, height: box.height)
    return Resample.resize(cut, width: newWidth, height: newHeight, filter: .lanczos)
  }
}
