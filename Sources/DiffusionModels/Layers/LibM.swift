#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// `exp` in single precision, for the few places outside the kernels.
func exponential(_ value: Float) -> Float { Float(exp(Double(value))) }
