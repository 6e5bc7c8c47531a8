import Synchronization

/// Adds up the bytes of all files, and tells now and then how far it is; the share that's done never goes back.
final class ProgressMeter: Sendable {
  private struct State {
    var done: [Int]
    var totals: [Int?]
    var current = 0
    var stage = DownloadProgress.Stage.downloading
    var extracted = 0.0
    var fraction = 0.0
    var toldBytes = -1
    var toldFraction = -1.0
  }

  private let names: [String]
  /// The part of the work that transfer is; unpacking and installing are the rest.
  private let transferShare: Double
  private let state: Mutex<State>
  private let tell: @Sendable (DownloadProgress) -> Void

  init(files: [ModelFileDescriptor], isArchive: Bool, tell: @escaping @Sendable (DownloadProgress) -> Void) {
    names = files.map(\.filename)
    transferShare = isArchive ? 0.9 : 0.99
    self.tell = tell
    state = Mutex(State(done: Array(repeating: 0, count: files.count), totals: files.map(\.sizeBytes)))
  }

  /// Says what a file's size is.
  func setTotal(_ total: Int?, file: Int) { state.withLock { if let total { $0.totals[file] = total } } }

  /// Says that a file isn't there, which is allowed.
  func skip(_ file: Int) { state.withLock { ($0.done[file], $0.totals[file]) = (0, 0) } }

  /// Says how much of a file is here.
  func update(file: Int, done: Int, total: Int?) {
    report { state in
      state.current = file
      state.done[file] = done
      if let total { state.totals[file] = total }
      return state.toldBytes < 0 || done == total
    }
  }

  /// Says how much of the archive is unpacked, 0...1.
  func extracting(_ share: Double) {
    report { state in
      let isNew = state.stage != .extracting
      state.stage = .extracting
      state.extracted = share
      return isNew
    }
  }

  /// Says that all of it is done.
  func finish() {
    report { state in
      state.stage = .installing
      state.extracted = 1
      return true
    }
  }

  /// Known sizes of files, as far as they're missing here; nil when one isn't known.
  var missingBytes: Int? {
    state.withLock { state in
      var sum = 0
      for (done, total) in zip(state.done, state.totals) {
        guard let total else { return nil }
        sum = sum.addingClamped(max(0, total.addingClamped(-done)))
      }
      return sum
    }
  }

  private func report(_ change: (inout State) -> Bool) {
    // Told within the lock, so that the order is right.
    state.withLock { state in
      let isImportant = change(&state)
      let bytes = state.done.reduce(0) { $0.addingClamped($1) }
      let total = state.totals.contains(nil) ? nil : state.totals.reduce(0) { $0.addingClamped($1 ?? 0) }
      let share = total.map { $0 > 0 ? min(1, Double(bytes) / Double($0)) : 1 } ?? 0
      var fraction = share * transferShare
      if state.stage == .extracting { fraction = transferShare + (0.99 - transferShare) * state.extracted }
      if state.stage == .installing { fraction = 1 }
      state.fraction = max(state.fraction, fraction)
      let stride = min(max((total ?? 0) / 400, 1 << 16), 1 << 20)
      guard
        isImportant || abs(bytes - state.toldBytes) >= stride
          || state.stage == .extracting && state.fraction - state.toldFraction >= 0.0025
      else { return }
      state.toldBytes = bytes
      state.toldFraction = state.fraction
      tell(
        DownloadProgress(
          stage: state.stage, bytesDone: bytes, bytesTotal: total, file: names[state.current], fileIndex: state.current + 1,
          fileCount: names.count, fraction: state.fraction))
    }
  }
}
