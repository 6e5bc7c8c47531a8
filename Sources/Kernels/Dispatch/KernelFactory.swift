internal import CPUFeatures
internal import Foundation
public import KernelContract
internal import KernelsFastBaseline
internal import KernelsReference
internal import Tensors

#if arch(x86_64)
  internal import KernelsFastV3
  internal import KernelsFastV4
  internal import KernelsFastV4BF16
#endif

/// Makes the kernel sets, for the instruction set that this CPU has.
public enum KernelFactory {
  /// The environment variable that forces an instruction set: `baseline`, `v3`, `v4` or `v4-bf16`.
  public static let instructionSetVariable = "GENBENCH_ISA"

  /// The instruction sets that this build holds and this CPU runs, slowest first.
  public static var availableInstructionSets: [InstructionSet] {
    #if arch(x86_64)
      let features = genbench_detect_cpu_features()
      return [.baseline] + (features.x86_64_v3 ? [.v3] : []) + (features.x86_64_v4 ? [.v4] : [])
        + (features.avx512_bf16 && features.avx512_vnni ? [.v4bf16] : [])
    #else
      return [.baseline]
    #endif
  }

  /// The number of processors that this process may use: no more than its affinity and its groups' quotas allow.
  public static var processorCount: Int {
    max(1, min(ProcessInfo.processInfo.activeProcessorCount, ProcessLimits.current().threadCount ?? .max))
  }

  /// Makes a kernel set.
  ///
  /// - Parameters:
  ///   - choice: Reference or fast.
  ///   - threads: Threads of the fast set; nil for one per processor.
  ///   - instructionSet: The set to use; nil for what `GENBENCH_ISA` says, or else the best that the CPU has.
  ///   - faults: Faults to put in; nil for what `GENBENCH_FAULT` says.
  /// - Throws: ``KernelSelectionError`` when the CPU doesn't have the asked instruction set or the count is below 1.
  public static func make(
    _ choice: KernelChoice, threads: Int? = nil, instructionSet: InstructionSet? = nil, faults: [KernelFault]? = nil
  ) throws(KernelSelectionError) -> any KernelSet {
    let threadCount = threads ?? processorCount
    guard threadCount >= 1 else {
      throw KernelSelectionError(
        code: .invalidThreadCount,
        description: "threads: expected at least 1, found \(threadCount); leave it out to use all processors")
    }
    var chosen = instructionSet
    if chosen == nil { chosen = try forcedInstructionSet(ProcessInfo.processInfo.environment[instructionSetVariable]) }
    let available = availableInstructionSets
    if let chosen, !available.contains(chosen) {
      throw KernelSelectionError(
        code: .unavailableInstructionSet,
        description: "instruction set: expected one of this CPU's (\(names(available))), found \(chosen.rawValue); "
          + "unset \(instructionSetVariable) to use the best one")
    }
    let kernels: any KernelSet =
      switch choice {
      case .reference: ReferenceKernels()
      case .fast: makeFast(chosen ?? available.last ?? .baseline, threads: threadCount)
      }
    var wanted = faults ?? []
    if faults == nil { wanted = try KernelFault.parse(ProcessInfo.processInfo.environment[KernelFault.variable] ?? "") }
    return wanted.isEmpty ? kernels : FaultyKernels(kernels, faults: wanted)
  }

  private static func makeFast(_ instructionSet: InstructionSet, threads: Int) -> any KernelSet {
    #if arch(x86_64)
      switch instructionSet {
      case .baseline: KernelsFastBaseline.FastKernels(threads: threads)
      case .v3: KernelsFastV3.FastKernels(threads: threads)
      case .v4: KernelsFastV4.FastKernels(threads: threads)
      case .v4bf16: KernelsFastV4BF16.FastKernels(threads: threads)
      }
    #else
      KernelsFastBaseline.FastKernels(threads: threads)
    #endif
  }

  /// What the environment variable asks for; nil when it's unset or empty.
  static func forcedInstructionSet(_ value: String?) throws(KernelSelectionError) -> InstructionSet? {
    guard let value, !value.isEmpty else { return nil }
    guard let instructionSet = InstructionSet(rawValue: value) else {
      throw KernelSelectionError(
        code: .unknownInstructionSet,
        description: "\(instructionSetVariable): expected one of \(names(InstructionSet.allCases)), found '\(value)'")
    }
    return instructionSet
  }

  private static func names(_ instructionSets: [InstructionSet]) -> String {
    instructionSets.map(\.rawValue).joined(separator: ", ")
  }
}
