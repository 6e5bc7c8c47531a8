public import KernelContract
public import Tensors

/// A few rows through layers whose weights are GGUF blocks: one parallel loop for all layers that share the input.
extension FastKernels {
  /// The layers in one loop where the weights are blocks and the rows few.
  public func linears(_ input: Tensor, _ layers: [LinearParameters]) -> [Tensor] {
    guard let product = QuantizedProduct(input, layers.map(\.weight)) else {
      return layers.map { linear(input, weight: $0.weight, bias: $0.bias, activation: .none, residual: nil) }
    }
    return filled(layers.map { product.shape($0.weight) }[...], []) { outputs in
      product.run(input, on: pool) { activations, layer, range, _ in
        let columns = layers[layer].weight.outFeatures
        layers[layer].bias.withPointer { bias in
          let epilogue = Epilogue(bias: bias, columns: columns)
          for row in 0..<product.rows {
            let target = outputs[layer] + row * columns + range.lowerBound
            product.layers[layer].multiply(activations, row: row, columns: range, into: target)
            epilogue.finish(target, row: row, first: range.lowerBound, count: range.count)
          }
        }
      }
    }
  }

  /// Both layers and their product in one loop where the weights are blocks and the rows few.
  public func gatedLinear(_ input: Tensor, gate: LinearParameters, up: LinearParameters, activation: Activation) -> Tensor {
    let columns = gate.weight.outFeatures
    precondition(columns == up.weight.outFeatures, "gatedLinear: two weights of as many rows expected")
    guard let product = QuantizedProduct(input, [gate.weight]), let upRows = QuantizedRows(up.weight.view, like: product) else {
      if let result = gatedProduct(input, gate: gate, up: up, activation: activation) { return result }
      var result = linear(input, weight: gate.weight, bias: gate.bias, activation: activation, residual: nil)
      let factors = linear(input, weight: up.weight, bias: up.bias, activation: .none, residual: nil)
      multiply(&result, by: factors)
      return result
    }
    return Tensor.filled(product.shape(gate.weight)) { output in
      product.run(input, on: pool) { activations, _, range, scratch in
        withPointers(gate.bias, up.bias) { gateBias, upBias, _ in
          for row in 0..<product.rows {
            let target = output + row * columns + range.lowerBound
            product.layers[0].multiply(activations, row: row, columns: range, into: target)
            upRows.multiply(activations, row: row, columns: range, into: scratch)
            Epilogue(bias: gateBias, activation: activation, columns: columns)
              .finish(target, row: row, first: range.lowerBound, count: range.count)
            Epilogue(bias: upBias, columns: columns).finish(scratch, row: row, first: range.lowerBound, count: range.count)
            multiplyInPlace(target, scratch, range.count)
          }
        }
      }
    }
  }

  /// `target *= factors`, element by element, on all threads.
  private func multiply(_ target: inout Tensor, by factors: Tensor) {
    target.withUnsafeMutableBuffer { target in
      factors.withUnsafeBuffer { factors in
        guard let to = target.baseAddress, let from = factors.baseAddress else { return }
        pool.parallelRanges(target.count, grain: 16_384) { range, _ in
          multiplyInPlace(to + range.lowerBound, from + range.lowerBound, range.count)
        }
      }
    }
  }

  /// Makes tensors from their pointers; `body` must write every element.
  private func filled(
    _ shapes: ArraySlice<Shape>, _ pointers: [UnsafeMutablePointer<Float>], _ body: ([UnsafeMutablePointer<Float>]) -> Void
  ) -> [Tensor] {
    guard let shape = shapes.first else {
      body(pointers)
      return []
    }
    var others: [Tensor] = []
    let tensor = Tensor.filled(shape) { others = filled(shapes.dropFirst(), pointers + [$0], body) }
    return [tensor] + others
  }
}

/// `target *= source`.
@inline(__always)
func multiplyInPlace(_ target: UnsafeMutablePointer<Float>, _ source: UnsafePointer<Float>, _ count: Int) {
  var index = 0
  while index + lanes <= count {
    store(load(target + index) * load(source + index), target + index)
    index += lanes
  }
  while index < count {
    target[index] *= source[index]
    index += 1
  }
}

extension Tensor? {
  /// Calls `body` with the elements, or with nil.
  fileprivate func withPointer(_ body: (UnsafePointer<Float>?) -> Void) {
    if let tensor = self { tensor.withPointer(body) } else { body(nil) }
  }
}

/// A few rows and the layers that they go through, all of one type of block and one depth.
struct QuantizedProduct {
  let rows: Int
  let layers: [QuantizedRows]
  private let leading: ArraySlice<Int>

  /// Nil when the rows are too many, or a weight isn't made of the same blocks.
  init?(_ input: Tensor, _ weights: [LinearWeight]) {
    guard let first = weights.first, first.inFeatures > 0, input.shape[-1] == first.inFeatures else { return nil }
    rows = input.count / first.inFeatures
    guard rows >= 1, rows <= QuantizedRows.maxRows else { return nil }
    layers = weights.compactMap { QuantizedRows($0.view) }
    guard layers.count == weights.count, let one = layers.first,
      layers.allSatisfy({ $0.kind == one.kind && $0.blockCount == one.blockCount })
    else { return nil }
    leading = input.shape.dimensions.dropLast()
  }

  /// The shape of a layer's result.
  func shape(_ weight: LinearWeight) -> Shape { Shape(leading + [weight.outFeatures]) }

  /// Calls `body` for ranges of each layer's columns, on all threads.
  ///
  /// - Parameter body: Gets the activations, the layer, the columns, and room for as many floats as the range has columns.
  func run(
    _ input: Tensor, on pool: WorkCrew,
    _ body: (QuantizedActivations, _ layer: Int, Range<Int>, _ scratch: UnsafeMutablePointer<Float>) -> Void
  ) {
    let blockCount = layers[0].blockCount
    // Long stretches of weights, so that prefetching pays; whole cache lines of the results; a few tasks a thread.
    let columns = layers.reduce(0) { $0 + $1.rowCount }
    let least = max(1, 16_384 / layers[0].rowBytes)
    let grain = max(least, columns / (4 * pool.threadCount)) / 16 * 16 + 16
    withPooledScratch(QuantizedActivations.floatCount(rows: rows, blockCount: blockCount)) { memory in
      input.withPointer { input in
        guard let input else { return }
        let activations = QuantizedActivations(
          input, rows: rows, blockCount: blockCount, kind: layers[0].kind, memory: memory)
        let ends = layers.reduce(into: [0]) { $0.append($0[$0.count - 1] + ($1.rowCount + grain - 1) / grain) }
        pool.parallelFor(ends[layers.count], scratchBytes: grain * MemoryLayout<Float>.stride) { task, scratch in
          var layer = 0
          while task >= ends[layer + 1] { layer += 1 }
          let first = (task - ends[layer]) * grain
          body(
            activations, layer, first..<min(layers[layer].rowCount, first + grain),
            scratch.assumingMemoryBound(to: Float.self))
        }
      }
    }
  }
}
