import Foundation
import Goldens
import JSON
import Tensors
import TestSupport

@testable import Schedulers

/// One run of a golden case: a config, a step count, and what to do with them.
struct SchedulerRun: Decodable, Sendable, CustomStringConvertible {
  var config: JSONObject
  var steps: Int
  var seed: UInt64?
  var eta: Double?
  var strength: Double?
  var start: Int?
  var count: Int?
  var sigmaCount: Int?
  var order: Int?
  var initNoiseSigma: Float?
  var refused: Bool?

  private enum CodingKeys: String, CodingKey {
    case config, steps, seed, eta, strength, start, count, order, refused
    case sigmaCount = "sigma_count"
    case initNoiseSigma = "init_noise_sigma"
  }

  var description: String {
    let options = config.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    return "steps=\(steps) strength=\(strength ?? 1) eta=\(eta ?? 0) \(options)"
  }

  func makeScheduler(_ kind: String) throws -> any Scheduler {
    try SchedulerName(kind).makeScheduler(
      config: SchedulerConfig(values: config.filter { !$0.key.hasPrefix("_") }), eta: eta ?? 0)
  }
}

/// The `attributes` of a scheduler case.
struct SchedulerRuns: Decodable {
  var kind: String
  var runs: [SchedulerRun]
}

/// The network of the goldens: 0.3 times its input plus a bias that depends on the entry.
func linearNetwork(_ input: Tensor, bias: Tensor, index: Int) -> Tensor {
  let offset = bias.slice((index % bias.shape[0])..<(index % bias.shape[0] + 1)).reshaped(to: input.shape)
  return input.zip(offset) { 0.3 * $0 + $1 }
}

/// Walks a planned scheduler from `start` and returns the sample after each step.
func walk(
  _ scheduler: inout any Scheduler, from start: Int = 0, sample: Tensor, noise: inout any NoiseSource,
  network: (Tensor, Int) throws -> Tensor
) throws -> [Tensor] {
  var sample = sample
  var trace: [Tensor] = []
  for index in start..<scheduler.timesteps.count {
    let output = try network(try scheduler.scaleModelInput(sample, at: index), index)
    sample = try scheduler.step(modelOutput: output, at: index, sample: sample, noise: &noise).prevSample
    trace.append(sample)
  }
  return trace
}
