import Tensors

/// What a scheduler does to its estimate of the noise-free sample before it uses it.
enum SampleClipping: Sendable, Equatable {
  case none
  /// Limits each element to ±range.
  case clamp(range: Float)
  /// Dynamic thresholding (Saharia et al. 2022, arXiv:2205.11487, section 2.3): per image, s is the `ratio` quantile of
  /// |x₀|, limited to 1...maximum; then x₀ is limited to ±s and divided by s.
  case dynamicThreshold(ratio: Float, maximum: Float)

  /// Reads `thresholding` and, where the class knows it, `clip_sample`.
  ///
  /// - Parameter clipsByDefault: The class's default of `clip_sample`; nil when it has no such key.
  init(_ reader: ConfigReader, clipsByDefault: Bool?, knowsThresholding: Bool = true) throws(SchedulerError) {
    if knowsThresholding, try reader.bool("thresholding", default: false) {
      self = .dynamicThreshold(
        ratio: Float(try reader.double("dynamic_thresholding_ratio", default: 0.995, in: 0...1)),
        maximum: Float(try reader.double("sample_max_value", default: 1, in: 0...Double.greatestFiniteMagnitude)))
    } else if let clipsByDefault, try reader.bool("clip_sample", default: clipsByDefault) {
      self = .clamp(range: Float(try reader.double("clip_sample_range", default: 1, in: 0...Double.greatestFiniteMagnitude)))
    } else {
      self = .none
    }
  }

  /// The estimate after clipping; `[N, …]`.
  func apply(_ sample: Tensor) -> Tensor {
    switch self {
    case .none: return sample
    case .clamp(let range): return sample.map { Self.clamp($0, range) }
    case .dynamicThreshold(let ratio, let maximum):
      guard sample.shape.rank > 0, sample.count > 0 else { return sample }
      let rows = (0..<sample.shape[0]).map { row in
        let image = sample.slice(row..<(row + 1))
        let limit = min(max(Self.quantile(image, ratio), 1), maximum)
        return image.map { Self.clamp($0, limit) / limit }
      }
      return .concatenated(rows)
    }
  }

  /// Keeps NaN, as torch does.
  private static func clamp(_ value: Float, _ range: Float) -> Float { value < -range ? -range : (value > range ? range : value) }

  /// The quantile of |x|, linear between order statistics; NaN when an element is.
  private static func quantile(_ image: Tensor, _ ratio: Float) -> Float {
    let magnitudes = image.elements.map { abs($0) }
    guard magnitudes.allSatisfy({ !$0.isNaN }) else { return .nan }
    let sorted = magnitudes.sorted()
    let rank = ratio * Float(sorted.count - 1)
    let low = min(Int(rank), sorted.count - 1)
    let high = min(low + 1, sorted.count - 1)
    let weight = rank - Float(low)
    let span = sorted[high] - sorted[low]
    return weight < 0.5 ? sorted[low] + weight * span : sorted[high] - span * (1 - weight)
  }
}
