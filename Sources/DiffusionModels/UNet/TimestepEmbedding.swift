package import Checkpoints
package import KernelContract
public import Tensors

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Sinusoidal features of numbers; equals diffusers' `get_timestep_embedding`.
///
/// With `h = dimension / 2` and `f_i = 10000^(-i / (h - shift))`: `[cos(t f) | sin(t f)]` when flipped, else sine first; an
/// odd dimension ends with a zero. Vaswani et al. 2017, arXiv:1706.03762, section 3.5.
///
/// - Parameters:
///   - values: Timesteps or sizes, any finite values.
///   - dimension: Features of each value.
///   - flipSinToCos: Whether cosines come first.
///   - frequencyShift: `freq_shift` or `downscale_freq_shift`.
/// - Returns: `[values.count, dimension]`.
public func sinusoidalEmbedding(_ values: [Float], dimension: Int, flipSinToCos: Bool, frequencyShift: Float) -> Tensor {
  let half = dimension / 2
  let logPeriod = Float(-log(10000.0))
  let frequencies = (0..<half).map { index in
    Float(exp(Double(logPeriod * Float(index) / (Float(half) - frequencyShift))))
  }
  return Tensor(shape: [values.count, dimension]) { target in
    target.initialize(repeating: 0)
    for (row, value) in values.enumerated() {
      for (index, frequency) in frequencies.enumerated() {
        let angle = Double(value * frequency)
        let (first, second) = flipSinToCos ? (cos(angle), sin(angle)) : (sin(angle), cos(angle))
        target[row * dimension + index] = Float(first)
        target[row * dimension + half + index] = Float(second)
      }
    }
  }
}

/// Two linear layers with SiLU between them; equals diffusers' `TimestepEmbedding`.
package struct TimestepEmbedding: Sendable {
  private let linear1: Linear
  private let linear2: Linear

  package init(_ loader: ParameterLoader, inFeatures: Int, outFeatures: Int) throws(CheckpointError) {
    linear1 = try Linear(loader["linear_1"], inFeatures: inFeatures, outFeatures: outFeatures)
    linear2 = try Linear(loader["linear_2"], inFeatures: outFeatures, outFeatures: outFeatures)
  }

  package func callAsFunction(_ features: Tensor, _ context: ExecutionContext) -> Tensor {
    linear2(linear1(features, context, activation: .silu), context)
  }
}
