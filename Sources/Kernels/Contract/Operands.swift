public import Tensors

/// A function applied to each element.
public enum Activation: String, Sendable, CaseIterable, Codable {
  /// The identity.
  case none
  /// `x · sigmoid(x)`.
  case silu
  /// `x · Φ(x)` with the exact error function.
  case gelu
  /// `0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))`.
  case geluTanh
  /// `x · sigmoid(1.702 x)`.
  case quickGelu
}

/// The weight of a linear layer, `[outFeatures, inFeatures]`, and whatever a kernel set prepared from it.
public struct LinearWeight: Sendable {
  /// The weight as it lies in its file.
  public let view: WeightView
  /// A packed form, known only to the set that made it.
  public let prepared: (any Sendable)?

  /// Makes a weight; `view` must have two axes.
  public init(view: WeightView, prepared: (any Sendable)? = nil) {
    precondition(view.shape.rank == 2, "\(view.name): [out, in] expected, got \(view.shape)")
    self.view = view
    self.prepared = prepared
  }

  /// Rows of the matrix.
  public var outFeatures: Int { view.shape[0] }
  /// Columns of the matrix.
  public var inFeatures: Int { view.shape[1] }
}

/// A linear layer's parameters.
public struct LinearParameters: Sendable {
  /// `[N, K]`.
  public var weight: LinearWeight
  /// `[N]`.
  public var bias: Tensor?

  /// Puts a weight and its bias together.
  public init(weight: LinearWeight, bias: Tensor? = nil) {
    self.weight = weight
    self.bias = bias
  }
}

/// The weight of a convolution, `[Cout, Cin, kH, kW]`, and whatever a kernel set prepared from it.
public struct ConvWeight: Sendable {
  /// The weight as it lies in its file.
  public let view: WeightView
  /// A packed or transformed form, known only to the set that made it.
  public let prepared: (any Sendable)?

  /// Makes a weight; `view` must have four axes.
  public init(view: WeightView, prepared: (any Sendable)? = nil) {
    precondition(view.shape.rank == 4, "\(view.name): [Cout, Cin, kH, kW] expected, got \(view.shape)")
    self.view = view
    self.prepared = prepared
  }

  /// Output channels.
  public var outChannels: Int { view.shape[0] }
  /// Input channels.
  public var inChannels: Int { view.shape[1] }
  /// Kernel height.
  public var kernelHeight: Int { view.shape[2] }
  /// Kernel width.
  public var kernelWidth: Int { view.shape[3] }
}

/// Stride and zero padding of a convolution, in pixels; negative padding leaves rows or columns out.
public struct ConvOptions: Sendable, Hashable {
  /// The same step in both directions.
  public var stride: Int
  /// Rows and columns of zeros on each side.
  public var top: Int
  /// See `top`.
  public var bottom: Int
  /// See `top`.
  public var left: Int
  /// See `top`.
  public var right: Int

  /// The same padding on every side.
  public init(stride: Int = 1, padding: Int = 0) {
    self.init(stride: stride, top: padding, bottom: padding, left: padding, right: padding)
  }

  /// Padding side by side: the VAE's downsampling pads only at the right and the bottom.
  public init(stride: Int, top: Int, bottom: Int, left: Int, right: Int) {
    self.stride = stride
    self.top = top
    self.bottom = bottom
    self.left = left
    self.right = right
  }

  /// Rows of the result for an input of `height` rows.
  public func outputHeight(_ height: Int, kernel: Int) -> Int { (height + top + bottom - kernel) / stride + 1 }
  /// Columns of the result for an input of `width` columns.
  public func outputWidth(_ width: Int, kernel: Int) -> Int { (width + left + right - kernel) / stride + 1 }
}

/// Heads, scale and mask of an attention.
public struct AttentionOptions: Sendable, Hashable {
  /// Heads of the query.
  public var headCount: Int
  /// Heads of key and value; divides `headCount` (grouped-query attention).
  public var keyValueHeadCount: Int
  /// Factor of the scores; `1 / sqrt(D)` as a rule.
  public var scale: Float
  /// When set, query row `i` sees only keys `0...(i + causalOffset)`.
  public var causalOffset: Int?

  /// Makes options; `keyValueHeadCount` is `headCount` unless given.
  public init(headCount: Int, keyValueHeadCount: Int? = nil, scale: Float, causalOffset: Int? = nil) {
    self.headCount = headCount
    self.keyValueHeadCount = keyValueHeadCount ?? headCount
    self.scale = scale
    self.causalOffset = causalOffset
  }
}
