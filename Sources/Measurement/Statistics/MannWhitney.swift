/// The Mann-Whitney U test of two independent samples, two-sided.
///
/// Mann & Whitney 1947. The exact test is a permutation test of the rank sum, so it holds with ties too; without ties it
/// equals `scipy.stats.mannwhitneyu(method="exact")`.
public struct MannWhitney: Sendable, Hashable {
  /// How the probability was found.
  public enum Method: String, Sendable, Hashable, Codable {
    /// All ways to deal the ranks, counted.
    case exact
    /// The normal approximation with corrections for ties and continuity; for large samples.
    case normal
  }

  /// U of the first sample: pairs in which the first is the larger one, ties counting one half.
  public let u: Double
  /// The probability of a rank sum at least as unusual, when both samples come from one distribution.
  public let pValue: Double
  /// How `pValue` was found.
  public let method: Method

  /// The largest product of sample sizes that is counted exactly.
  static let exactLimit = 2500

  /// Tests two samples; nil when one is empty or holds a NaN.
  ///
  /// - Complexity: O((n+m)² · n · m) time for the exact count.
  public init?(_ first: [Double], _ second: [Double]) {
    guard !first.isEmpty, !second.isEmpty, !(first + second).contains(where: \.isNaN) else { return nil }
    let ranks = Self.doubledRanks(first + second)
    let rankSum = ranks.prefix(first.count).reduce(0, +)
    let (n, m) = (first.count, second.count)
    u = Double(rankSum) / 2 - Double(n * (n + 1)) / 2
    if n * m <= Self.exactLimit {
      method = .exact
      pValue = Self.exact(ranks: ranks, count: n, rankSum: rankSum)
    } else {
      method = .normal
      pValue = Self.normal(u: u, n: n, m: m, ranks: ranks)
    }
  }

  /// The smallest probability that the exact test can give for samples of these sizes: both deals that separate them.
  public static func smallestPValue(_ n: Int, _ m: Int) -> Double {
    guard n > 0, m > 0 else { return 1 }
    var deals = 1.0
    for index in 1...min(n, m) { deals *= Double(max(n, m) + index) / Double(index) }
    return min(1, 2 / deals)
  }

  /// Twice the mid-rank of each value, which is a whole number.
  static func doubledRanks(_ values: [Double]) -> [Int] {
    let order = values.indices.sorted { values[$0] < values[$1] }
    var ranks = [Int](repeating: 0, count: values.count)
    var start = 0
    while start < order.count {
      var end = start
      while end + 1 < order.count, values[order[end + 1]] == values[order[start]] { end += 1 }
      // Ranks start+1 ... end+1, so twice their mean is start + end + 2.
      for place in start...end { ranks[order[place]] = start + end + 2 }
      start = end + 1
    }
    return ranks
  }

  /// Counts the subsets of `count` ranks by their sum.
  private static func exact(ranks: [Int], count: Int, rankSum: Int) -> Double {
    let total = ranks.reduce(0, +)
    // ways[k][s]: subsets of k of the ranks so far whose sum is s.
    var ways = [[Double]](repeating: [Double](repeating: 0, count: total + 1), count: count + 1)
    ways[0][0] = 1
    var reached = 0
    for (index, rank) in ranks.enumerated() {
      reached += rank
      for size in stride(from: min(count, index + 1), through: 1, by: -1) {
        ways[size - 1].withUnsafeBufferPointer { below in
          ways[size].withUnsafeMutableBufferPointer { row in
            var sum = reached
            while sum >= rank {
              row[sum] += below[sum - rank]
              sum -= 1
            }
          }
        }
      }
    }
    let row = ways[count]
    let all = row.reduce(0, +)
    let low = row[...rankSum].reduce(0, +)
    let high = row[rankSum...].reduce(0, +)
    return min(1, 2 * min(low, high) / all)
  }

  private static func normal(u: Double, n: Int, m: Int, ranks: [Int]) -> Double {
    let (n, m) = (Double(n), Double(m))
    let all = n + m
    var groups: [Int: Double] = [:]
    for rank in ranks { groups[rank, default: 0] += 1 }
    let ties = groups.values.reduce(0) { $0 + ($1 * $1 * $1 - $1) }
    let variance = n * m / 12 * ((all + 1) - ties / (all * (all - 1)))
    guard variance > 0 else { return 1 }
    let distance = max(u, n * m - u) - n * m / 2 - 0.5
    return min(1, 2 * NormalDistribution.upperTail(distance / variance.squareRoot()))
  }
}
