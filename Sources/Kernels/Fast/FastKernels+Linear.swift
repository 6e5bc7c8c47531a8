public import KernelContract
public import Tensors

extension FastKernels {
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
    let rows = depth == 0 ? shape.elementCount / max(columns, 1) : input.count / depth
    let product = QuantizedProduct(input, [weight])
    let rowsOfInput = input
    return Tensor.filled(shape) { output in
      withPointers(input, bias, residual) { input, bias, residual in
        guard let input else { return }
        let epilogue = Epilogue(bias: bias, activation: activation, residual: residual, columns: columns)
        if let product {
          product.run(rowsOfInput, on: pool) { activations, _, range, _ in
            for row in 0..<rows {
              let target = output + row * columns + range.lowerBound
              product.layers[0].multiply(activations, row: row, columns: range, into: target)
              epilogue.finish(target, row: row, first: range.lowerBound, count: range.count)
            }
          }
        } else {
          multiply(input, rows: rows, weight: WeightReader(weight.view), depth: depth, into: output, epilogue: epilogue)
        }
      }
    }
  }

  /// A matrix product by the path that suits its number of rows.
  func multiply(
    _ input: UnsafePointer<Float>, rows: Int, weight: WeightReader, depth: Int, into output: UnsafeMutablePointer<Float>,
    epilogue: Epilogue
  ) {
    if rows <= maxFewRows {
      multiplyFewRows(input, rows: rows, weight: weight, depth: depth, into: output, epilogue: epilogue, on: pool)
    } else {
      MatrixProduct(
        source: .matrix(input, stride: depth), weight: weight, rows: rows, depth: depth, columns: epilogue.columns,
        output: output, epilogue: epilogue, usesPairs: precision == .bf16
      ).run(on: pool)
    }
  }

  /// `activation(gate(input)) · up(input)` in one product, so that neither factor is ever written whole; nil for a few rows.
  func gatedProduct(_ input: Tensor, gate: LinearParameters, up: LinearParameters, activation: Activation) -> Tensor? {
    let (depth, columns) = (up.weight.inFeatures, up.weight.outFeatures)
    precondition(
      input.shape.rank >= 1 && input.shape[-1] == depth && gate.weight.inFeatures == depth,
      "gatedLinear: [..., \(depth)] expected, got \(input.shape)")
    let rows = depth == 0 ? 0 : input.count / depth
    guard rows > maxFewRows else { return nil }
    return Tensor.filled(Shape(input.shape.dimensions.dropLast() + [columns])) { output in
      withPointers(input, gate.bias, up.bias) { input, gateBias, upBias in
        guard let input else { return }
        MatrixProduct(
          source: .matrix(input, stride: depth), weight: WeightReader(up.weight.view), rows: rows, depth: depth,
          columns: columns, output: output, epilogue: Epilogue(bias: upBias, columns: columns),
          gate: MatrixProduct.Gate(weight: WeightReader(gate.weight.view), bias: gateBias, activation: activation),
          usesPairs: precision == .bf16
        ).run(on: pool)
      }
    }
  }
}
