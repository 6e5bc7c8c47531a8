#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The clock of all measurements: it never jumps and never runs backwards.
public enum MonotonicTime {
  /// Nanoseconds since an arbitrary start.
  public static func nanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
