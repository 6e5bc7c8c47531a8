/// Many tests at once.
public enum FalseDiscovery {
  /// P values adjusted so that rejecting those up to α keeps the expected share of false discoveries below α.
  ///
  /// Benjamini & Hochberg 1995; equals `scipy.stats.false_discovery_control`. The order is kept.
  public static func adjusted(_ pValues: [Double]) -> [Double] {
    let order = pValues.indices.sorted { pValues[$0] > pValues[$1] }
    var adjusted = pValues
    var least = 1.0
    for (place, index) in order.enumerated() {
      let rank = Double(pValues.count - place)
      least = min(least, pValues[index] * Double(pValues.count) / rank)
      adjusted[index] = least
    }
    return adjusted
  }
}
