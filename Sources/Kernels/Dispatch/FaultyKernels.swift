internal import Foundation
internal import KernelContract
internal import Synchronization
internal import Tensors

/// Operators with faults put in; everything else is the kernels' below.
final class FaultyKernels: KernelSet {
  private let base: any KernelSet
  private let faults: [KernelFault]
  private let calls: CallCounter

  /// Calls so far, shared by all sets that were made out of one.
  private final class CallCounter: Sendable {
    let counts = Mutex<[KernelFault.Operator: Int]>([:])
  }

  convenience init(_ base: any KernelSet, faults: [KernelFault]) { self.init(base, faults: faults, calls: CallCounter()) }

  private init(_ base: any KernelSet, faults: [KernelFault], calls: CallCounter) {
    self.base = base
    self.faults = faults
    self.calls = calls
  }

  var name: String { "\(base.name)+fault(\(faults.map(\.description).joined(separator: ",")))" }
  var threadCount: Int { base.threadCount }
  func with(_ precision: Precision) -> (any KernelSet)? {
    base.with(precision).map { FaultyKernels($0, faults: faults, calls: calls) }
  }
  func stopping(at token: CancellationToken) -> any KernelSet {
    FaultyKernels(base.stopping(at: token), faults: faults, calls: calls)
  }
  func prepareLinear(_ weight: WeightView) -> LinearWeight { base.prepareLinear(weight) }
  func prepareConv2d(_ weight: WeightView) -> ConvWeight { base.prepareConv2d(weight) }

  private func disturb(_ target: KernelFault.Operator, _ compute: () -> Tensor) -> Tensor {
    let number = calls.counts.withLock { calls -> Int in
      calls[target, default: 0] += 1
      return calls[target] ?? 1
    }
    var result = compute()
    for fault in faults where fault.target == target {
      switch fault.kind {
      case .slow(let nanoseconds): wait(nanoseconds)
      case .wrong(let factor): result = Tensor(result.elements.map { $0 * factor }, shape: result.shape)
      case .crash(let call): if call == number { fatalError("GENBENCH_FAULT: \(fault)") }
      case .hang(let call): while call == number { Thread.sleep(forTimeInterval: 3600) }
      }
    }
    return result
  }

  /// Spins: a sleep would leave the core to others and end later than asked for.
  private func wait(_ nanoseconds: UInt64) {
    let end = MonotonicTime.nanoseconds() + nanoseconds
    while MonotonicTime.nanoseconds() < end {}
  }

  func linear(_ input: Tensor, weight: LinearWeight, bias: Tensor?, activation: Activation, residual: Tensor?) -> Tensor {
    disturb(.linear) { base.linear(input, weight: weight, bias: bias, activation: activation, residual: residual) }
  }

  func linears(_ input: Tensor, _ layers: [LinearParameters]) -> [Tensor] {
    base.linears(input, layers).map { result in disturb(.linear) { result } }
  }

  func gatedLinear(_ input: Tensor, gate: LinearParameters, up: LinearParameters, activation: Activation) -> Tensor {
    disturb(.linear) { base.gatedLinear(input, gate: gate, up: up, activation: activation) }
  }

  func conv2d(
    _ input: Tensor, weight: ConvWeight, options: ConvOptions, bias: Tensor?, imageBias: Tensor?, residual: Tensor?
  ) -> Tensor {
    disturb(.conv2d) {
      base.conv2d(input, weight: weight, options: options, bias: bias, imageBias: imageBias, residual: residual)
    }
  }

  func groupNorm(
    _ input: Tensor, groupCount: Int, weight: Tensor, bias: Tensor, epsilon: Float, activation: Activation
  ) -> Tensor {
    disturb(.groupnorm) {
      base.groupNorm(input, groupCount: groupCount, weight: weight, bias: bias, epsilon: epsilon, activation: activation)
    }
  }

  func channelStatistics(_ input: Tensor) -> ChannelStatistics { base.channelStatistics(input) }

  func normalize(_ input: Tensor, by factors: ChannelFactors, activation: Activation) -> Tensor {
    disturb(.groupnorm) { base.normalize(input, by: factors, activation: activation) }
  }

  /// The fused operator, unless one of its parts has a fault: then each is run by itself.
  func conv2d(
    _ input: Tensor, after stage: ConvInputStage, weight: ConvWeight, options: ConvOptions, bias: Tensor?, imageBias: Tensor?,
    residual: Tensor?
  ) -> Tensor {
    let isFused = !faults.contains { [.groupnorm, .activate, .upsample].contains($0.target) }
    let map = isFused ? input : applied(stage, to: input)
    let rest = isFused ? stage : ConvInputStage()
    return disturb(.conv2d) {
      base.conv2d(map, after: rest, weight: weight, options: options, bias: bias, imageBias: imageBias, residual: residual)
    }
  }

  func layerNorm(_ input: Tensor, weight: Tensor, bias: Tensor, epsilon: Float) -> Tensor {
    disturb(.layernorm) { base.layerNorm(input, weight: weight, bias: bias, epsilon: epsilon) }
  }

  func rmsNorm(_ input: Tensor, weight: Tensor, epsilon: Float) -> Tensor {
    disturb(.rmsnorm) { base.rmsNorm(input, weight: weight, epsilon: epsilon) }
  }

  func attention(query: Tensor, key: Tensor, value: Tensor, options: AttentionOptions) -> Tensor {
    disturb(.attention) { base.attention(query: query, key: key, value: value, options: options) }
  }

  func geglu(_ input: Tensor) -> Tensor { disturb(.geglu) { base.geglu(input) } }
  func activate(_ input: Tensor, _ activation: Activation) -> Tensor {
    disturb(.activate) { base.activate(input, activation) }
  }
  func add(_ left: Tensor, _ right: Tensor) -> Tensor { disturb(.add) { base.add(left, right) } }
  func concatenateChannels(_ parts: [Tensor]) -> Tensor { disturb(.concatenate) { base.concatenateChannels(parts) } }
  func joinRows(_ parts: [Tensor], range: Range<Int>) -> Tensor { base.joinRows(parts, range: range) }
  func upsampleNearest2x(_ input: Tensor) -> Tensor { disturb(.upsample) { base.upsampleNearest2x(input) } }
}
