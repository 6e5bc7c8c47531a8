import Conformance

extension VisionImplementation {
  /// Changes the image before the call.
  func mappingImage(_ change: @escaping @Sendable (VisionSurface.Image) -> VisionSurface.Image) -> Self {
    var copy = self
    let (process, whole) = (process, wholeAnswer)
    copy.process = { try await process(change($0), $1, $2, $3) }
    copy.wholeAnswer = { try await whole(change($0), $1, $2) }
    return copy
  }

  /// Changes the answer.
  func mappingAnswer(_ change: @escaping @Sendable (VisionSurface.Answer) -> VisionSurface.Answer) -> Self {
    var copy = self
    let process = process
    copy.process = { change(try await process($0, $1, $2, $3)) }
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
