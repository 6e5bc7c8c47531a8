import Goldens
import Schedulers
import Tensors

/// The samplers on the plans and trajectories of a golden case.
struct SchedulerNumerics {
  private struct Run: Decodable {
    var config: [String: SchedulerConfig.Value]
    var steps: Int
    var seed: UInt64?
    var eta: Double?
    var strength: Double?
    var sigmaCount: Int?
    var refused: Bool?

    private enum CodingKeys: String, CodingKey {
      case config, steps, seed, eta, strength, refused
      case sigmaCount = "sigma_count"
    }

    func makeScheduler(_ kind: String) throws -> any Scheduler {
      try SchedulerName(kind).makeScheduler(
        config: SchedulerConfig(values: config.filter { !$0.key.hasPrefix("_") }), eta: eta ?? 0)
    }
  }

  private struct Attributes: Decodable {
    var kind: String
    var runs: [Run]
  }

  private let golden: GoldenCase
  private let attributes: Attributes

  init(_ golden: GoldenCase) throws {
    self.golden = golden
    attributes = try golden.attributes(Attributes.self)
  }

  /// The timesteps and sigmas of all runs, joined.
  func tables() throws -> [NumericOutput] {
    var timesteps: [Float] = []
    var sigmas: [Float] = []
    for run in attributes.runs {
      var scheduler = try run.makeScheduler(attributes.kind)
      if run.refused == true {
        guard (try? scheduler.setTimesteps(numInferenceSteps: run.steps)) == nil else {
          throw GoldenMismatch(expected: "\(run.steps) steps refused, as diffusers does", seen: "a plan")
        }
        continue
      }
      try scheduler.setTimesteps(numInferenceSteps: run.steps)
      timesteps += scheduler.timesteps.map { Float($0) }
      if run.sigmaCount != nil { sigmas += scheduler.sigmas }
    }
    // The lower level of DPM2 a is a difference of nearly equal numbers: half a percent of it is rounding.
    let tolerance =
      attributes.kind == "dpm2_a"
      ? GoldenCase.Tolerance(metric: .absolute, limit: 2e-2, reason: "the lower level is a difference of nearly equal numbers")
      : GoldenCase.Tolerance(
        metric: .absolute, limit: 2e-3, reason: "whole timesteps are exact, fractional ones come from f32 logarithms")
    var outputs = [NumericOutput("output.timesteps", Tensor(timesteps, shape: [timesteps.count]), tolerance: tolerance)]
    if !sigmas.isEmpty { outputs.append(NumericOutput("output.sigmas", Tensor(sigmas, shape: [sigmas.count]))) }
    return outputs
  }

  /// The samples after each step of each run.
  func trajectories() throws -> [NumericOutput] {
    let noise = try golden.tensor("input.noise")
    let original = try golden.tensor("input.original")
    let bias = try golden.tensor("input.bias")
    return try attributes.runs.enumerated().flatMap { number, run in
      var scheduler = try run.makeScheduler(attributes.kind)
      try scheduler.setTimesteps(numInferenceSteps: run.steps)
      var source = RandomSource.torch.makeNoiseSource(seed: run.seed ?? 0)
      let sigma = scheduler.initNoiseSigma
      var sample = noise.map { $0 * sigma }
      var start = 0
      var trace: [Tensor] = []
      if let strength = run.strength {
        start = try scheduler.startIndex(numInferenceSteps: run.steps, strength: strength)
        sample = try scheduler.addNoise(original, noise: noise, at: start)
        trace = [sample]
      }
      for index in start..<scheduler.timesteps.count {
        let input = try scheduler.scaleModelInput(sample, at: index)
        // The goldens' network: 0.3 times its input plus a bias that depends on the entry.
        let row = index % bias.shape[0]
        let offset = bias.slice(row..<(row + 1)).reshaped(to: input.shape)
        let output = input.zip(offset) { 0.3 * $0 + $1 }
        sample = try scheduler.step(modelOutput: output, at: index, sample: sample, noise: &source).prevSample
        trace.append(sample)
      }
      return trace.enumerated().map { NumericOutput("output.\(number)", $1, row: $0) }
    }
  }
}
