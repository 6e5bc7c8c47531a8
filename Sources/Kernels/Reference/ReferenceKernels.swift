public import KernelContract
public import Tensors

/// The operators as plain scalar loops that follow their formulas, with sums and intermediate values in `Double`.
///
/// This set is the yardstick of the fast ones, not an engine for big models: no SIMD types, no threads, no blocking.
public struct ReferenceKernels: KernelSet {
  /// The arithmetic of linear layers.
  let precision: Precision

  /// Makes the set.
  public init(precision: Precision = .f32) { self.precision = precision }

  /// Both are there.
  public func with(_ precision: Precision) -> (any KernelSet)? { ReferenceKernels(precision: precision) }

  /// `reference`.
  public var name: String { "reference" }

  /// Always 1.
  public var threadCount: Int { 1 }

  /// The sum of two equally shaped tensors.
  public func add(_ left: Tensor, _ right: Tensor) -> Tensor { left.zip(right) { $0 + $1 } }

  /// `[N, H, W, C]` enlarged to `[N, 2H, 2W, C]`, each pixel repeated.
  public func upsampleNearest2x(_ input: Tensor) -> Tensor {
    precondition(input.shape.rank == 4, "upsampleNearest2x: [N, H, W, C] expected, got \(input.shape)")
    let (images, height, width, channels) = (input.shape[0], input.shape[1], input.shape[2], input.shape[3])
    return Tensor(shape: [images, 2 * height, 2 * width, channels]) { output in
      input.withUnsafeBuffer { input in
        for image in 0..<images {
          for y in 0..<(2 * height) {
            for x in 0..<(2 * width) {
              let target = ((image * 2 * height + y) * 2 * width + x) * channels
              let source = ((image * height + y / 2) * width + x / 2) * channels
              for channel in 0..<channels { output[target + channel] = input[source + channel] }
            }
          }
        }
      }
    }
  }
}
