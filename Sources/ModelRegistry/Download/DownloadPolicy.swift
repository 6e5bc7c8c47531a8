public import Foundation

/// How patient a download is, and what it may take.
public struct DownloadPolicy: Sendable {
  /// Attempts after the first one that may fail in a row without a new byte.
  public var retries: Int
  /// The wait before the first of them, in seconds; each further one waits twice as long.
  public var retryDelay: Double
  /// The longest wait, in seconds, also of what a server asks for.
  public var longestDelay: Double
  /// Seconds without a byte after which a connection counts as broken.
  public var idleTimeout: Double
  /// What must be free beyond the size itself, as a share of it.
  public var spaceMargin: Double
  /// Whether files are known to be on the disk before a model counts as downloaded; false is quicker.
  public var waitsForDisk: Bool
  /// Waits so many seconds; tests don't.
  public var wait: @Sendable (Double) async throws -> Void
  /// Bytes free at a place; nil when that isn't known.
  public var freeBytes: @Sendable (URL) -> Int?

  /// Makes a policy: 3 retries from 2 seconds on, 300 seconds of silence, a tenth of space to spare.
  public init(
    retries: Int = 3, retryDelay: Double = 2, longestDelay: Double = 60, idleTimeout: Double = 300, spaceMargin: Double = 0.1,
    waitsForDisk: Bool = true,
    wait: @escaping @Sendable (Double) async throws -> Void = { try await Task.sleep(for: .seconds($0)) },
    freeBytes: (@Sendable (URL) -> Int?)? = nil
  ) {
    self.retries = retries
    self.retryDelay = retryDelay
    self.longestDelay = longestDelay
    self.idleTimeout = idleTimeout
    self.spaceMargin = spaceMargin
    self.waitsForDisk = waitsForDisk
    self.wait = wait
    self.freeBytes = freeBytes ?? { FileTree.freeBytes(at: $0) }
  }

  /// The wait before a retry, counted from 1.
  func delay(retry: Int, serverAsksFor seconds: Double? = nil) -> Double {
    let own = retryDelay * Double(UInt64(1) << UInt64(min(max(retry, 1) - 1, 30)))
    return min(max(own, seconds ?? 0), longestDelay)
  }
}

/// Whether a disk has room for something.
public struct StorageCheck: Sendable, Hashable {
  /// What is needed: the size and its margin.
  public let requiredBytes: Int
  /// What is free.
  public let freeBytes: Int
  /// Whether it fits.
  public let isAvailable: Bool
  /// Whether it fits, but less than twice what is needed is free.
  public let isTight: Bool

  /// Compares; it fits when more is free than `bytes` with a share of `margin` on top.
  public init(bytes: Int, margin: Double = 0.1, freeBytes: Int) {
    let extra = (Double(max(bytes, 0)) * max(margin, 0)).rounded(.up)
    let (sum, overflow) = max(bytes, 0).addingReportingOverflow(extra < Double(Int.max) ? Int(extra) : .max)
    requiredBytes = overflow ? .max : sum
    self.freeBytes = freeBytes
    isAvailable = freeBytes > requiredBytes
    isTight = freeBytes > requiredBytes && Double(freeBytes) < 2 * Double(requiredBytes)
  }
}
