internal import KernelContract

/// What happens to a matrix product before it is final: bias, per-image bias, activation, residual, in this order.
struct Epilogue {
  /// `[columns]`.
  var bias: UnsafePointer<Float>?
  /// `[images, columns]`.
  var imageBias: UnsafePointer<Float>?
  /// Rows of the product that belong to one image.
  var rowsPerImage = 1
  var activation = Activation.none
  /// `[rows, columns]`.
  var residual: UnsafePointer<Float>?
  /// Columns of the whole product.
  var columns: Int

  /// Whether nothing is to be done.
  var isIdentity: Bool { bias == nil && imageBias == nil && residual == nil && activation == .none }

  /// Finishes a stretch of one row.
  ///
  /// - Parameters:
  ///   - target: The first element of the stretch.
  ///   - row: The row in the whole product.
  ///   - first: The first column in the whole product.
  ///   - count: Elements of the stretch.
  @inline(__always)
  func finish(_ target: UnsafeMutablePointer<Float>, row: Int, first: Int, count: Int) {
    if let bias { addInPlace(target, bias + first, count) }
    if let imageBias { addInPlace(target, imageBias + row / rowsPerImage * columns + first, count) }
    if activation != .none { applyActivation(activation, target, target, count) }
    if let residual { addInPlace(target, residual + row * columns + first, count) }
  }
}

/// `target += source`.
@inline(__always)
func addInPlace(_ target: UnsafeMutablePointer<Float>, _ source: UnsafePointer<Float>, _ count: Int) {
  var index = 0
  while index + lanes <= count {
    store(load(target + index) + load(source + index), target + index)
    index += lanes
  }
  while index < count {
    target[index] += source[index]
    index += 1
  }
}
