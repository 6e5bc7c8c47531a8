/// How far a download is.
public struct DownloadProgress: Sendable, Hashable {
  /// The part of the work.
  public enum Stage: String, Sendable, Hashable, Codable, CaseIterable {
    case downloading, extracting, installing
  }

  /// What is being done.
  public var stage: Stage
  /// Bytes of all files that are here, those of earlier attempts included.
  public var bytesDone: Int
  /// Bytes of all files; nil when a server doesn't tell.
  public var bytesTotal: Int?
  /// The file in flight.
  public var file: String?
  /// Its number, from 1.
  public var fileIndex: Int
  /// The number of files.
  public var fileCount: Int
  /// All of the work, 0...1, never going back.
  public var fraction: Double

  /// Makes a progress.
  public init(
    stage: Stage, bytesDone: Int, bytesTotal: Int?, file: String?, fileIndex: Int, fileCount: Int, fraction: Double
  ) {
    self.stage = stage
    self.bytesDone = bytesDone
    self.bytesTotal = bytesTotal
    self.file = file
    self.fileIndex = fileIndex
    self.fileCount = fileCount
    self.fraction = fraction
  }
}

/// Something that happened during a download.
public struct DownloadEvent: Sendable, Hashable {
  /// What happened.
  public enum Kind: Sendable, Hashable {
    case started
    case progress(DownloadProgress)
    /// The connection failed and is tried again, for the n-th time in a row, after a wait.
    case retrying(attempt: Int, reason: RegistryError, delaySeconds: Double)
    /// Another process is at it.
    case waiting
    /// Something that a user should know.
    case note(String)
    /// Complete; the last event.
    case completed(ModelDescriptor)
    /// Over without a model; the last event.
    case failed(RegistryError)
    /// Cancelled; the last event.
    case cancelled
  }

  /// The same for all events of one download, and for no other.
  public let operation: String
  /// Counts from 0.
  public let sequence: Int
  /// What happened.
  public let kind: Kind

  /// Whether it's the last one.
  public var isTerminal: Bool {
    switch kind {
    case .completed, .failed, .cancelled: true
    default: false
    }
  }
}
