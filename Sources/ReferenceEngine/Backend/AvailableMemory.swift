import Foundation

/// What the system can still give this process.
enum AvailableMemory {
  /// Bytes that can be allocated without swapping; nil when the system doesn't tell.
  ///
  /// Linux: `MemAvailable`, or what the control group leaves when that's less.
  static func bytes(root: String = "/") -> Int? {
    let fromSystem = (try? String(contentsOfFile: root + "proc/meminfo", encoding: .utf8)).flatMap { text in
      text.split(separator: "\n").first { $0.hasPrefix("MemAvailable:") }?
        .split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 << 10 }
    }
    let fromGroup = groupLimit(root: root)
    return [fromSystem, fromGroup].compactMap { $0 }.min()
  }

  private static func groupLimit(root: String) -> Int? {
    let places = [
      ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.current"),
      ("sys/fs/cgroup/memory/memory.limit_in_bytes", "sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ]
    for (limitFile, usageFile) in places {
      guard let limit = number(root + limitFile), let usage = number(root + usageFile), limit < 1 << 60 else { continue }
      return max(0, limit - usage)
    }
    return nil
  }

  private static func number(_ path: String) -> Int? {
    (try? String(contentsOfFile: path, encoding: .utf8)).flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
  }
}
