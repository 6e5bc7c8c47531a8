import KernelContract
import Tensors

/// Square patches as rows: a convolution whose stride is its kernel is a matrix product on them.
enum PatchEmbedding {
  /// The patches of a square image, row by row: `[3, side, side]` at `offset` to `[patches, 3 · size · size]`.
  static func patches(of pixels: Tensor, image: Int, size: Int) -> Tensor {
    let (channels, height, width) = (pixels.shape[1], pixels.shape[2], pixels.shape[3])
    let (rows, columns) = (height / size, width / size)
    let area = size * size
    return Tensor(shape: [rows * columns, channels * area]) { target in
      pixels.withUnsafeBuffer { source in
        guard let to = target.baseAddress, let from = source.baseAddress else { return }
        for patch in 0..<(rows * columns) {
          for channel in 0..<channels {
            let plane = from + ((image * channels + channel) * height + patch / columns * size) * width + patch % columns * size
            for line in 0..<size {
              (to + (patch * channels + channel) * area + line * size).initialize(from: plane + line * width, count: size)
            }
          }
        }
      }
    }
  }
}
