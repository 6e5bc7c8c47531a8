/// An answer that is being made.
public struct VLMStreamingResult: Sendable {
  /// The text, piece by piece; to be read once.
  public let stream: VLMTokenStream
  private let run: VLMRun

  init(run: VLMRun) {
    self.run = run
    stream = VLMTokenStream(run: run)
  }

  /// How it was made; waits for the end, however that comes.
  public var metrics: VLMMetrics {
    get async {
      // The stream goes on while somebody waits for its end.
      defer { withExtendedLifetime(stream) {} }
      return await run.metrics()
    }
  }
}

/// The text of an answer, piece by piece, in order: nothing is handed over before it's asked for.
///
/// A piece is what one token adds in whole characters, so there are never more pieces than tokens. Leaving the loop early,
/// or letting go of the result, stops the engine; so does cancelling the task that reads, which then gets `cancelled`.
public struct VLMTokenStream: AsyncSequence, Sendable {
  /// A piece of text.
  public typealias Element = String

  /// Stops the engine when nobody can read any more.
  fileprivate final class Reader: Sendable {
    let run: VLMRun
    init(_ run: VLMRun) { self.run = run }
    deinit { run.cancel() }
  }

  fileprivate let reader: Reader

  init(run: VLMRun) { reader = Reader(run) }

  /// Hands the pieces over.
  public struct AsyncIterator: AsyncIteratorProtocol {
    /// Ends with the iterator, as no other one may follow.
    private final class Place {
      let run: VLMRun
      init(_ run: VLMRun) { self.run = run }
      deinit { run.cancel() }
    }

    private let reader: VLMTokenStream.Reader
    private let place: Place?

    fileprivate init(_ reader: VLMTokenStream.Reader) {
      self.reader = reader
      place = reader.run.takeIterator() ? Place(reader.run) : nil
    }

    /// The next piece; nil at the end.
    ///
    /// - Throws: ``SDKError``: `cancelled`, `processingFailed`, `invalidInput` for a second reader.
    public mutating func next() async throws -> String? {
      guard let place else { throw SDKError(.invalidInput, "the stream is read already; ask for a new answer") }
      return try await place.run.next()
    }
  }

  /// Starts to read.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader) }
}
