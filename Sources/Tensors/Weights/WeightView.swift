/// Keeps the memory of weight views alive: a memory-mapped file, or an array.
public protocol WeightOwner: AnyObject, Sendable {}

/// A weight as it lies in its file: name, type, shape, bytes.
///
/// Nothing is converted before use. The bytes are never written, and `owner` keeps them mapped as long as a view exists.
public struct WeightView: @unchecked Sendable {
  /// The name in the checkpoint, for messages and traces.
  public let name: String
  /// How elements are stored.
  public let dtype: DType
  /// Extents, slowest axis first (as in PyTorch; GGUF's reversed order is turned round when the file is read).
  public let shape: Shape
  /// The stored bytes; `dtype.byteCount(elements: shape.elementCount)` of them.
  public let bytes: UnsafeRawBufferPointer
  private let owner: any WeightOwner

  /// Makes a view of bytes that `owner` keeps alive.
  ///
  /// - Precondition: `bytes` has exactly the size that `dtype` and `shape` ask for.
  public init(name: String, dtype: DType, shape: Shape, bytes: UnsafeRawBufferPointer, owner: any WeightOwner) {
    precondition(
      dtype.byteCount(elements: shape.elementCount) == bytes.count, "\(name): \(bytes.count) bytes for \(dtype) \(shape)")
    self.name = name
    self.dtype = dtype
    self.shape = shape
    self.bytes = bytes
    self.owner = owner
  }

  /// Makes a view of a tensor, which it keeps; for tests and for weights that were computed.
  public init(name: String, tensor: Tensor) {
    let owner = TensorOwner(tensor)
    self.init(name: name, dtype: .f32, shape: tensor.shape, bytes: owner.bytes, owner: owner)
  }

  /// The same bytes under another name and shape of equally many elements.
  ///
  /// - Precondition: the element count is unchanged and, for block types, so is the row length.
  public func reinterpreted(name: String? = nil, shape newShape: Shape) -> WeightView {
    precondition(newShape.elementCount == shape.elementCount, "\(self.name): \(shape) isn't \(newShape)")
    return WeightView(name: name ?? self.name, dtype: dtype, shape: newShape, bytes: bytes, owner: owner)
  }

  /// Rows `range` of the slowest axis, without a copy: how fused matrices are split.
  public func rows(_ range: Range<Int>, name: String? = nil) -> WeightView {
    precondition(
      shape.rank >= 1 && range.lowerBound >= 0 && range.upperBound <= shape[0], "\(self.name): rows \(range) of \(shape)")
    let rowBytes = shape[0] == 0 ? 0 : bytes.count / shape[0]
    let part = UnsafeRawBufferPointer(rebasing: bytes[(range.lowerBound * rowBytes)..<(range.upperBound * rowBytes)])
    return WeightView(
      name: name ?? self.name, dtype: dtype, shape: Shape([range.count] + shape.dimensions.dropFirst()), bytes: part, owner: owner
    )
  }

  /// All elements as `Float`.
  public func float32() -> Tensor {
    Tensor(shape: shape) { target in
      guard let base = target.baseAddress else { return }
      dequantize(elements: 0..<shape.elementCount, into: base)
    }
  }
}

/// Keeps a tensor's memory for a ``WeightView``.
final class TensorOwner: WeightOwner {
  private let tensor: Tensor
  let bytes: UnsafeRawBufferPointer

  init(_ tensor: Tensor) {
    self.tensor = tensor
    // The storage is never written while this owner holds a reference: a write through any tensor copies first.
    bytes = tensor.withUnsafeBuffer { UnsafeRawBufferPointer($0) }
  }
}
extension TensorOwner: @unchecked Sendable {}
