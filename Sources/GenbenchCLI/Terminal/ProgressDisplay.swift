import Synchronization
import Tensors

/// Shows how far the work is: a bar on a terminal, otherwise a plain line now and then.
final class ProgressDisplay: Sendable {
  private struct State {
    var startNs: UInt64
    var lastPlainNs: UInt64
    var lastBarNs: UInt64 = 0
    var total: Int
  }

  private let console: Console
  private let title: String
  private let plainIntervalNs: UInt64
  private let state: Mutex<State>

  /// - Parameters:
  ///   - total: Units of work.
  ///   - plainSeconds: How often a plain line is written at most.
  init(_ title: String, total: Int, console: Console, plainSeconds: Double = 10) {
    self.title = title
    self.console = console
    plainIntervalNs = UInt64(plainSeconds * 1e9)
    let now = MonotonicTime.nanoseconds()
    state = Mutex(State(startNs: now, lastPlainNs: now, total: max(total, 1)))
  }

  /// Says that `done` units are complete, of a new total if one is given.
  func update(done: Int, of newTotal: Int? = nil, detail: String = "") {
    let now = MonotonicTime.nanoseconds()
    let total = state.withLock { state -> Int in
      state.total = max(newTotal ?? state.total, 1)
      return state.total
    }
    let (showsBar, showsPlain, elapsed) = state.withLock { state -> (Bool, Bool, Double) in
      let elapsed = Double(now - state.startNs) / 1e9
      if console.style.isInteractive {
        // Ten times a second is enough for an eye.
        guard now - state.lastBarNs >= 100_000_000 || done == total else { return (false, false, elapsed) }
        state.lastBarNs = now
        return (true, false, elapsed)
      }
      guard now - state.lastPlainNs >= plainIntervalNs else { return (false, false, elapsed) }
      state.lastPlainNs = now
      return (false, true, elapsed)
    }
    if showsBar {
      console.showTransient(
        ProgressDisplay.bar(
          title: title, done: done, total: total, elapsed: elapsed, detail: detail, columns: console.style.columns))
    } else if showsPlain {
      console.say(
        "\(title): \(done) of \(total)\(detail.isEmpty ? "" : ", \(detail)")\(ProgressDisplay.remaining(done, total, elapsed))")
    }
  }

  /// Removes the bar.
  func finish() { console.clearTransient() }

  /// `sd15  [#####.....]  5/10  a cat  12 s left`.
  static func bar(title: String, done: Int, total: Int, elapsed: Double, detail: String, columns: Int) -> String {
    let fraction = min(1, Double(done) / Double(max(total, 1)))
    let width = max(8, min(30, columns / 4))
    let filled = Int(fraction * Double(width))
    let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
    var line = "\(title) [\(bar)] \(done)/\(total)\(remaining(done, total, elapsed))"
    if !detail.isEmpty { line += "  " + detail }
    return line.count < columns ? line : String(line.prefix(columns - 1))
  }

  private static func remaining(_ done: Int, _ total: Int, _ elapsed: Double) -> String {
    guard done > 0, done < total, elapsed > 1 else { return "" }
    let seconds = Int((elapsed / Double(done) * Double(total - done)).rounded(.up))
    return seconds < 100 ? ", \(seconds) s left" : ", \((seconds + 59) / 60) min left"
  }
}
