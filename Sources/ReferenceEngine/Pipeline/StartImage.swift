import GenBackend
import Imaging
import Schedulers
import Tensors

/// The start image of image-to-image, at the size of the result.
struct StartImage {
  /// Values 0...1, `[1, 3, H, W]`.
  let unitValues: Tensor

  /// Values -1...1, as the VAE wants them.
  var tensor: Tensor { unitValues.map { 2 * $0 - 1 } }

  /// Takes an image; resizes it as Pillow's Lanczos does when its size is another one.
  init(image: Tensor, size: ImageSize) {
    if image.shape[2] == size.height, image.shape[3] == size.width {
      unitValues = image
    } else {
      let bitmap = Bitmap(unitValues: image)
      unitValues = Resample.resize(bitmap, width: size.width, height: size.height, filter: .lanczos).unitValues
    }
  }

  /// A mask `[1, 1, h, w]` at the size of the image.
  func resized(_ mask: Tensor) -> Tensor {
    let (height, width) = (unitValues.shape[2], unitValues.shape[3])
    guard mask.shape[2] != height || mask.shape[3] != width else { return mask }
    return Resample.resize(Bitmap(unitValues: mask), width: width, height: height, filter: .lanczos).unitValues
  }
}

/// What inpainting keeps: the pixels and latents where the mask is black.
struct InpaintingSource: Sendable {
  private let image: Tensor
  private let mask: Tensor
  private let imageLatents: Tensor
  private let noise: Tensor
  private let latentMask: Tensor

  /// Makes the source.
  ///
  /// - Parameters:
  ///   - image: `[1, 3, H, W]`, 0...1.
  ///   - mask: `[1, 1, H, W]`; from 0.5 on it's white.
  init(image: Tensor, mask: Tensor, imageLatents: Tensor, noise: Tensor, latentShape: Shape) {
    self.image = image
    self.imageLatents = imageLatents
    self.noise = noise
    let binary = mask.map { $0 >= 0.5 ? 1 : 0 }
    self.mask = binary
    // interpolate(mode="nearest") of the mask, repeated over the latent channels.
    let (channels, height, width) = (latentShape[1], latentShape[2], latentShape[3])
    let (maskHeight, maskWidth) = (mask.shape[2], mask.shape[3])
    latentMask = Tensor(shape: latentShape) { target in
      binary.withUnsafeBuffer { source in
        for channel in 0..<channels {
          for row in 0..<height {
            for column in 0..<width {
              target.initializeElement(
                at: (channel * height + row) * width + column,
                to: source[(row * maskHeight / height) * maskWidth + column * maskWidth / width])
            }
          }
        }
      }
    }
  }

  /// Puts the start image's latents, at the noise level of the next step, back where the mask is black.
  func restoringKeptLatents(in latents: Tensor, after index: Int, scheduler: any Scheduler) throws -> Tensor {
    let isLast = index == scheduler.timesteps.count - 1
    let kept = isLast ? imageLatents : try scheduler.addNoise(imageLatents, noise: noise, at: index + 1)
    let outside = latentMask.zip(kept) { mask, value in (1 - mask) * value }
    let inside = latentMask.zip(latents) { mask, value in mask * value }
    return outside.zip(inside, +)
  }

  /// Puts the start image's pixels back where the mask is black, exactly.
  func restoringKeptPixels(in pixels: Tensor) -> Tensor {
    let plane = pixels.shape[2] * pixels.shape[3]
    return Tensor(shape: pixels.shape) { target in
      pixels.withUnsafeBuffer { generated in
        image.withUnsafeBuffer { original in
          mask.withUnsafeBuffer { mask in
            for index in generated.indices {
              target.initializeElement(at: index, to: mask[index % plane] > 0 ? generated[index] : original[index])
            }
          }
        }
      }
    }
  }
}
