import KernelContract
import Tensors

/// One pass over the rows of a map, from top to bottom: kept bands, or rows that are computed when they're asked for.
///
/// What lies above the rows asked for last is let go, but for the rows that the next window of a 3 × 3 convolution overlaps.
final class RowStream {
  /// Rows that two windows in a row may share.
  static let overlap = 2

  private let context: ExecutionContext
  /// Bands at hand, one below the other.
  private var bands: [Tensor]
  /// The first row at hand.
  private var first = 0
  /// The row below the last one at hand.
  private var end: Int
  private let compute: ((Range<Int>) throws -> Tensor)?

  /// Reads bands.
  init(bands: [Tensor], _ context: ExecutionContext) {
    self.context = context
    self.bands = bands
    end = bands.reduce(0) { $0 + $1.shape[1] }
    compute = nil
  }

  /// Computes rows; `compute` is called for ranges that follow on one another.
  init(_ context: ExecutionContext, compute: @escaping (Range<Int>) throws -> Tensor) {
    self.context = context
    bands = []
    end = 0
    self.compute = compute
  }

  /// Rows of the map, `[N, range.count, W, C]`.
  ///
  /// - Parameter range: Not above the range before, but for `overlap` rows.
  /// - Throws: `CancelledError`.
  func take(_ range: Range<Int>) throws -> Tensor {
    try context.cancellation.check()
    while let band = bands.first, first + band.shape[1] <= range.lowerBound {
      first += band.shape[1]
      bands.removeFirst()
    }
    if range.upperBound > end {
      guard let compute else { preconditionFailure("rows \(range) of a map of \(end) rows") }
      bands.append(try compute(end..<range.upperBound))
      end = range.upperBound
    }
    precondition(range.lowerBound >= first, "rows from \(range.lowerBound) were let go")
    // One band that is just what was asked for is handed out without a copy.
    let isWhole = bands.count == 1 && first == range.lowerBound && bands[0].shape[1] == range.count
    let rows =
      isWhole ? bands[0] : context.kernels.joinRows(bands, range: (range.lowerBound - first)..<(range.upperBound - first))
    if compute != nil, range.count > Self.overlap {
      bands = [context.kernels.joinRows([rows], range: (range.count - Self.overlap)..<range.count)]
      first = end - Self.overlap
    }
    return rows
  }
}
