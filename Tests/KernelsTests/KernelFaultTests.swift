import KernelContract
import Kernels
import Tensors
import Testing

@Suite struct KernelFaultTests {
  @Test(arguments: [
    ("slow:conv2d:2ms", KernelFault(.slow(nanoseconds: 2_000_000), in: .conv2d)),
    ("slow:Group_Norm:1.5us", KernelFault(.slow(nanoseconds: 1500), in: .groupnorm)),
    ("wrong:groupnorm", KernelFault(.wrong(factor: 1.02), in: .groupnorm)),
    ("wrong:linear:0.5", KernelFault(.wrong(factor: 0.5), in: .linear)),
    ("crash:attention:7", KernelFault(.crash(call: 7), in: .attention)), ("hang:add", KernelFault(.hang(call: 1), in: .add)),
  ]) func faultsAreRead(text: String, fault: KernelFault) throws {
    #expect(try KernelFault.parse(text) == [fault])
    #expect(try KernelFault.parse("\(text),slow:add:1ms").count == 2)
    #expect(try KernelFault.parse(fault.description) == [fault])
  }

  @Test(arguments: [
    "slow", "slow:conv2d", "slow:conv2d:2", "slow:conv2d:-2ms", "slow:nothing:2ms", "wrong:linear:x", "crash:linear:0",
    "late:linear", "a:b:c:d",
    "slow:conv2d:9999s",
  ]) func othersAreRefused(text: String) {
    let error = #expect(throws: KernelSelectionError.self) { try KernelFault.parse(text) }
    #expect(error?.code == .invalidFault && error?.description.contains("GENBENCH_FAULT") == true)
  }

  @Test func noneIsNone() throws { #expect(try KernelFault.parse("").isEmpty) }

  @Test func onlyTheNamedOperatorIsOff() throws {
    let plain = try KernelFactory.make(.fast, threads: 1, faults: [])
    let faulty = try KernelFactory.make(.fast, threads: 1, faults: [KernelFault(.wrong(factor: 1.5), in: .groupnorm)])
    #expect(faulty.name == plain.name + "+fault(wrong:groupnorm:1.5)" && !plain.name.contains("fault"))
    var random = TestRandomValues()
    let x = random.tensor([1, 3, 3, 8])
    let scale = random.tensor([8])
    func norm(_ kernels: any KernelSet) -> [Float] {
      kernels.groupNorm(x, groupCount: 4, weight: scale, bias: scale, epsilon: 1e-5, activation: .silu).elements
    }
    #expect(zip(norm(plain), norm(faulty)).allSatisfy { abs($0 * 1.5 - $1) <= 1e-6 })
    func others(_ kernels: any KernelSet) -> [[Float]] {
      let image = kernels.prepareConv2d(WeightView(name: "w", tensor: random.fixed([4, 8, 3, 3])))
      let matrix = kernels.prepareLinear(WeightView(name: "m", tensor: random.fixed([5, 8])))
      return [
        kernels.conv2d(x, weight: image, options: ConvOptions(padding: 1)).elements, kernels.linear(x, weight: matrix).elements,
        kernels.layerNorm(x, weight: scale, bias: scale, epsilon: 1e-5).elements,
        kernels.rmsNorm(x, weight: scale, epsilon: 1e-5).elements,
        kernels.attention(
          query: x.reshaped(to: [1, 9, 8]), key: x.reshaped(to: [1, 9, 8]), value: x.reshaped(to: [1, 9, 8]),
          options: AttentionOptions(headCount: 2, scale: 0.5)
        ).elements,
        kernels.geglu(x).elements, kernels.activate(x, .gelu).elements, kernels.add(x, x).elements,
        kernels.concatenateChannels([x, x]).elements, kernels.upsampleNearest2x(x).elements,
      ]
    }
    #expect(others(plain) == others(faulty))
  }

  @Test func joinedLinearLayersAreLinearLayers() throws {
    let plain = try KernelFactory.make(.fast, threads: 1, faults: [])
    let faulty = try KernelFactory.make(.fast, threads: 1, faults: [KernelFault(.wrong(factor: 2), in: .linear)])
    let x = Tensor([1, 2, 3, 4], shape: [1, 4])
    let weight = WeightView(name: "w", tensor: Tensor((0..<8).map { Float($0) }, shape: [2, 4]))
    func layer(_ kernels: any KernelSet) -> LinearParameters { LinearParameters(weight: kernels.prepareLinear(weight)) }
    let expected = plain.linears(x, [layer(plain), layer(plain)]).map(\.elements)
    #expect(faulty.linears(x, [layer(faulty), layer(faulty)]).map(\.elements) == expected.map { $0.map { $0 * 2 } })
    let gated = plain.gatedLinear(x, gate: layer(plain), up: layer(plain), activation: .silu).elements
    #expect(faulty.gatedLinear(x, gate: layer(faulty), up: layer(faulty), activation: .silu).elements == gated.map { $0 * 2 })
    if let other = plain.with(.bf16) { #expect(faulty.with(.bf16)?.name == other.name + "+fault(wrong:linear:2.0)") }
  }

  /// A convolution that normalises and enlarges has the faults of a norm and an enlargement.
  @Test(arguments: [KernelFault.Operator.groupnorm, .upsample, .conv2d, .activate])
  func fusedOperatorsHaveTheFaultsOfTheirParts(_ target: KernelFault.Operator) throws {
    var random = TestRandomValues()
    let x = random.tensor([1, 4, 5, 16])
    let ones = Tensor(repeating: 1, shape: [16])
    let weight = WeightView(name: "w", tensor: random.fixed([3, 16, 3, 3]))
    func run(_ faults: [KernelFault]) throws -> [Float] {
      let kernels = try KernelFactory.make(.fast, threads: 1, faults: faults)
      let factors = ChannelFactors(kernels.channelStatistics(x), groupCount: 4, weight: ones, bias: ones, epsilon: 1e-5)
      return kernels.conv2d(
        x, after: ConvInputStage(factors: factors, activation: .none, enlarges: true), weight: kernels.prepareConv2d(weight),
        options: ConvOptions(padding: 1), bias: nil, imageBias: nil, residual: nil
      ).elements
    }
    let plain = try run([])
    let factor: Float = target == .activate ? 1 : 1.5
    let faulty = try run([KernelFault(.wrong(factor: 1.5), in: target)])
    #expect(zip(plain, faulty).allSatisfy { abs($0 * factor - $1) <= 2e-5 })
  }

  @Test func aSlowOperatorTakesItsTime() throws {
    let slow = try KernelFactory.make(.fast, threads: 1, faults: [KernelFault(.slow(nanoseconds: 3_000_000), in: .add)])
    let x = Tensor([1, 2, 3, 4], shape: [1, 4])
    let start = MonotonicTime.nanoseconds()
    for _ in 0..<3 { _ = slow.add(x, x) }
    #expect(MonotonicTime.nanoseconds() - start >= 9_000_000, "a lower bound, which no busy machine can break")
  }
}

/// A few fixed values.
private struct TestRandomValues {
  private var state: UInt32 = 1

  mutating func tensor(_ shape: Shape) -> Tensor {
    Tensor(
      (0..<shape.elementCount).map { _ in
        state = state &* 1_664_525 &+ 1_013_904_223
        return Float(state >> 8) / Float(1 << 24) - 0.5
      }, shape: shape)
  }

  func fixed(_ shape: Shape) -> Tensor { Tensor((0..<shape.elementCount).map { Float($0 % 7) * 0.1 - 0.3 }, shape: shape) }
}
