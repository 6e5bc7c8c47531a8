import GenBackend
import Tensors

/// Tells the client when stages begin and end.
struct StageClock: Sendable {
  let control: GenerationControl

  func measure<Result>(_ stage: Stage, index: Int? = nil, _ body: () throws -> Result) rethrows -> Result {
    control.onEvent(.began(stage, index: index, timeNs: MonotonicTime.nanoseconds()))
    defer { control.onEvent(.ended(stage, index: index, timeNs: MonotonicTime.nanoseconds())) }
    return try body()
  }
}
