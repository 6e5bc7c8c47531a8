import Checkpoints
import Goldens
import KernelContract
import Kernels
import KernelsReference
import Tensors
import TestSupport
import Testing

/// The reference and every fast set that this CPU has against torch in double precision.
@Suite struct GoldenTests {
  static let sets: [any KernelSet] = [ReferenceKernels()] + FastSet.all.map(\.two)

  private struct Attributes: Decodable {
    var activation: Activation?
    var stride: Int?
    var left: Int?
    var right: Int?
    var top: Int?
    var bottom: Int?
    var groups: Int?
    var epsilon: Float?
    var heads: Int?
    var keyValueHeads: Int?
    var scale: Float?
    var causalOffset: Int?
  }

  @Test(arguments: try Fixtures.cases(in: "kernels"))
  func golden(_ golden: GoldenCase) throws {
    let expected = try golden.tensor("output.y")
    for kernels in Self.sets {
      let actual = try #require(try result(of: golden, kernels), "\(golden.id): unknown op \(golden.op)")
      let mismatch = golden.tolerance.mismatch(actual: actual, expected: expected)
      #expect(mismatch == nil, "\(golden.id), \(kernels.name): \(mismatch ?? "")")
    }
  }

  @Test func everyOperatorHasGoldens() throws {
    let ops = Set(try Fixtures.cases(in: "kernels").map(\.op))
    #expect(
      ops == ["linear", "conv2d", "groupNorm", "layerNorm", "rmsNorm", "attention", "geglu", "activation", "upsample"])
  }

  private func result(of golden: GoldenCase, _ kernels: any KernelSet) throws -> Tensor? {
    let attributes: Attributes = try golden.attributes()
    let file = try golden.tensors()
    func optional(_ name: String) -> Tensor? { file.weight(named: name)?.float32() }
    switch golden.op {
    case "linear":
      let matrix = try #require(file.weight(named: "weight"))
      return kernels.linear(
        try golden.tensor("input.x"), weight: kernels.prepareLinear(matrix), bias: optional("bias"),
        activation: try #require(attributes.activation), residual: optional("input.residual"))
    case "conv2d":
      let kernel = try #require(file.weight(named: "weight"))
      let options = ConvOptions(
        stride: try #require(attributes.stride), top: try #require(attributes.top), bottom: try #require(attributes.bottom),
        left: try #require(attributes.left), right: try #require(attributes.right))
      return kernels.conv2d(
        try golden.tensor("input.x").channelsLast(), weight: kernels.prepareConv2d(kernel), options: options,
        bias: optional("bias"), imageBias: optional("input.image_bias"), residual: optional("input.residual")?.channelsLast()
      ).channelsFirst()
    case "groupNorm":
      return kernels.groupNorm(
        try golden.tensor("input.x").channelsLast(), groupCount: try #require(attributes.groups),
        weight: try golden.tensor("weight"), bias: try golden.tensor("bias"), epsilon: try #require(attributes.epsilon),
        activation: try #require(attributes.activation)
      ).channelsFirst()
    case "layerNorm":
      return kernels.layerNorm(
        try golden.tensor("input.x"), weight: try golden.tensor("weight"), bias: try golden.tensor("bias"),
        epsilon: try #require(attributes.epsilon))
    case "rmsNorm":
      return kernels.rmsNorm(
        try golden.tensor("input.x"), weight: try golden.tensor("weight"), epsilon: try #require(attributes.epsilon))
    case "attention":
      let options = AttentionOptions(
        headCount: try #require(attributes.heads), keyValueHeadCount: attributes.keyValueHeads,
        scale: try #require(attributes.scale), causalOffset: attributes.causalOffset)
      return kernels.attention(
        query: try golden.tensor("input.query"), key: try golden.tensor("input.key"), value: try golden.tensor("input.value"),
        options: options)
    case "geglu": return kernels.geglu(try golden.tensor("input.x"))
    case "activation": return kernels.activate(try golden.tensor("input.x"), try #require(attributes.activation))
    case "upsample": return kernels.upsampleNearest2x(try golden.tensor("input.x").channelsLast()).channelsFirst()
    default: return nil
    }
  }
}
