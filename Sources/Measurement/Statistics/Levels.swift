extension Statistics {
  /// A stretch of a series with one level.
  public struct Level: Sendable, Hashable {
    /// The place of its first value.
    public var start: Int
    /// The place behind its last value.
    public var end: Int
    /// Its median.
    public var median: Double
  }

  /// Cuts a series where its level changes; a change counts when the values on both sides differ (Mann-Whitney, p < 0.01).
  ///
  /// - Parameters:
  ///   - values: The series in order.
  ///   - minimumSize: The least length of a level.
  public static func levels(_ values: [Double], minimumSize: Int = 4) -> [Level] {
    guard !values.isEmpty else { return [] }
    var places = [0]
    if let penalty = ChangePoints.penalty(for: values) {
      let changes = ChangePoints.find(values, penalty: penalty, minimumSize: minimumSize)
      for (index, change) in changes.enumerated() {
        let next = index + 1 < changes.count ? changes[index + 1] : values.count
        let before = Array(values[places[places.count - 1]..<change])
        let after = Array(values[change..<next])
        if let test = MannWhitney(before, after), test.pValue < 0.01 { places.append(change) }
      }
    }
    return places.indices.map { index in
      let end = index + 1 < places.count ? places[index + 1] : values.count
      return Level(start: places[index], end: end, median: median(Array(values[places[index]..<end])) ?? 0)
    }
  }
}
