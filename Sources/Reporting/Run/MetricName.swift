public import GenBackend

/// The name of a measured quantity as files have it: `e2e_ns`, `text_encode_ns`, `step_unet_ns`.
public struct MetricName: RawRepresentable, Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  /// The name in files.
  public let rawValue: String
  /// Takes a name from a file or a command line; engines have stages, and thereby quantities, of their own.
  public init(rawValue: String) { self.rawValue = rawValue }
  /// The name in files.
  public var description: String { rawValue }

  /// By the names' text.
  public static func < (a: MetricName, b: MetricName) -> Bool { a.rawValue < b.rawValue }

  /// The first load in a fresh process.
  public static let loadCold = MetricName(rawValue: "load_cold_ns")
  /// A load in a process that had the files already.
  public static let loadWarm = MetricName(rawValue: "load_warm_ns")
  /// From a cancellation to the return.
  public static let cancel = MetricName(rawValue: "cancel_ns")
  /// The whole request.
  public static let endToEnd = MetricName(rawValue: "e2e_ns")
  /// Images over the time of their request.
  public static let imagesPerSecond = MetricName(rawValue: "images_per_s")
  /// The first denoising step of a request.
  public static let firstStep = MetricName(rawValue: "first_step_ns")
  /// A denoising step.
  public static let step = MetricName(rawValue: "step_ns")
  /// From the request to the first token.
  public static let timeToFirstToken = MetricName(rawValue: "ttft_ns")
  /// From a token to the next one.
  public static let token = MetricName(rawValue: "token_ns")
  /// Prompt tokens over the time of the prefill.
  public static let prefillRate = MetricName(rawValue: "prefill_tokens_per_s")
  /// Tokens after the first over the time after the first.
  public static let decodeRate = MetricName(rawValue: "decode_tokens_per_s")
  /// The part of a request that is in no stage.
  public static let unaccounted = MetricName(rawValue: "unaccounted_ns")
  /// Between two requests.
  public static let idle = MetricName(rawValue: "idle_ns")
  /// What the harness itself costs a request.
  public static let harnessOverhead = MetricName(rawValue: "harness_overhead_ns")
  /// The largest resident set.
  public static let peakResident = MetricName(rawValue: "peak_rss_bytes")
  /// The largest resident set above the one before the load.
  public static let peakResidentGrowth = MetricName(rawValue: "peak_rss_growth_bytes")

  /// The time of a stage of a request.
  public static func stage(_ stage: Stage) -> MetricName { MetricName(rawValue: "\(stage)_ns") }
  /// The time of a stage within a denoising step.
  public static func stepPart(_ stage: Stage) -> MetricName { MetricName(rawValue: "step_\(stage)_ns") }
}

/// The unit of a quantity.
public enum MetricUnit: String, Sendable, Hashable, Codable, CaseIterable {
  case nanoseconds = "ns"
  case bytes
  case perSecond = "1/s"

  /// A value with a unit that people read; `-` for none.
  public func text(_ value: Double?) -> String {
    guard let value else { return "-" }
    return switch self {
    case .nanoseconds: Units.duration(ns: value)
    case .bytes: Units.bytes(value)
    case .perSecond: Units.significant(value) + "/s"
    }
  }

  /// What a value is divided by in figures.
  var figureScale: Double {
    switch self {
    case .nanoseconds: 1e6
    case .bytes: 1_048_576
    case .perSecond: 1
    }
  }

  /// The unit in figures.
  var figureLabel: String {
    switch self {
    case .nanoseconds: "ms"
    case .bytes: "MiB"
    case .perSecond: "a second"
    }
  }
}
