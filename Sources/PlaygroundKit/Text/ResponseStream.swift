import Synchronization

extension LanguageModelSession {
  /// An answer that grows: each element is the whole text so far.
  public struct ResponseStream: AsyncSequence, Sendable {
    /// The answer so far.
    public struct Snapshot: Sendable, Hashable {
      /// The text.
      public let content: String
    }

    let session: LanguageModelSession
    let prompt: String
    let options: GenerationOptions

    /// Begins the answer.
    public func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

    /// Waits for the end and gives the whole answer.
    ///
    /// - Throws: As ``LanguageModelSession/respond(to:options:)``.
    public func collect() async throws -> Response<String> { try await session.respond(to: prompt, options: options) }

    /// Gives the answer bit by bit.
    public struct Iterator: AsyncIteratorProtocol {
      private let stream: ResponseStream
      private var base: AsyncThrowingStream<String, any Error>.AsyncIterator?

      init(stream: ResponseStream) { self.stream = stream }

      /// The answer so far; nil after its end.
      ///
      /// - Throws: As ``LanguageModelSession/respond(to:options:)``.
      public mutating func next() async throws -> Snapshot? { try await next(isolation: nil) }

      /// The answer so far; nil after its end.
      ///
      /// - Throws: As ``LanguageModelSession/respond(to:options:)``.
      public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Snapshot? {
        if base == nil { base = stream.start().makeAsyncIterator() }
        return try await base?.next(isolation: actor).map(Snapshot.init)
      }
    }

    /// Only the newest snapshot is kept for a slow reader: it holds all that came before.
    private func start() -> AsyncThrowingStream<String, any Error> {
      AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
        let task = Task {
          let told = Mutex("")
          do {
            let response = try await session.answer(to: prompt, options: options) { text in
              told.withLock { $0 = text }
              continuation.yield(text)
            }
            // The end may be shorter by white space, or longer by a last character.
            if told.withLock({ $0 }) != response.content { continuation.yield(response.content) }
            continuation.finish()
          } catch {
            continuation.finish(throwing: error)
          }
        }
        continuation.onTermination = { reason in if case .cancelled = reason { task.cancel() } }
      }
    }
  }
}
