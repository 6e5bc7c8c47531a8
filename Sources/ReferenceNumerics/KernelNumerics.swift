import Checkpoints
package import Goldens
package import KernelContract
import Tensors

/// One operator of a kernel set on the inputs of a golden case.
package struct KernelNumerics {
  private let kernels: any KernelSet
  private let golden: GoldenCase

  /// Takes a case of the area `kernels`.
  package init(kernels: any KernelSet, golden: GoldenCase) {
    self.kernels = kernels
    self.golden = golden
  }

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

  private func need<Value>(_ value: Value?, _ name: String) throws -> Value {
    guard let value else { throw GoldenMismatch(expected: "\(golden.id): the attribute or tensor \(name)", seen: "none") }
    return value
  }

  /// The result; nil for an operator that isn't known.
  package func outputs() throws -> [NumericOutput]? { try output().map { [NumericOutput("output.y", $0)] } }

  private func output() throws -> Tensor? {
    let attributes: Attributes = try golden.attributes()
    let file = try golden.tensors()
    func optional(_ name: String) -> Tensor? { file.weight(named: name)?.float32() }
    func input(_ name: String = "input.x") throws -> Tensor { try golden.tensor(name) }
    switch golden.op {
    case "linear":
      return kernels.linear(
        try input(), weight: kernels.prepareLinear(try need(file.weight(named: "weight"), "weight")), bias: optional("bias"),
        activation: try need(attributes.activation, "activation"), residual: optional("input.residual"))
    case "conv2d":
      let options = ConvOptions(
        stride: try need(attributes.stride, "stride"), top: try need(attributes.top, "top"),
        bottom: try need(attributes.bottom, "bottom"), left: try need(attributes.left, "left"),
        right: try need(attributes.right, "right"))
      return kernels.conv2d(
        try input().channelsLast(), weight: kernels.prepareConv2d(try need(file.weight(named: "weight"), "weight")),
        options: options, bias: optional("bias"), imageBias: optional("input.image_bias"),
        residual: optional("input.residual")?.channelsLast()
      ).channelsFirst()
    case "groupNorm":
      return kernels.groupNorm(
        try input().channelsLast(), groupCount: try need(attributes.groups, "groups"), weight: try input("weight"),
        bias: try input("bias"), epsilon: try need(attributes.epsilon, "epsilon"),
        activation: try need(attributes.activation, "activation")
      ).channelsFirst()
    case "layerNorm":
      return kernels.layerNorm(
        try input(), weight: try input("weight"), bias: try input("bias"), epsilon: try need(attributes.epsilon, "epsilon"))
    case "rmsNorm":
      return kernels.rmsNorm(try input(), weight: try input("weight"), epsilon: try need(attributes.epsilon, "epsilon"))
    case "attention":
      let options = AttentionOptions(
        headCount: try need(attributes.heads, "heads"), keyValueHeadCount: attributes.keyValueHeads,
        scale: try need(attributes.scale, "scale"), causalOffset: attributes.causalOffset)
      return kernels.attention(
        query: try input("input.query"), key: try input("input.key"), value: try input("input.value"), options: options)
    case "geglu": return kernels.geglu(try input())
    case "activation": return kernels.activate(try input(), try need(attributes.activation, "activation"))
    case "upsample": return kernels.upsampleNearest2x(try input().channelsLast()).channelsFirst()
    default: return nil
    }
  }
}
