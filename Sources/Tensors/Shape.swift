/// The extent of each axis of a tensor, slowest axis first, as in `[N, C, H, W]`.
public struct Shape: Sendable, Hashable, ExpressibleByArrayLiteral, CustomStringConvertible {
  /// The extents; each is at least 0.
  public let dimensions: [Int]

  /// Makes a shape from its extents.
  ///
  /// - Parameter dimensions: Extents, slowest axis first; each must be at least 0.
  public init(_ dimensions: [Int]) {
    precondition(dimensions.allSatisfy { $0 >= 0 }, "a shape has no negative extents: \(dimensions)")
    self.dimensions = dimensions
  }

  /// Makes a shape from a literal such as `[1, 4, 64, 64]`.
  public init(arrayLiteral elements: Int...) { self.init(elements) }

  /// The number of axes.
  public var rank: Int { dimensions.count }

  /// The number of elements: the product of the extents, 1 for a scalar.
  public var elementCount: Int { dimensions.reduce(1, *) }

  /// The extent of an axis; negative axes count from the end, as in NumPy.
  public subscript(axis: Int) -> Int { dimensions[axis < 0 ? dimensions.count + axis : axis] }

  /// The shape as it's written in messages: `[1, 4, 64, 64]`.
  public var description: String { "[" + dimensions.map(String.init).joined(separator: ", ") + "]" }
}
