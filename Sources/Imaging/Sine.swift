#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The C library's sine, which Pillow's Lanczos uses too.
func sine(_ angle: Double) -> Double { sin(angle) }
