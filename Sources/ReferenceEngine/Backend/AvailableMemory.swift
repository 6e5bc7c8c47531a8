import Foundation
import Tensors

/// What the system can still give this process.
enum AvailableMemory {
  /// Bytes that can be allocated without swapping; nil when the system doesn't tell.
  ///
  /// Linux: `MemAvailable`, or what the tightest control group leaves when that's less.
  static func bytes(root: String = "/") -> Int? {
    let fromSystem = text(root + "proc/meminfo").flatMap { text in
      text.split(separator: "\n").first { $0.hasPrefix("MemAvailable:") }?
        .split(separator: " ").dropFirst().first.flatMap { UInt64($0) }.map { Int(clamping: $0.multipliedClamped(by: 1024)) }
    }
    let fromGroup = ProcessLimits { text(root + $0) }.memoryLeftBytes.map { Int(clamping: $0) }
    return [fromSystem, fromGroup].compactMap { $0 }.min()
  }

  private static func text(_ path: String) -> String? {
    FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
  }
}

extension UInt64 {
  fileprivate func multipliedClamped(by factor: UInt64) -> UInt64 {
    let (product, overflow) = multipliedReportingOverflow(by: factor)
    return overflow ? .max : product
  }
}
