public import GenBackend

/// What reports metrics: the harness whose numbers are judged by the group X.
public protocol MetricsImplementation: Sendable {
  /// The sample standard deviation; nil for fewer than two values.
  func sampleDeviation(_ values: [Double]) -> Double?
  /// Adds up the events of a request by stage, which ran from `startNs` to `endNs`.
  func budget(of events: [GenerationEvent], startNs: UInt64, endNs: UInt64) -> StageBudget
  /// Loads the model and makes so many counted images after so many warm-ups, as a benchmark does.
  func measure(_ backend: any GenBackend, path: String, warmups: Int, images: Int) async throws -> Measured
}

/// What reports metrics, and the engines that it's given to measure.
public struct MetricsUnderTest: Sendable {
  /// What reports them.
  public var implementation: any MetricsImplementation
  /// Makes an engine of little images in real time.
  ///
  /// - Parameters:
  ///   - failure: The request, from 1, that fails, and how.
  ///   - holdingBytes: Memory that is held during each request, and freed before it ends.
  public var makeEngine: @Sendable (_ failure: (request: Int, error: BackendError)?, _ holdingBytes: Int) -> any MeasurableEngine
  /// Makes them.
  public init(
    _ implementation: any MetricsImplementation,
    makeEngine: @escaping @Sendable (_ failure: (request: Int, error: BackendError)?, _ holdingBytes: Int) -> any MeasurableEngine
  ) {
    self.implementation = implementation
    self.makeEngine = makeEngine
  }
}

/// An engine to measure.
public protocol MeasurableEngine: GenBackend {
  /// The path that it loads.
  var path: String { get }
  /// Requests for images so far.
  var requestCount: Int { get }
}

/// The time of a request by stage.
public struct StageBudget: Sendable, Hashable {
  /// Nanoseconds by top-level stage.
  public var stagesNs: [String: UInt64]
  /// The whole request.
  public var totalNs: UInt64
  /// Makes a budget.
  public init(stagesNs: [String: UInt64], totalNs: UInt64) {
    self.stagesNs = stagesNs
    self.totalNs = totalNs
  }
}

/// What a benchmark says of its requests.
public struct Measured: Sendable, Hashable {
  /// The first load, apart from the images; nil when it isn't told.
  public var loadNs: UInt64?
  /// Warm-up requests that aren't counted.
  public var warmups: Int
  /// Requests that are counted as successes.
  public var counted: Int
  /// The mean of the counted requests.
  public var meanNs: Double?
  /// Whether it says that a request failed or was cancelled.
  public var saysFailed: Bool
  /// The largest memory that it saw, in bytes.
  public var peakBytes: UInt64?
  /// The memory before, in bytes.
  public var baselineBytes: UInt64?
  /// Makes a record.
  public init(
    loadNs: UInt64?, warmups: Int, counted: Int, meanNs: Double?, saysFailed: Bool, peakBytes: UInt64? = nil,
    baselineBytes: UInt64? = nil
  ) {
    self.loadNs = loadNs
    self.warmups = warmups
    self.counted = counted
    self.meanNs = meanNs
    self.saysFailed = saysFailed
    self.peakBytes = peakBytes
    self.baselineBytes = baselineBytes
  }
}
