public import KernelContract
public import Tensors

extension ReferenceKernels {
  /// 2-D cross-correlation of `[N, H, W, Cin]` with `[Cout, Cin, kH, kW]`.
  public func conv2d(
    _ input: Tensor, weight: ConvWeight, options: ConvOptions, bias: Tensor?, imageBias: Tensor?, residual: Tensor?
  ) -> Tensor {
    let (kernelHeight, kernelWidth) = (weight.kernelHeight, weight.kernelWidth)
    let (inChannels, outChannels) = (weight.inChannels, weight.outChannels)
    precondition(
      input.shape.rank == 4 && input.shape[3] == inChannels, "conv2d: [N, H, W, \(inChannels)] expected, got \(input.shape)")
    let (images, height, width) = (input.shape[0], input.shape[1], input.shape[2])
    let outHeight = options.outputHeight(height, kernel: kernelHeight)
    let outWidth = options.outputWidth(width, kernel: kernelWidth)
    let shape: Shape = [images, outHeight, outWidth, outChannels]
    precondition(bias == nil || bias?.count == outChannels, "conv2d: bias [\(outChannels)] expected")
    precondition(
      imageBias == nil || imageBias?.count == images * outChannels, "conv2d: imageBias [\(images), \(outChannels)] expected")
    precondition(residual == nil || residual?.shape == shape, "conv2d: residual \(shape) expected")
    let kernel = weight.view.float32()
    return Tensor(shape: shape) { output in
      input.withUnsafeBuffer { input in
        kernel.withUnsafeBuffer { kernel in
          var target = 0
          for image in 0..<images {
            for outY in 0..<outHeight {
              for outX in 0..<outWidth {
                for outChannel in 0..<outChannels {
                  var sum = Double(bias?[flat: outChannel] ?? 0)
                  sum += Double(imageBias?[flat: image * outChannels + outChannel] ?? 0)
                  for kernelY in 0..<kernelHeight {
                    let y = outY * options.stride + kernelY - options.top
                    guard y >= 0, y < height else { continue }
                    for kernelX in 0..<kernelWidth {
                      let x = outX * options.stride + kernelX - options.left
                      guard x >= 0, x < width else { continue }
                      let pixel = ((image * height + y) * width + x) * inChannels
                      let tap = (outChannel * inChannels * kernelHeight + kernelY) * kernelWidth + kernelX
                      for channel in 0..<inChannels {
                        sum += Double(input[pixel + channel]) * Double(kernel[tap + channel * kernelHeight * kernelWidth])
                      }
                    }
                  }
                  output[target] = Float(sum + Double(residual?[flat: target] ?? 0))
                  target += 1
                }
              }
            }
          }
        }
      }
    }
  }
}
