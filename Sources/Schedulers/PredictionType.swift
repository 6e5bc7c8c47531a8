import Tensors

/// What a network was trained to output.
public enum PredictionType: String, Sendable, Hashable, Codable, CaseIterable {
  /// The noise ε.
  case epsilon
  /// v = √ᾱ ε - √(1-ᾱ) x₀ (Salimans & Ho 2022, arXiv:2202.00512).
  case vPrediction = "v_prediction"
  /// The noise-free sample x₀.
  case sample

  /// Reads `prediction_type`.
  init(_ reader: ConfigReader, allowed: [PredictionType] = PredictionType.allCases) throws(SchedulerError) {
    self = try reader.choice("prediction_type", default: .epsilon, allowed: allowed)
  }

  /// x₀ for a sample √ᾱ x₀ + √(1-ᾱ) ε.
  ///
  /// - Parameters:
  ///   - alpha: √ᾱ.
  ///   - sigma: √(1-ᾱ).
  func originalSample(modelOutput: Tensor, sample: Tensor, alpha: Float, sigma: Float) -> Tensor {
    switch self {
    case .epsilon: sample.zip(modelOutput) { ($0 - sigma * $1) / alpha }
    case .vPrediction: sample.zip(modelOutput) { alpha * $0 - sigma * $1 }
    case .sample: modelOutput
    }
  }

  /// ε for a sample √ᾱ x₀ + √(1-ᾱ) ε.
  func noise(modelOutput: Tensor, sample: Tensor, alpha: Float, sigma: Float) -> Tensor {
    switch self {
    case .epsilon: modelOutput
    case .vPrediction: sample.zip(modelOutput) { alpha * $1 + sigma * $0 }
    case .sample: sample.zip(modelOutput) { ($0 - alpha * $1) / sigma }
    }
  }

  /// x₀ for a sample x₀ + σ ε (not scaled down, as the schedulers from k-diffusion keep it).
  func originalSample(modelOutput: Tensor, unscaledSample sample: Tensor, sigma: Float) -> Tensor {
    switch self {
    case .epsilon: sample.zip(modelOutput) { $0 - sigma * $1 }
    case .vPrediction:
      {
        let square = sigma * sigma + 1
        let outputScale = -sigma / square.squareRoot()
        return sample.zip(modelOutput) { $1 * outputScale + $0 / square }
      }()
    case .sample: modelOutput
    }
  }
}
