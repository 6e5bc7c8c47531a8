import Tensors

/// Classifier-free guidance, `u + g (c - u)`.
///
/// Ho & Salimans 2022, arXiv:2207.12598, eq. 6, in diffusers' weighting.
func guided(unconditional: Tensor, conditional: Tensor, scale: Double) -> Tensor {
  let scale = Float(scale)
  return unconditional.zip(conditional) { u, c in u + scale * (c - u) }
}

/// Brings a guided prediction back to the spread of the conditional one and mixes the two; equals diffusers' `rescale_noise_cfg`.
///
/// Lin et al. 2023, arXiv:2305.08891, eq. 15-16.
///
/// - Parameter rescale: φ, 0...1.
func rescaledGuidance(_ guided: Tensor, conditional: Tensor, rescale: Double) -> Tensor {
  let factor = Float(standardDeviation(conditional) / standardDeviation(guided))
  let phi = Float(rescale)
  return guided.map { phi * ($0 * factor) + (1 - phi) * $0 }
}

/// Standard deviation with Bessel's correction over all elements, as `torch.std`.
private func standardDeviation(_ tensor: Tensor) -> Double {
  tensor.withUnsafeBuffer { values in
    let mean = values.reduce(0.0) { $0 + Double($1) } / Double(values.count)
    let squares = values.reduce(0.0) { $0 + (Double($1) - mean) * (Double($1) - mean) }
    return (squares / Double(max(values.count - 1, 1))).squareRoot()
  }
}
