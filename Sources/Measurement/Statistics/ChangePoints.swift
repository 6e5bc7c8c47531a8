import Foundation

/// Places in a series from which on its level is another one.
public enum ChangePoints {
  /// The starts of all segments but the first, for the segmentation with the least cost.
  ///
  /// The cost is the sum of squared distances from each segment's mean, plus `penalty` for each change. The segmentation is
  /// the best of all (Jackson and others 2005; pruned as in Killick, Fearnhead & Eckley 2012); equals
  /// `ruptures.Pelt(model="l2", jump=1)`.
  ///
  /// - Parameters:
  ///   - values: The series in order.
  ///   - penalty: What one change costs, in squared units of the values.
  ///   - minimumSize: The least length of a segment.
  public static func find(_ values: [Double], penalty: Double, minimumSize: Int = 2) -> [Int] {
    let count = values.count
    guard minimumSize >= 1, count >= 2 * minimumSize, !values.contains(where: { !$0.isFinite }) else { return [] }
    // Shifted to their mean, so that differences of squares keep their digits.
    let mean = values.reduce(0, +) / Double(count)
    var sums = [0.0]
    var squares = [0.0]
    for value in values {
      sums.append(sums[sums.count - 1] + (value - mean))
      squares.append(squares[squares.count - 1] + (value - mean) * (value - mean))
    }
    func cost(_ start: Int, _ end: Int) -> Double {
      let sum = sums[end] - sums[start]
      return max(0, squares[end] - squares[start] - sum * sum / Double(end - start))
    }
    var best = [Double](repeating: .infinity, count: count + 1)
    var previous = [Int](repeating: 0, count: count + 1)
    best[0] = -penalty
    for end in minimumSize...count {
      for start in 0...(end - minimumSize) where best[start].isFinite {
        let total = best[start] + cost(start, end) + penalty
        if total < best[end] {
          best[end] = total
          previous[end] = start
        }
      }
    }
    var changes: [Int] = []
    var end = previous[count]
    while end > 0 {
      changes.append(end)
      end = previous[end]
    }
    return changes.reversed()
  }

  /// A penalty that fits the series: `3 σ² ln n`, with σ from the median of neighbours' differences, which a level shift
  /// doesn't touch; nil with fewer than 4 values.
  public static func penalty(for values: [Double]) -> Double? {
    guard values.count >= 4 else { return nil }
    let steps = zip(values.dropFirst(), values).map { abs($0 - $1) }
    guard let median = Statistics.median(steps), let level = Statistics.median(values.map { abs($0) }) else { return nil }
    // Neighbours' differences have the deviation √2 σ; the median of |normal| is 0.6745. Equal values still differ by rounding.
    let sigma = max(median / 0.6745 / 2.0.squareRoot(), level * 1e-3)
    return 3 * sigma * sigma * log(Double(values.count))
  }
}
