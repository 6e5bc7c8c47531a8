public import KernelContract
public import Tensors

extension FastKernels {
  /// Floats of one task: 64 KB, so that small tensors stay on one thread.
  private static let elementwiseGrain = 16_384

  /// An activation, element by element.
  public func activate(_ input: Tensor, _ activation: Activation) -> Tensor {
    if activation == .none { return input }
    let count = input.count
    return Tensor.filled(input.shape) { output in
      withPointers(input) { input, _, _ in
        guard let input else { return }
        pool.parallelRanges(count, grain: Self.elementwiseGrain) { range, _ in
          applyActivation(activation, input + range.lowerBound, output + range.lowerBound, range.count)
        }
      }
    }
  }

  /// The sum of two equally shaped tensors.
  public func add(_ left: Tensor, _ right: Tensor) -> Tensor {
    precondition(left.shape == right.shape, "add: \(left.shape) and \(right.shape) differ")
    let count = left.count
    return Tensor.filled(left.shape) { output in
      withPointers(left, right) { left, right, _ in
        guard let left, let right else { return }
        pool.parallelRanges(count, grain: Self.elementwiseGrain) { range, _ in
          let other = right + range.lowerBound
          mapVectors(left + range.lowerBound, output + range.lowerBound, range.count) { x, index in
            x + (index + lanes <= range.count ? load(other + index) : loadPartial(other + index, range.count - index))
          }
        }
      }
    }
  }

  /// `value * gelu(gate)` of `[..., 2D]`, the value in the first half.
  public func geglu(_ input: Tensor) -> Tensor {
    let width = input.shape[-1] / 2
    precondition(input.shape[-1] == 2 * width, "geglu: an even last axis expected, got \(input.shape)")
    let rows = width == 0 ? 0 : input.count / (2 * width)
    return Tensor.filled(Shape(input.shape.dimensions.dropLast() + [width])) { output in
      withPointers(input) { input, _, _ in
        guard let input else { return }
        pool.parallelRanges(rows, grain: max(1, Self.elementwiseGrain / max(width, 1))) { range, _ in
          for row in range {
            let value = input + row * 2 * width
            mapVectors(value + width, output + row * width, width) { gate, index in
              gelu(gate) * (index + lanes <= width ? load(value + index) : loadPartial(value + index, width - index))
            }
          }
        }
      }
    }
  }

  /// `[N, H, W, C]` enlarged to `[N, 2H, 2W, C]`, each pixel repeated.
  public func upsampleNearest2x(_ input: Tensor) -> Tensor {
    precondition(input.shape.rank == 4, "upsampleNearest2x: [N, H, W, C] expected, got \(input.shape)")
    let (images, height, width, channels) = (input.shape[0], input.shape[1], input.shape[2], input.shape[3])
    let rowLength = 2 * width * channels
    return Tensor.filled([images, 2 * height, 2 * width, channels]) { output in
      withPointers(input) { input, _, _ in
        guard let input else { return }
        // One task makes both copies of a few input rows.
        pool.parallelRanges(images * height, grain: max(1, Self.elementwiseGrain / max(1, 2 * rowLength))) { range, _ in
          for row in range {
            let target = output + 2 * row * rowLength
            for x in 0..<width {
              let pixel = input + (row * width + x) * channels
              copy(pixel, target + 2 * x * channels, channels)
              copy(pixel, target + (2 * x + 1) * channels, channels)
            }
            (target + rowLength).update(from: target, count: rowLength)
          }
        }
      }
    }
  }
}
