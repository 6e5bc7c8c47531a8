public import KernelContract
public import Tensors

extension ReferenceKernels {
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
    let matrix = weight.view.float32()
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
