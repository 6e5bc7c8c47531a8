import Goldens
import KernelContract
import Kernels
import KernelsReference
import ReferenceNumerics
import TestSupport
import Testing

/// The reference and every fast set that this CPU has against torch in double precision.
@Suite struct GoldenTests {
  static let sets: [any KernelSet] = [ReferenceKernels()] + FastSet.all.map(\.two)

  @Test(arguments: try Fixtures.cases(in: "kernels"))
  func golden(_ golden: GoldenCase) throws {
    for kernels in Self.sets {
      let outputs = try #require(
        try KernelNumerics(kernels: kernels, golden: golden).outputs(), "\(golden.id): unknown op \(golden.op)")
      #expect(throws: Never.self, "\(golden.id), \(kernels.name)") { try golden.compare(outputs) }
    }
  }

  @Test func everyOperatorHasGoldens() throws {
    let ops = Set(try Fixtures.cases(in: "kernels").map(\.op))
    #expect(
      ops == ["linear", "conv2d", "groupNorm", "layerNorm", "rmsNorm", "attention", "geglu", "activation", "upsample"])
  }
}
