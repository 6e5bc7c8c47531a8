#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// `log10` in double precision.
func log10Double(_ value: Double) -> Double { log10(value) }
