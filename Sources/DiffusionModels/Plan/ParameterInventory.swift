public import Checkpoints
public import Tensors

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A source that holds no weights: it notes what a network asks for, and answers with zeros.
///
/// Building a network from it tells the names and shapes of all its parameters, without a list of them anywhere else.
public final class ParameterInventory: ParameterSource {
  /// One parameter of a network.
  public struct Parameter: Sendable, Hashable {
    /// The checkpoint name.
    public let name: String
    /// The shape.
    public let shape: Shape
  }

  /// What was asked for, in order.
  public private(set) var parameters: [Parameter] = []
  private var zeros: ZeroPages?

  /// Makes an empty inventory.
  public init() {}

  /// The number of weights asked for so far.
  public var parameterCount: Int { parameters.reduce(0) { $0 + $1.shape.elementCount } }

  /// Notes the parameter; the view's bytes are zeros, shared by all parameters.
  public func parameter(named name: String, shape: Shape) throws(CheckpointError) -> WeightView {
    parameters.append(Parameter(name: name, shape: shape))
    let byteCount = shape.elementCount * 2
    let pages: ZeroPages
    if let zeros, zeros.bytes.count >= byteCount {
      pages = zeros
    } else {
      guard let made = ZeroPages(byteCount: max(byteCount, 256 << 20)) else {
        throw CheckpointError(.invalid, file: name, "the address space for a plan of \(byteCount) bytes isn't to be had")
      }
      zeros = made
      pages = made
    }
    return WeightView(
      name: name, dtype: .f16, shape: shape, bytes: UnsafeRawBufferPointer(rebasing: pages.bytes[0..<byteCount]), owner: pages)
  }
}

/// Address space that reads as zeros and takes no memory until it's read.
private final class ZeroPages: WeightOwner, @unchecked Sendable {
  // Mapped for reading only.
  let bytes: UnsafeRawBufferPointer

  init?(byteCount: Int) {
    guard let address = mmap(nil, byteCount, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), address != MAP_FAILED else {
      return nil
    }
    bytes = UnsafeRawBufferPointer(start: address, count: byteCount)
  }

  deinit { munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count) }
}
