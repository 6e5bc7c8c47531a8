import Foundation
import KernelContract
import Kernels
import Measurement
import Tensors

/// Finds out what this machine reaches when it does one simple thing: the roof of the roofline.
enum MachineProbe {
  /// Measures for about half a second; nil when the kernels can't be had.
  static func measure(threads: Int?) -> EnvironmentRecord.Probe? {
    guard let kernels = try? KernelFactory.make(.fast, threads: threads, faults: []) else { return nil }
    guard let peak = (kernels as? any PeakMeasurable)?.floatingPointPeak() else { return nil }
    return .init(gigaflopsF32: peak, memoryGigabytesPerSecond: copyRate(threads: kernels.threadCount))
  }

  /// Bytes read and written by a copy that is larger than the caches, in 1e9 a second; the best of some.
  private static func copyRate(threads: Int) -> Double {
    let bytes = 96 << 20
    let source = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 64)
    let target = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 64)
    defer {
      source.deallocate()
      target.deallocate()
    }
    memset(source, 1, bytes)
    memset(target, 2, bytes)
    let part = bytes / max(1, threads)
    let addresses = (UInt(bitPattern: source), UInt(bitPattern: target))
    var best = Double.infinity
    for _ in 0..<6 {
      let before = MonotonicTime.nanoseconds()
      DispatchQueue.concurrentPerform(iterations: max(1, threads)) { index in
        guard let from = UnsafeRawPointer(bitPattern: addresses.0), let to = UnsafeMutableRawPointer(bitPattern: addresses.1)
        else {
          return
        }
        memcpy(to + index * part, from + index * part, part)
      }
      best = min(best, Double(MonotonicTime.nanoseconds() - before))
    }
    return 2 * Double(part * max(1, threads)) / best
  }
}
