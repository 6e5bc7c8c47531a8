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

  /// Rows `range` of maps, `[N, …, W, C]`, that lie one below the other.
  public func joinRows(_ parts: [Tensor], range: Range<Int>) -> Tensor {
    guard let first = parts.first, first.shape.rank == 4 else { preconditionFailure("joinRows: [N, H, W, C] expected") }
    let (images, rowLength) = (first.shape[0], first.shape[2] * first.shape[3])
    precondition(
      parts.allSatisfy {
        $0.shape.rank == 4 && $0.shape[0] == images && $0.shape[2] == first.shape[2] && $0.shape[3] == first.shape[3]
      },
      "joinRows: maps of different sizes")
    precondition(range.lowerBound >= 0 && range.upperBound <= parts.reduce(0) { $0 + $1.shape[1] }, "joinRows: no rows \(range)")
    return Tensor.filled([images, range.count, first.shape[2], first.shape[3]]) { output in
      var above = 0
      for part in parts {
        let height = part.shape[1]
        let taken = range.clamped(to: above..<(above + height))
        part.withPointer { input in
          guard let input, !taken.isEmpty else { return }
          let offset = taken.lowerBound - above
          let target = output + (taken.lowerBound - range.lowerBound) * rowLength
          pool.parallelRanges(images * taken.count, grain: max(1, 16 * Self.elementwiseGrain / max(rowLength, 1))) { rows, _ in
            for index in rows {
              let (image, row) = (index / taken.count, index % taken.count)
              (target + (image * range.count + row) * rowLength).update(
                from: input + (image * height + offset + row) * rowLength, count: rowLength)
            }
          }
        }
        above += height
      }
    }
  }
}
