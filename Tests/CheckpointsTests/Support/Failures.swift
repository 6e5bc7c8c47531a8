import Checkpoints
import Testing

/// Runs `body`, which must throw a ``CheckpointError``, and gives the error; any other outcome is a test failure.
func failure(
  _ what: String = "", sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) -> CheckpointError? {
  do {
    try body()
    Issue.record("expected an error: \(what)", sourceLocation: sourceLocation)
  } catch let error as CheckpointError {
    return error
  } catch {
    Issue.record("expected a CheckpointError, found \(error): \(what)", sourceLocation: sourceLocation)
  }
  return nil
}

/// Expects a ``CheckpointError`` of a code whose message holds `text`.
func expectFailure(
  _ code: CheckpointError.Code, _ text: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) {
  guard let error = failure(text, sourceLocation: sourceLocation, body) else { return }
  #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
  #expect(error.description.contains(text), "\(error)", sourceLocation: sourceLocation)
}
