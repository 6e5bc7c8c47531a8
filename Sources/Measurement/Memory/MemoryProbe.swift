import Foundation
public import GenBackend

#if canImport(Darwin)
  import Darwin
#endif

/// Reads the memory of the processes that do an engine's work.
public struct MemoryProbe: Sendable {
  private let root: SystemRoot
  private let workPlace: @Sendable () -> WorkPlace
  private let group: ProcessGroupMemory

  /// Makes a probe of this process.
  public init(root: SystemRoot = SystemRoot()) { self.init(root: root) { .thisProcess } }

  /// Makes a probe of wherever the work is done at the moment of a reading.
  public init(root: SystemRoot = SystemRoot(), workPlace: @escaping @Sendable () -> WorkPlace) {
    self.root = root
    self.workPlace = workPlace
    group = ProcessGroupMemory(root: root)
  }

  /// The memory now: of this process, or of all processes of the engine's group together; nothing where that can't be told.
  ///
  /// Pages that processes of a group share count once for each of them.
  public func read() -> MemoryReading {
    switch workPlace() {
    case .thisProcess: readThisProcess()
    case .processGroup(let leader): group.read(leader)
    case .elsewhere: MemoryReading()
    }
  }

  private func readThisProcess() -> MemoryReading {
    #if canImport(Darwin)
      return Self.readTask()
    #else
      return MemoryReading(status: root.table("proc/self/status"))
    #endif
  }

  /// Lets the peak count from now on; false where the system can't.
  @discardableResult
  public func resetPeak() -> Bool {
    switch workPlace() {
    case .thisProcess: resetPeakOfThisProcess()
    case .processGroup(let leader): group.resetPeak(leader)
    case .elsewhere: false
    }
  }

  private func resetPeakOfThisProcess() -> Bool {
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
