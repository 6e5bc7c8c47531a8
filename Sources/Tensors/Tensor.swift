/// The memory behind one or more tensors.
///
/// Written only while uniquely referenced, so that sharing it is safe.
final class TensorStorage: @unchecked Sendable {
  let pointer: UnsafeMutablePointer<Float>
  private let capacity: Int
  private let pool: BufferPool

  init(count: Int) {
    pool = BufferPool.current
    let (raw, capacity) = pool.allocate(byteCount: max(count, 1) * MemoryLayout<Float>.stride)
    pointer = raw.bindMemory(to: Float.self, capacity: capacity / MemoryLayout<Float>.stride)
    self.capacity = capacity
  }

  deinit { pool.deallocate(UnsafeMutableRawPointer(pointer), capacity: capacity) }
}

/// A dense array of `Float` in row-major order, with value semantics.
///
/// Copies share memory until one of them is written. Activations, noise, embeddings and images are tensors; weights are
/// ``WeightView``s, which stay in the type of their file.
public struct Tensor: Sendable {
  /// The extents, slowest axis first.
  public let shape: Shape
  private var storage: TensorStorage

  private init(shape: Shape, storage: TensorStorage) {
    self.shape = shape
    self.storage = storage
  }

  /// Makes a tensor whose elements are all `value`.
  public init(repeating value: Float, shape: Shape) {
    self.init(shape: shape) { buffer in buffer.initialize(repeating: value) }
  }

  /// Makes a tensor of zeros.
  public init(zeros shape: Shape) { self.init(repeating: 0, shape: shape) }

  /// Makes a tensor from its elements in row-major order.
  ///
  /// - Precondition: `elements.count == shape.elementCount`.
  public init(_ elements: [Float], shape: Shape) {
    precondition(elements.count == shape.elementCount, "\(elements.count) elements don't fill shape \(shape)")
    self.init(shape: shape) { buffer in _ = buffer.initialize(from: elements) }
  }

  /// Makes a tensor whose elements `fill` must all write; they're undefined before.
  public init(shape: Shape, fill: (UnsafeMutableBufferPointer<Float>) throws -> Void) rethrows {
    let storage = TensorStorage(count: shape.elementCount)
    try fill(UnsafeMutableBufferPointer(start: storage.pointer, count: shape.elementCount))
    self.init(shape: shape, storage: storage)
  }

  /// The number of elements.
  public var count: Int { shape.elementCount }

  /// The elements in row-major order, copied: O(n).
  public var elements: [Float] { withUnsafeBuffer { Array($0) } }

  /// Calls `body` with the elements for reading.
  public func withUnsafeBuffer<Result>(_ body: (UnsafeBufferPointer<Float>) throws -> Result) rethrows -> Result {
    try withExtendedLifetime(storage) {
      try body(UnsafeBufferPointer(start: storage.pointer, count: shape.elementCount))
    }
  }

  /// Calls `body` with the elements for writing; copies them first when another tensor shares them.
  public mutating func withUnsafeMutableBuffer<Result>(
    _ body: (UnsafeMutableBufferPointer<Float>) throws -> Result
  ) rethrows -> Result {
    if !isKnownUniquelyReferenced(&storage) {
      let copy = TensorStorage(count: count)
      copy.pointer.initialize(from: storage.pointer, count: count)
      storage = copy
    }
    return try withExtendedLifetime(storage) {
      try body(UnsafeMutableBufferPointer(start: storage.pointer, count: shape.elementCount))
    }
  }

  /// The element at a row-major position; for tests and small tables, not for inner loops.
  public subscript(flat index: Int) -> Float {
    get {
      precondition(index >= 0 && index < count)
      return storage.pointer[index]
    }
    set {
      precondition(index >= 0 && index < count)
      withUnsafeMutableBuffer { $0[index] = newValue }
    }
  }

  /// Multiplies element by element.
  ///
  /// - Precondition: the shapes agree.
  public mutating func multiply(by factors: Tensor) {
    precondition(shape == factors.shape, "\(shape) can't be multiplied by \(factors.shape)")
    withUnsafeMutableBuffer { values in
      factors.withUnsafeBuffer { factors in
        for index in values.indices { values[index] *= factors[index] }
      }
    }
  }

  /// The same elements under another shape, without a copy.
  ///
  /// - Precondition: the element counts agree.
  public func reshaped(to newShape: Shape) -> Tensor {
    precondition(newShape.elementCount == count, "\(shape) can't be reshaped to \(newShape)")
    return Tensor(shape: newShape, storage: storage)
  }

  /// The first elements under a smaller shape, without a copy: the filled part of a buffer with room to grow.
  ///
  /// - Precondition: `newShape` has at most as many elements.
  public func leading(_ newShape: Shape) -> Tensor {
    precondition(newShape.elementCount <= count, "\(shape) has no \(newShape) at its beginning")
    return Tensor(shape: newShape, storage: storage)
  }

  /// Rows `range` of the slowest axis, copied.
  public func slice(_ range: Range<Int>) -> Tensor {
    precondition(shape.rank > 0 && range.lowerBound >= 0 && range.upperBound <= shape[0], "rows \(range) of \(shape)")
    let rowCount = shape[0] == 0 ? 0 : count / shape[0]
    let sliced = Shape([range.count] + shape.dimensions.dropFirst())
    return Tensor(shape: sliced) { target in
      withUnsafeBuffer { source in
        _ = target.initialize(from: source[(range.lowerBound * rowCount)..<(range.upperBound * rowCount)])
      }
    }
  }

  /// Joins tensors along the slowest axis; the other extents must agree.
  public static func concatenated(_ parts: [Tensor]) -> Tensor {
    precondition(!parts.isEmpty && parts.allSatisfy { $0.shape.dimensions.dropFirst() == parts[0].shape.dimensions.dropFirst() })
    let rows = parts.reduce(0) { $0 + $1.shape[0] }
    return Tensor(shape: Shape([rows] + parts[0].shape.dimensions.dropFirst())) { target in
      var offset = 0
      for part in parts {
        part.withUnsafeBuffer { _ = UnsafeMutableBufferPointer(rebasing: target[offset...]).initialize(from: $0) }
        offset += part.count
      }
    }
  }

  /// Joins tensors along the fastest axis; the other extents must agree.
  public static func concatenatedLastAxis(_ parts: [Tensor]) -> Tensor {
    precondition(!parts.isEmpty && parts.allSatisfy { $0.shape.dimensions.dropLast() == parts[0].shape.dimensions.dropLast() })
    let width = parts.reduce(0) { $0 + $1.shape[-1] }
    return Tensor(shape: Shape(Array(parts[0].shape.dimensions.dropLast()) + [width])) { target in
      guard width > 0, let base = target.baseAddress else { return }
      var column = 0
      for part in parts {
        let partWidth = part.shape[-1]
        part.withUnsafeBuffer { source in
          guard let from = source.baseAddress else { return }
          for row in 0..<(target.count / width) {
            (base + row * width + column).initialize(from: from + row * partWidth, count: partWidth)
          }
        }
        column += partWidth
      }
    }
  }

  /// Rows `range` of maps, `[N, …, W, C]`, that lie one below the other; the other extents must agree.
  public static func joinedRows(_ parts: [Tensor], range: Range<Int>) -> Tensor {
    precondition(!parts.isEmpty && parts.allSatisfy { $0.shape.rank == 4 && $0.shape[0] == parts[0].shape[0] })
    precondition(parts.allSatisfy { $0.shape[2] == parts[0].shape[2] && $0.shape[3] == parts[0].shape[3] })
    let (images, width, channels) = (parts[0].shape[0], parts[0].shape[2], parts[0].shape[3])
    precondition(range.lowerBound >= 0 && range.upperBound <= parts.reduce(0) { $0 + $1.shape[1] }, "rows \(range) aren't there")
    let rowLength = width * channels
    return Tensor(shape: [images, range.count, width, channels]) { target in
      guard let base = target.baseAddress, !range.isEmpty else { return }
      var first = 0
      for part in parts {
        let height = part.shape[1]
        let taken = range.clamped(to: first..<(first + height))
        part.withUnsafeBuffer { source in
          guard let from = source.baseAddress, !taken.isEmpty else { return }
          for image in 0..<images {
            (base + (image * range.count + taken.lowerBound - range.lowerBound) * rowLength).initialize(
              from: from + (image * height + taken.lowerBound - first) * rowLength, count: taken.count * rowLength)
          }
        }
        first += height
      }
    }
  }

  /// The elements after `transform`, one by one.
  public func map(_ transform: (Float) -> Float) -> Tensor {
    Tensor(shape: shape) { target in
      withUnsafeBuffer { source in
        for index in source.indices { target.initializeElement(at: index, to: transform(source[index])) }
      }
    }
  }

  /// The elements of two equally shaped tensors after `combine`, pair by pair.
  public func zip(_ other: Tensor, _ combine: (Float, Float) -> Float) -> Tensor {
    precondition(shape == other.shape, "\(shape) and \(other.shape) differ")
    return Tensor(shape: shape) { target in
      withUnsafeBuffer { left in
        other.withUnsafeBuffer { right in
          for index in left.indices { target.initializeElement(at: index, to: combine(left[index], right[index])) }
        }
      }
    }
  }

  /// Whether any element is NaN or infinite.
  public var hasNonFinite: Bool { withUnsafeBuffer { $0.contains { !$0.isFinite } } }
}

extension Tensor {
  /// `[N, C, H, W]` as `[N, H, W, C]`.
  public func channelsLast() -> Tensor {
    precondition(shape.rank == 4, "[N, C, H, W] expected, got \(shape)")
    return swapped(outer: shape[0], rows: shape[1], columns: shape[2] * shape[3], to: [shape[0], shape[2], shape[3], shape[1]])
  }

  /// `[N, H, W, C]` as `[N, C, H, W]`.
  public func channelsFirst() -> Tensor {
    precondition(shape.rank == 4, "[N, H, W, C] expected, got \(shape)")
    return swapped(outer: shape[0], rows: shape[1] * shape[2], columns: shape[3], to: [shape[0], shape[3], shape[1], shape[2]])
  }

  private func swapped(outer: Int, rows: Int, columns: Int, to newShape: Shape) -> Tensor {
    Tensor(shape: newShape) { target in
      withUnsafeBuffer { source in
        for plane in 0..<outer {
          let base = plane * rows * columns
          for row in 0..<rows {
            for column in 0..<columns {
              target.initializeElement(at: base + column * rows + row, to: source[base + row * columns + column])
            }
          }
        }
      }
    }
  }
}
