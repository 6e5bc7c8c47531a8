/// An implementation of the vision API that does what another one does, but for what is changed; mutants are made of it.
struct VisionForwarder: VisionImplementation {
  typealias Process =
    @Sendable (VisionSurface.Image, String, Int, VisionSurface.Options) async throws -> VisionSurface.Answer

  var capabilities: Set<VisionSurface.Capability>
  var loadNeedsDescriptor: Bool
  var onRegister: @Sendable (VisionSurface.Model) async throws -> Void
  var onDownload: @Sendable (String) async throws -> Void
  var onLoad: @Sendable (VisionSurface.Model) async throws -> Void
  var onIsLoaded: @Sendable () async -> Bool
  var onUnload: @Sendable () async throws -> Void
  var onProcess: Process
  var onWhole: @Sendable (VisionSurface.Image, String, Int) async throws -> String
  var onCancel: @Sendable () async -> Void
  var onFailure: @Sendable (any Error) -> Surface.Failure

  init(_ base: any VisionImplementation) {
    capabilities = base.capabilities
    loadNeedsDescriptor = base.loadNeedsDescriptor
    onRegister = { try await base.register($0) }
    onDownload = { try await base.download($0) }
    onLoad = { try await base.load($0) }
    onIsLoaded = { await base.isLoaded }
    onUnload = { try await base.unload() }
    onProcess = { try await base.process($0, prompt: $1, maxTokens: $2, options: $3) }
    onWhole = { try await base.wholeAnswer($0, prompt: $1, maxTokens: $2) }
    onCancel = { await base.cancel() }
    onFailure = { base.failure(of: $0) }
  }

  func register(_ model: VisionSurface.Model) async throws { try await onRegister(model) }
  func download(_ id: String) async throws { try await onDownload(id) }
  func load(_ model: VisionSurface.Model) async throws { try await onLoad(model) }
  var isLoaded: Bool { get async { await onIsLoaded() } }
  func unload() async throws { try await onUnload() }
  func process(_ image: VisionSurface.Image, prompt: String, maxTokens: Int, options: VisionSurface.Options) async throws
    -> VisionSurface.Answer
  { try await onProcess(image, prompt, maxTokens, options) }
  func wholeAnswer(_ image: VisionSurface.Image, prompt: String, maxTokens: Int) async throws -> String {
    try await onWhole(image, prompt, maxTokens)
  }
  func cancel() async { await onCancel() }
  func failure(of error: any Error) -> Surface.Failure {
    // Errors that a mutant made up are already translated.
    if let failure = error as? Surface.Failure { return failure }
    return onFailure(error)
  }

  // MARK: - Changes

  /// Changes the image before the call.
  func mappingImage(_ change: @escaping @Sendable (VisionSurface.Image) -> VisionSurface.Image) -> Self {
    var copy = self
    let (process, whole) = (onProcess, onWhole)
    copy.onProcess = { try await process(change($0), $1, $2, $3) }
    copy.onWhole = { try await whole(change($0), $1, $2) }
    return copy
  }

  /// Changes the answer.
  func mappingAnswer(_ change: @escaping @Sendable (VisionSurface.Answer) -> VisionSurface.Answer) -> Self {
    var copy = self
    let process = onProcess
    copy.onProcess = { change(try await process($0, $1, $2, $3)) }
    return copy
  }

  /// Changes the metrics.
  func mappingMetrics(_ change: @escaping @Sendable (inout VisionSurface.Metrics) -> Void) -> Self {
    mappingAnswer { answer in
      VisionSurface.Answer(stream: answer.stream) {
        var metrics = await answer.metrics()
        metrics.map { known in
          var changed = known
          change(&changed)
          metrics = changed
        }
        return metrics
      }
    }
  }

  /// Changes the pieces as they come, all that are known at once.
  func mappingPieces(_ change: @escaping @Sendable (String, Int) -> [String]) -> Self {
    mappingAnswer { answer in
      VisionSurface.Answer(stream: PieceMap(base: answer.stream, change: change), metrics: answer.metrics)
    }
  }
}

/// A stream whose pieces are changed on the way, with nothing in between that would keep it alive.
struct PieceMap: AsyncSequence, Sendable {
  let base: any AsyncSequence<String, any Error> & Sendable
  let change: @Sendable (String, Int) -> [String]
  /// Whether an error becomes an ordinary end.
  var swallowsErrors: @Sendable (any Error) -> Bool = { _ in false }

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: any AsyncIteratorProtocol<String, any Error>
    let map: PieceMap
    var waiting: [String] = []
    var count = 0

    mutating func next() async throws -> String? {
      while waiting.isEmpty {
        do {
          guard let piece = try await base.next(isolation: nil) else { return nil }
          waiting = map.change(piece, count)
        } catch {
          if map.swallowsErrors(error) { return nil }
          throw error
        }
        count += 1
      }
      return waiting.removeFirst()
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeAsyncIterator(), map: self) }
}
