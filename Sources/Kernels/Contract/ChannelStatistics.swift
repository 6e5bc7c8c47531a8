public import Tensors

/// Mean and spread of each channel of each image of a map: what group norms are made from.
///
/// Statistics of parts of a map can be joined to those of the whole, so the map needn't be in memory at once; Chan, Golub &
/// LeVeque 1979, "Updating formulae and a pairwise algorithm for computing sample variances", eq. 2.1.
public struct ChannelStatistics: Sendable, Equatable {
  /// Images of the map.
  public let images: Int
  /// Channels of the map.
  public let channels: Int
  /// Pixels of each image that were seen.
  public private(set) var count: Int
  /// Mean of each channel, `[images, channels]`.
  public private(set) var means: [Double]
  /// Sum of the squared deviations from the mean, `[images, channels]`.
  public private(set) var squares: [Double]

  /// Puts statistics together; the lists are `[images, channels]`.
  public init(images: Int, channels: Int, count: Int, means: [Double], squares: [Double]) {
    precondition(
      means.count == images * channels && squares.count == images * channels,
      "statistics of \(images) images and \(channels) channels have \(images * channels) elements, not \(means.count)")
    self.images = images
    self.channels = channels
    self.count = count
    self.means = means
    self.squares = squares
  }

  /// Adds what was seen of other pixels of the same images.
  ///
  /// - Precondition: images and channels agree.
  public mutating func join(_ other: ChannelStatistics) {
    precondition(images == other.images && channels == other.channels, "statistics of different maps can't be joined")
    guard other.count > 0 else { return }
    let total = Double(count + other.count)
    let share = Double(other.count) / total
    for index in means.indices {
      let distance = other.means[index] - means[index]
      means[index] += distance * share
      squares[index] += other.squares[index] + distance * distance * Double(count) * share
    }
    count += other.count
  }
}

/// What a group norm does to each channel of each image once its statistics are known: `(x - center) · scale + shift`.
public struct ChannelFactors: Sendable {
  /// Center, scale and shift, `[images, 3, channels]`.
  public let values: Tensor

  /// Joins channels to groups (Wu & He 2018, arXiv:1803.08494, equation 1).
  ///
  /// The center is the group's mean as a `Float`; what that rounding loses is in the shift.
  ///
  /// - Parameters:
  ///   - statistics: Of the whole map.
  ///   - groupCount: Divides the channels.
  ///   - weight: Scale per channel, `[channels]`.
  ///   - bias: Shift per channel, `[channels]`.
  ///   - epsilon: Added to the variance.
  public init(_ statistics: ChannelStatistics, groupCount: Int, weight: Tensor, bias: Tensor, epsilon: Float) {
    let channels = statistics.channels
    precondition(
      groupCount > 0 && channels % groupCount == 0, "groupNorm: \(groupCount) groups don't divide \(channels) channels")
    precondition(weight.count == channels && bias.count == channels, "groupNorm: weight and bias [\(channels)] expected")
    let size = channels / groupCount
    let count = Double(max(statistics.count, 1))
    values = Tensor(shape: [statistics.images, 3, channels]) { target in
      for image in 0..<statistics.images {
        for group in 0..<groupCount {
          let members = (group * size)..<((group + 1) * size)
          let offset = image * channels
          let mean = members.reduce(0.0) { $0 + statistics.means[offset + $1] } / Double(size)
          let squares = members.reduce(0.0) { sum, channel in
            let distance = statistics.means[offset + channel] - mean
            return sum + statistics.squares[offset + channel] + count * distance * distance
          }
          let deviation = 1 / (squares / (count * Double(size)) + Double(epsilon)).squareRoot()
          for channel in members {
            let scale = Double(weight[flat: channel]) * deviation
            let shift = Double(bias[flat: channel]) + (Double(Float(mean)) - mean) * scale
            target.initializeElement(at: 3 * offset + channel, to: Float(mean))
            target.initializeElement(at: 3 * offset + channels + channel, to: Float(scale))
            target.initializeElement(at: 3 * offset + 2 * channels + channel, to: Float(shift))
          }
        }
      }
    }
  }
}

/// What happens to the input of a convolution while it is read, before zeros are put around it.
public struct ConvInputStage: Sendable {
  /// A group norm.
  public var factors: ChannelFactors?
  /// Applied after the norm.
  public var activation: Activation
  /// Whether every pixel stands for 2 × 2 pixels: nearest enlargement.
  public var enlarges: Bool

  /// Makes a stage; by default it does nothing.
  public init(factors: ChannelFactors? = nil, activation: Activation = .none, enlarges: Bool = false) {
    self.factors = factors
    self.activation = activation
    self.enlarges = enlarges
  }

  /// The shape of a map, `[N, H, W, C]`, after the stage.
  public func outputShape(_ shape: Shape) -> Shape {
    enlarges ? [shape[0], 2 * shape[1], 2 * shape[2], shape[3]] : shape
  }
}
