import KernelContract
import Testing

@testable import Kernels

@Suite struct KernelFactoryTests {
  @Test func theBestSetIsTheDefault() throws {
    let fast = try KernelFactory.make(.fast, threads: 2, instructionSet: KernelFactory.availableInstructionSets.last)
    #expect(fast.threadCount == 2)
    #expect(fast.name.hasPrefix("fast"))
    let reference = try KernelFactory.make(.reference)
    #expect(reference.name == "reference")
  }

  @Test func everyAvailableSetHasItsOwnName() throws {
    let names = try KernelFactory.availableInstructionSets.map {
      try KernelFactory.make(.fast, threads: 1, instructionSet: $0).name
    }
    #expect(Set(names).count == names.count)
  }

  @Test func baselineIsAlwaysThere() { #expect(KernelFactory.availableInstructionSets.first == .baseline) }

  @Test(arguments: [0, -1])
  func threadCountsBelowOneAreRefused(count: Int) {
    let error = #expect(throws: KernelSelectionError.self) { _ = try KernelFactory.make(.fast, threads: count) }
    #expect(error?.code == .invalidThreadCount)
    #expect(error?.description.contains("found \(count)") == true)
  }

  @Test(arguments: InstructionSet.allCases)
  func missingInstructionSetsAreRefused(instructionSet: InstructionSet) throws {
    if KernelFactory.availableInstructionSets.contains(instructionSet) {
      _ = try KernelFactory.make(.fast, threads: 1, instructionSet: instructionSet)
    } else {
      let error = #expect(throws: KernelSelectionError.self) {
        _ = try KernelFactory.make(.fast, threads: 1, instructionSet: instructionSet)
      }
      #expect(error?.code == .unavailableInstructionSet)
      #expect(error?.description.contains("GENBENCH_ISA") == true)
    }
  }

  @Test func theVariableIsParsed() throws {
    let parsed = try [nil, "", "v3"].map { try KernelFactory.forcedInstructionSet($0) }
    #expect(parsed == [nil, nil, .v3])
    for wrong in ["V3", "avx2", " v3", "5"] {
      let error = #expect(throws: KernelSelectionError.self) { try KernelFactory.forcedInstructionSet(wrong) }
      #expect(error?.code == .unknownInstructionSet)
      #expect(error?.description.contains("baseline, v3, v4") == true)
    }
  }
}
