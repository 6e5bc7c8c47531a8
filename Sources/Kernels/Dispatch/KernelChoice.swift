/// Which implementation of the operators to use.
public enum KernelChoice: String, Sendable, CaseIterable {
  /// Plain scalar loops with `Double` sums: the yardstick.
  case reference
  /// SIMD types and threads, compiled for several instruction sets.
  case fast
}

/// An instruction set that the fast kernels are compiled for.
public enum InstructionSet: String, Sendable, CaseIterable {
  /// What every CPU of the architecture has: SSE2 on x86-64, NEON on arm64.
  case baseline
  /// AVX2, FMA and F16C.
  case v3
  /// AVX-512 F, BW, CD, DQ and VL.
  case v4
  /// v4 with AVX-512 BF16 and VNNI: products of bfloat16 pairs and of bytes.
  case v4bf16 = "v4-bf16"
}

/// Why no kernel set could be made.
public struct KernelSelectionError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What was wrong.
  public enum Code: String, Sendable {
    /// The value isn't one of the known names.
    case unknownInstructionSet
    /// This CPU, or this build, doesn't have the instruction set.
    case unavailableInstructionSet
    /// The thread count is below 1.
    case invalidThreadCount
    /// A fault isn't written as one.
    case invalidFault
  }

  /// What was wrong.
  public let code: Code
  /// What was expected, what was found, and what to do.
  public let description: String
}
