import JSON
import Tensors
import TestSupport
import Testing

@testable import Schedulers

/// Counts the draws of another source.
struct CountingNoise: NoiseSource {
  var source: any NoiseSource = TorchGenerator(seed: 4)
  var shapes: [Shape] = []

  mutating func normals(shape: Shape) -> Tensor {
    shapes.append(shape)
    return source.normals(shape: shape)
  }
}

/// Stable Diffusion's schedule, ending at no noise where the class lets it.
let lawConfig = SchedulerConfig(values: [
  "beta_start": .number(0.00085), "beta_end": .number(0.012), "beta_schedule": .string("scaled_linear"),
  "steps_offset": .number(1), "clip_sample": .bool(false), "set_alpha_to_one": .bool(true), "skip_prk_steps": .bool(true),
])

/// How often a run of N steps draws noise.
func expectedDraws(_ kind: SchedulerName.Kind, steps: Int, eta: Double) -> Int {
  switch kind {
  case .ddpm, .eulerA, .dpmpp2MSDE, .dpmppSDE: steps
  case .dpm2A, .lcm: steps - 1
  case .ddim: eta > 0 ? steps : 0
  case .tcd: eta > 0 ? steps - 1 : 0
  default: 0
  }
}

/// Checks what must hold for every scheduler, whatever its formula.
func checkSchedulerLaws(
  _ name: SchedulerName, steps: Int, eta: Double = 0, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let label = Comment(rawValue: "\(name), \(steps) steps")
  var scheduler = try name.makeScheduler(config: lawConfig, eta: eta)
  #expect(scheduler.timesteps.isEmpty, label, sourceLocation: sourceLocation)
  try scheduler.setTimesteps(numInferenceSteps: steps)

  // The plan.
  let entries = scheduler.timesteps.count
  let expectedEntries =
    switch name.kind {
    case .pndm: steps == 1 ? 1 : steps + 1
    case .heun, .dpm2, .dpm2A: 2 * steps - 1
    default: steps
    }
  #expect(entries == expectedEntries, label, sourceLocation: sourceLocation)
  #expect(scheduler.timesteps.allSatisfy { $0 >= 0 && $0 <= 999 }, label, sourceLocation: sourceLocation)
  // DPM2 a calls the network below the level that its step ends at.
  let mayRepeat = [.pndm, .heun].contains(name.kind) || name.sigmaSpacing != nil
  let steady = name.kind == .dpm2A ? stride(from: 0, to: entries, by: 2).map { scheduler.timesteps[$0] } : scheduler.timesteps
  #expect(
    Swift.zip(steady, steady.dropFirst()).allSatisfy { mayRepeat ? $0 >= $1 : $0 > $1 }, label, sourceLocation: sourceLocation)
  let sigmas = scheduler.sigmas
  #expect(sigmas.count >= entries + 1, label, sourceLocation: sourceLocation)
  #expect(Swift.zip(sigmas, sigmas.dropFirst()).allSatisfy { $0 >= $1 }, label, sourceLocation: sourceLocation)
  let (highest, lowest) = (try #require(sigmas.first), try #require(sigmas.last))
  #expect(
    lowest >= 0 && highest.isFinite && (highest > lowest || (steps == 1 && name.kind == .deis)), label,
    sourceLocation: sourceLocation)
  #expect(scheduler.initNoiseSigma >= 1 || name.kind != .ddim, label, sourceLocation: sourceLocation)

  // A run: same shape, right number of draws of the sample's shape, the same bits from a copy and after a new plan.
  var random = TestRandom(seed: 8)
  let shape: Shape = [2, 3, 1, 5]
  let start = random.tensor(shape, in: -2...2)
  let network: (Tensor, Int) -> Tensor = { input, index in input.map { 0.4 * $0 + 0.1 * Float(index % 3) } }
  var copy = scheduler
  var noise: any NoiseSource = CountingNoise()
  let trace = try walk(&scheduler, sample: start, noise: &noise, network: network)
  let shapes = (noise as? CountingNoise)?.shapes ?? []
  #expect(
    shapes == Array(repeating: shape, count: expectedDraws(name.kind, steps: steps, eta: eta)), label,
    sourceLocation: sourceLocation)
  #expect(trace.allSatisfy { $0.shape == shape && !$0.hasNonFinite }, label, sourceLocation: sourceLocation)
  noise = CountingNoise()
  let copied = try walk(&copy, sample: start, noise: &noise, network: network)
  #expect(copied.map(\.elements) == trace.map(\.elements), label, sourceLocation: sourceLocation)
  try scheduler.setTimesteps(numInferenceSteps: steps)
  noise = CountingNoise()
  let again = try walk(&scheduler, sample: start, noise: &noise, network: network)
  #expect(again.map(\.elements) == trace.map(\.elements), label, sourceLocation: sourceLocation)

  // Another seed changes a run exactly when noise matters to it.
  try scheduler.setTimesteps(numInferenceSteps: steps)
  noise = CountingNoise(source: TorchGenerator(seed: 5))
  let reseeded = try walk(&scheduler, sample: start, noise: &noise, network: network)
  let isStochastic = expectedDraws(name.kind, steps: steps, eta: eta) > 0
  if steps > 1 {
    #expect((reseeded.last?.elements != trace.last?.elements) == isStochastic, label, sourceLocation: sourceLocation)
  }

  // Images of a batch don't see each other.
  try scheduler.setTimesteps(numInferenceSteps: steps)
  noise = PerImageNoise([TorchGenerator(seed: 1), TorchGenerator(seed: 2)])
  let batch = try walk(&scheduler, sample: start, noise: &noise, network: network)
  for image in 0..<2 {
    try scheduler.setTimesteps(numInferenceSteps: steps)
    noise = TorchGenerator(seed: UInt64(image + 1))
    let alone = try walk(&scheduler, sample: start.slice(image..<(image + 1)), noise: &noise, network: network)
    #expect(alone.last?.elements == batch.last?.slice(image..<(image + 1)).elements, label, sourceLocation: sourceLocation)
  }
}

/// The level at which the network is called at an entry; DPM2 calls it between its listed levels.
func calledSigma(_ scheduler: any Scheduler, at index: Int) throws -> Float {
  // The scale of the input tells the level: input = sample / √(σ² + 1).
  let scaled = try scheduler.scaleModelInput(Tensor([1], shape: [1]), at: index)[flat: 0]
  return scaled == 1 ? scheduler.sigmas[index] : (1 / (scaled * scaled) - 1).squareRoot()
}
