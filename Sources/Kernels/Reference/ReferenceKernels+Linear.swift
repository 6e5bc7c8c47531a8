public import KernelContract
public import Tensors

extension ReferenceKernels {
  /// Up to this many rows stay in single precision.
  static var fewRows: Int { 8 }

  /// `activation(input · weightᵀ + bias) + residual`.
  public func linear(
    _ input: Tensor, weight: LinearWeight, bias: Tensor?, activation: Activation, residual: Tensor?
  ) -> Tensor {
    let depth = weight.inFeatures
    let columns = weight.outFeatures
    precondition(input.shape.rank >= 1 && input.shape[-1] == depth, "linear: [..., \(depth)] expected, got \(input.shape)")
    precondition(bias == nil || bias?.count == columns, "linear: bias [\(columns)] expected")
    let shape = Shape(input.shape.dimensions.dropLast() + [columns])
    precondition(residual == nil || residual?.shape == shape, "linear: residual \(shape) expected")
    let rows = shape.elementCount / max(columns, 1)
    // As the fast sets have it: a few rows are bound by reading the weights, and gain nothing from less precision.
    let isRounded = precision == .bf16 && rows > Self.fewRows
    let matrix = isRounded ? weight.view.float32().roundedToBF16() : weight.view.float32()
    let input = isRounded ? input.roundedToBF16() : input
    return Tensor(shape: shape) { output in
      input.withUnsafeBuffer { input in
        matrix.withUnsafeBuffer { matrix in
          for row in 0..<rows {
            for column in 0..<columns {
              var sum = Double(bias?[flat: column] ?? 0)
              for k in 0..<depth { sum += Double(input[row * depth + k]) * Double(matrix[column * depth + k]) }
              let value = activation.value(sum) + Double(residual?[flat: row * columns + column] ?? 0)
              output[row * columns + column] = Float(value)
            }
          }
        }
      }
    }
  }
}

extension Tensor {
  /// Each element to the nearest bfloat16, ties to even.
  fileprivate func roundedToBF16() -> Tensor {
    Tensor(
      elements.map { value in
        guard value.isFinite else { return value }
        let bits = value.bitPattern
        return Float(bitPattern: (bits &+ 0x7FFF &+ (bits >> 16 & 1)) & 0xFFFF_0000)
      }, shape: shape)
  }
}
