import Foundation
import Synchronization
import Tensors

/// Reads the memory of all processes of a group together.
final class ProcessGroupMemory: Sendable {
  private struct State {
    var leader: Int32?
    var members: [Int] = []
    var listedNs: UInt64 = 0
  }

  private let root: SystemRoot
  private let state = Mutex(State())

  init(root: SystemRoot) { self.root = root }

  /// The group's processes; `/proc` is gone through a few times a second alone, as that costs more than reading a few of them.
  private func members(_ leader: Int32) -> [Int] {
    let now = MonotonicTime.nanoseconds()
    return state.withLock { state in
      if state.leader != leader || now - min(state.listedNs, now) > 250_000_000 {
        state.leader = leader
        state.listedNs = now
        state.members = ((try? FileManager.default.contentsOfDirectory(atPath: root.path + "/proc")) ?? []).compactMap { Int($0) }
          .filter { isMember($0, of: leader) }.sorted()
      }
      return state.members
    }
  }

  /// Whether a process is of a group, by `/proc/N/stat`: number, name in parentheses, state, parent, group.
  private func isMember(_ process: Int, of leader: Int32) -> Bool {
    guard let text = root.text("proc/\(process)/stat"), let end = text.lastIndex(of: ")") else { return false }
    let fields = text[text.index(after: end)...].split(separator: " ")
    return fields.count > 2 && fields[2] == String(leader) && fields[0] != "Z"
  }

  /// The sums over the group; nil where no process could be read.
  ///
  /// The peak is one process's own, nil with several: their peaks needn't fall together.
  func read(_ leader: Int32) -> MemoryReading {
    let readings = members(leader).map { MemoryReading(status: root.table("proc/\($0)/status")) }.filter {
      $0.residentBytes != nil
    }
    func sum(_ part: (MemoryReading) -> UInt64?) -> UInt64? {
      let values = readings.compactMap(part)
      return values.isEmpty ? nil : values.reduce(0, +)
    }
    return MemoryReading(
      residentBytes: sum(\.residentBytes), anonymousBytes: sum(\.anonymousBytes), mappedBytes: sum(\.mappedBytes),
      peakResidentBytes: readings.count == 1 ? readings[0].peakResidentBytes : nil)
  }

  /// Lets the peak of a group's only process count from now on; false with several, and where the system can't.
  func resetPeak(_ leader: Int32) -> Bool {
    let members = members(leader)
    guard members.count == 1, let file = FileHandle(forWritingAtPath: root.path + "/proc/\(members[0])/clear_refs") else {
      return false
    }
    defer { try? file.close() }
    return (try? file.write(contentsOf: Data("5".utf8))) != nil
  }
}
