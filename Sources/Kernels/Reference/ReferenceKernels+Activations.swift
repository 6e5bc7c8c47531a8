public import KernelContract
public import Tensors

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension ReferenceKernels {
  /// `value * gelu(gate)` of `[..., 2D]`, the value in the first half.
  public func geglu(_ input: Tensor) -> Tensor {
    let width = input.shape[-1] / 2
    precondition(input.shape[-1] == 2 * width, "geglu: an even last axis expected, got \(input.shape)")
    return Tensor(shape: Shape(input.shape.dimensions.dropLast() + [width])) { output in
      input.withUnsafeBuffer { input in
        for row in 0..<(output.count / max(width, 1)) {
          for column in 0..<width {
            let value = Double(input[row * 2 * width + column])
            let gate = Double(input[row * 2 * width + width + column])
            output[row * width + column] = Float(value * Activation.gelu.value(gate))
          }
        }
      }
    }
  }

  /// An activation, element by element.
  public func activate(_ input: Tensor, _ activation: Activation) -> Tensor {
    Tensor(shape: input.shape) { output in
      input.withUnsafeBuffer { input in
        for index in input.indices { output[index] = Float(activation.value(Double(input[index]))) }
      }
    }
  }
}

extension Activation {
  /// The function's value, in double precision.
  func value(_ x: Double) -> Double {
    switch self {
    case .none: x
    case .silu: x / (1 + exp(-x))
    case .gelu: 0.5 * x * erfc(-x / 2.0.squareRoot())
    case .geluTanh: 0.5 * x * (1 + tanh((2 / Double.pi).squareRoot() * (x + 0.044715 * x * x * x)))
    case .quickGelu: x / (1 + exp(-1.702 * x))
    }
  }
}

/// `eˣ` in double precision.
func exponential(_ x: Double) -> Double { exp(x) }
