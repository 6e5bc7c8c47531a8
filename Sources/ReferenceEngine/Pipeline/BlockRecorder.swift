import Synchronization
import Tensors

/// Collects the outputs of blocks for a trace; of a block that runs often, each run under `name.i`.
final class BlockRecorder: Sendable {
  private struct State {
    var outputs: [String: Tensor] = [:]
    var runs: [String: Int] = [:]
  }
  private let state = Mutex(State())

  func record(_ name: String, _ output: Tensor) {
    state.withLock { state in
      let run = state.runs[name, default: 0]
      state.runs[name] = run + 1
      state.outputs["\(name).\(run)"] = output
    }
  }

  var outputs: [String: Tensor] { state.withLock(\.outputs) }
}
