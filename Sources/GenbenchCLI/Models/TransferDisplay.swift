import ModelRegistry
import Reporting
import Synchronization
import Tensors

/// Shows a download: a bar with rate and time left on a terminal, otherwise a plain line now and then.
final class TransferDisplay: Sendable {
  private struct State {
    /// The last seconds, to tell the rate by: time and bytes.
    var samples: [(ns: UInt64, bytes: Int)] = []
    var lastShownNs: UInt64 = 0
  }

  private let title: String
  private let console: Console
  private let nowNs: @Sendable () -> UInt64
  private let state = Mutex(State())
  private static let windowNs: UInt64 = 5_000_000_000

  init(_ title: String, console: Console, clock: @escaping @Sendable () -> UInt64 = { MonotonicTime.nanoseconds() }) {
    self.title = title
    self.console = console
    nowNs = clock
  }

  func show(_ progress: DownloadProgress) {
    let now = nowNs()
    let interval: UInt64 = console.style.isInteractive ? 100_000_000 : 10_000_000_000
    let rate = state.withLock { state -> Double?? in
      state.samples.append((now, progress.bytesDone))
      while let first = state.samples.first, now - first.ns > Self.windowNs, state.samples.count > 2 {
        state.samples.removeFirst()
      }
      // The first plain line waits for its interval too: a quick download says nothing.
      if state.lastShownNs == 0, !console.style.isInteractive { state.lastShownNs = now }
      guard now - state.lastShownNs >= interval || (progress.fraction == 1 && console.style.isInteractive) else { return nil }
      state.lastShownNs = now
      return .some(Self.rate(state.samples))
    }
    guard let rate else { return }
    let line = Self.line(title, progress, rate: rate, columns: console.style.columns, hasBar: console.style.isInteractive)
    if console.style.isInteractive { console.showTransient(line) } else { console.say(line) }
  }

  func finish() { console.clearTransient() }

  /// Bytes a second; nil without two moments.
  static func rate(_ samples: [(ns: UInt64, bytes: Int)]) -> Double? {
    guard let first = samples.first, let last = samples.last, last.ns > first.ns, last.bytes >= first.bytes else { return nil }
    return Double(last.bytes - first.bytes) / (Double(last.ns - first.ns) / 1e9)
  }

  /// `sd15 [######....] 1.20 GiB of 2.55 GiB, 45.0 MiB/s, 31 s left  unet/… (9 of 15)`.
  static func line(_ title: String, _ progress: DownloadProgress, rate: Double?, columns: Int, hasBar: Bool) -> String {
    var line = title
    if hasBar {
      let width = max(8, min(30, columns / 4))
      let filled = Int(progress.fraction * Double(width))
      line += " [" + String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled) + "]"
    } else {
      line += ":"
    }
    switch progress.stage {
    case .downloading:
      line += " " + Units.bytes(Double(progress.bytesDone))
      if let total = progress.bytesTotal { line += " of " + Units.bytes(Double(total)) }
      if let rate, rate > 0 {
        line += ", " + Units.bytes(rate) + "/s"
        if let total = progress.bytesTotal, total > progress.bytesDone {
          let seconds = (Double(total - progress.bytesDone) / rate).rounded(.up)
          line +=
            seconds < 100
            ? ", \(Int(seconds)) s left"
            : seconds < 360_000 ? ", \(Int((seconds / 60).rounded(.up))) min left" : ", more than 100 h left"
        }
      }
      if progress.fileCount > 1, let file = progress.file { line += "  \(file) (\(progress.fileIndex) of \(progress.fileCount))" }
    case .extracting: line += " unpacking"
    case .installing: line += " installing"
    }
    return line.count < columns || !hasBar ? line : String(line.prefix(columns - 1))
  }
}
