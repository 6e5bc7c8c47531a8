import KernelContract
import Tensors

/// How much memory the maps of an autoencoder may take.
public struct MapMemory: Sendable, Hashable {
  /// Size of the bands of rows that maps are made of, in bytes; smaller maps are one band.
  public var bandBytes: Int
  /// Of two maps that are needed together and take more bytes than this, one is computed again instead of kept.
  public var largestPair: Int

  /// Makes a policy.
  public init(bandBytes: Int = 4 << 20, largestPair: Int = .max) {
    self.bandBytes = bandBytes
    self.largestPair = largestPair
  }

  /// Everything that is needed again is kept.
  public static let ample = MapMemory()
  /// For `reduceMemory`: at 512 × 512 pixels only the last level computes maps again, about a third more operations in all.
  public static let scarce = MapMemory(bandBytes: 2 << 20, largestPair: 192 << 20)

  /// Rows of a band: a multiple of the 4 rows that a Winograd tile has, at least that.
  func bandRows(_ shape: Shape) -> Int {
    let rowBytes = max(1, shape[0] * shape[2] * shape[3] * MemoryLayout<Float>.stride)
    return max(4, bandBytes / rowBytes / 4 * 4)
  }

  /// The bands of a map.
  func bands(_ shape: Shape) -> [Range<Int>] {
    let rows = bandRows(shape)
    return stride(from: 0, to: shape[1], by: rows).map { $0..<min(shape[1], $0 + rows) }
  }

  /// Whether two maps may be kept at the same time.
  func allows(_ first: Shape, _ second: Shape) -> Bool {
    MemoryLayout<Float>.stride * (first.elementCount + second.elementCount) <= largestPair
  }
}

/// A map, `[N, H, W, C]`, that networks work through in bands of rows, so that it needn't be in memory at once.
///
/// It is kept in bands, which the last reader lets go one by one, or is a recipe by which every reader computes it anew.
final class RowMap {
  /// The map's shape.
  let shape: Shape
  private enum Content {
    case bands([Tensor])
    case recipe((_ isLast: Bool) -> RowStream)
    case gone
  }
  private var content: Content
  private var knownStatistics: ChannelStatistics?

  /// A map in one piece.
  init(_ map: Tensor) {
    shape = map.shape
    content = .bands([map])
  }

  /// A map that is computed whenever it is read.
  ///
  /// - Parameter stream: Starts a pass; it is told whether nobody will ask for another one.
  init(shape: Shape, stream: @escaping (_ isLast: Bool) -> RowStream) {
    self.shape = shape
    content = .recipe(stream)
  }

  private init(shape: Shape, bands: [Tensor], statistics: ChannelStatistics?) {
    self.shape = shape
    content = .bands(bands)
    knownStatistics = statistics
  }

  /// Whether the map is in memory.
  var isKept: Bool {
    if case .bands = content { true } else { false }
  }

  /// A pass from the first row.
  ///
  /// - Parameter isLast: Whether the map isn't needed afterwards: then it is let go while it is read.
  func stream(isLast: Bool, _ context: ExecutionContext) -> RowStream {
    defer { if isLast { content = .gone } }
    switch content {
    case .bands(let bands): return RowStream(bands: bands, context)
    case .recipe(let start): return start(isLast)
    case .gone: preconditionFailure("a map was read after its last reader")
    }
  }

  /// The map in memory, computed if it's a recipe.
  ///
  /// - Parameters:
  ///   - isLast: Whether what the recipe reads may be let go.
  /// - Throws: `CancelledError`.
  func kept(isLast: Bool, _ memory: MapMemory, _ context: ExecutionContext) throws -> RowMap {
    if isKept { return self }
    let source = stream(isLast: isLast, context)
    return try Self.kept(shape, memory, context) { range in try source.take(range) }
  }

  /// A map in memory whose bands `rows` computes from top to bottom; its statistics are taken on the way.
  static func kept(
    _ shape: Shape, _ memory: MapMemory, _ context: ExecutionContext, rows: (Range<Int>) throws -> Tensor
  ) throws -> RowMap {
    var bands: [Tensor] = []
    var statistics: ChannelStatistics?
    for range in memory.bands(shape) {
      let band = try rows(range)
      statistics.join(context.kernels.channelStatistics(band))
      bands.append(band)
    }
    return RowMap(shape: shape, bands: bands, statistics: statistics)
  }

  /// A map in memory from its bands.
  convenience init(_ bands: [Tensor], shape: Shape) { self.init(shape: shape, bands: bands, statistics: nil) }

  /// Mean and spread of the channels.
  ///
  /// - Throws: `CancelledError`.
  func statistics(_ memory: MapMemory, _ context: ExecutionContext) throws -> ChannelStatistics {
    if let knownStatistics { return knownStatistics }
    var statistics: ChannelStatistics?
    if case .bands(let bands) = content {
      for band in bands { statistics.join(context.kernels.channelStatistics(band)) }
    } else {
      let source = stream(isLast: false, context)
      for range in memory.bands(shape) { statistics.join(context.kernels.channelStatistics(try source.take(range))) }
    }
    guard let statistics else { preconditionFailure("a map without rows") }
    knownStatistics = statistics
    return statistics
  }

  /// The map in one piece; it can still be read.
  ///
  /// - Throws: `CancelledError`.
  func joined(_ context: ExecutionContext) throws -> Tensor {
    try stream(isLast: false, context).take(0..<shape[1])
  }
}

extension ChannelStatistics? {
  fileprivate mutating func join(_ other: ChannelStatistics) {
    if self == nil { self = other } else { self?.join(other) }
  }
}

extension ExecutionContext {
  /// Shows a map to the observer.
  ///
  /// - Throws: `CancelledError`.
  func observe(_ name: String, _ map: RowMap) throws {
    try cancellation.check()
    guard observeBlock != nil else { return }
    observe(name, try map.joined(self))
  }
}
