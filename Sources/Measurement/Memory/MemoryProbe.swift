import Foundation

#if canImport(Darwin)
  import Darwin
#endif

/// Reads the memory of this process.
public struct MemoryProbe: Sendable {
  private let root: SystemRoot

  /// Makes a probe.
  public init(root: SystemRoot = SystemRoot()) { self.root = root }

  /// The memory now.
  public func read() -> MemoryReading {
    #if canImport(Darwin)
      return Self.readTask()
    #else
      // `status` is cheap; `smaps_rollup` walks every page, which takes tens of milliseconds with gigabytes mapped.
      let status = root.table("proc/self/status")
      var mapped = SystemRoot.bytes(kilobytes: status["RssFile"])
      if let file = mapped, let shared = SystemRoot.bytes(kilobytes: status["RssShmem"]) { mapped = file + shared }
      return MemoryReading(
        residentBytes: SystemRoot.bytes(kilobytes: status["VmRSS"]),
        anonymousBytes: SystemRoot.bytes(kilobytes: status["RssAnon"]), mappedBytes: mapped,
        peakResidentBytes: SystemRoot.bytes(kilobytes: status["VmHWM"]))
    #endif
  }

  /// Lets the peak count from now on; false where the system can't.
  @discardableResult
  public func resetPeak() -> Bool {
    #if canImport(Darwin)
      return false
    #else
      guard let file = FileHandle(forWritingAtPath: root.path + "/proc/self/clear_refs") else { return false }
      defer { try? file.close() }
      do {
        try file.write(contentsOf: Data("5".utf8))
        return true
      } catch {
        return false
      }
    #endif
  }

  #if canImport(Darwin)
    private static func readTask() -> MemoryReading {
      var info = task_vm_info_data_t()
      var count = mach_msg_type_number_t(MemoryLayout<task_vm_info_data_t>.size / MemoryLayout<integer_t>.size)
      let result = withUnsafeMutablePointer(to: &info) { pointer in
        pointer.withMemoryRebound(to: integer_t.self, capacity: Int(count)) {
          task_info(mach_task_self_, task_flavor_t(TASK_VM_INFO), $0, &count)
        }
      }
      guard result == KERN_SUCCESS else { return MemoryReading() }
      return MemoryReading(
        residentBytes: info.resident_size, anonymousBytes: info.internal, mappedBytes: info.external,
        peakResidentBytes: info.resident_size_peak)
    }
  #endif
}
