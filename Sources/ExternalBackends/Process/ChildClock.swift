/// How the monotonic clock of a child relates to ours.
struct ChildClock: Sendable, Hashable {
  /// What the child's clock is ahead of ours.
  private(set) var offsetNs: Int64 = 0
  /// How far off that can be: half of the shortest round trip.
  private(set) var uncertaintyNs: UInt64 = .max

  /// Takes the answer of one question: of all, the quickest round trip counts.
  ///
  /// Clocks that may be the same are taken as the same: on one machine they are.
  mutating func take(childNs: UInt64, sentNs: UInt64, receivedNs: UInt64) {
    let half = (receivedNs - min(sentNs, receivedNs)) / 2
    guard half < uncertaintyNs else { return }
    uncertaintyNs = half
    let offset = Int64(bitPattern: childNs &- (sentNs &+ half))
    offsetNs = offset.magnitude <= half ? 0 : offset
  }

  /// A time of the child's by our clock, within the request; nil when it's more than a second outside.
  func ours(_ childNs: UInt64, startNs: UInt64, nowNs: UInt64) -> UInt64? {
    let time = childNs &- UInt64(bitPattern: offsetNs)
    let tolerance = 1_000_000_000 + Int64(clamping: min(uncertaintyNs, 1 << 62))
    guard Int64(bitPattern: time &- startNs) >= -tolerance, Int64(bitPattern: nowNs &- time) >= -tolerance else { return nil }
    return min(max(time, startNs), nowNs)
  }
}
