import JSON
import Tensors
import TestSupport
import Testing

@testable import Schedulers

/// What schedulers refuse, and what they survive.
struct SchedulerRefusalTests {
  private func planned(_ name: SchedulerName, steps: Int = 6) throws -> any Scheduler {
    var scheduler = try name.makeScheduler(config: lawConfig)
    try scheduler.setTimesteps(numInferenceSteps: steps)
    return scheduler
  }

  @Test(arguments: SchedulerName.all, [0, -1, .min, 1001, .max])
  func stepCountsOutOfRange(_ name: SchedulerName, steps: Int) throws {
    var scheduler = try name.makeScheduler(config: lawConfig)
    let error = #expect(throws: SchedulerError.self) { try scheduler.setTimesteps(numInferenceSteps: steps) }
    #expect(error?.code == .invalidArgument)
    #expect(error?.message.contains("\(steps)") == true)
    #expect(scheduler.timesteps.isEmpty)
  }

  /// Few steps in every spacing: a table of numbers or a refusal, never a trap.
  @Test(arguments: SchedulerName.all, [nil, "karras", "exponential", "beta"])
  func fewSteps(_ name: SchedulerName, sigmas: String?) throws {
    for spacing in ["leading", "trailing", "linspace"] {
      for steps in 1...7 {
        var config = lawConfig.merging(["timestep_spacing": .string(spacing)])
        if let sigmas { config = config.merging(["use_\(sigmas)_sigmas": .bool(true)]) }
        do {
          var scheduler = try name.makeScheduler(config: config)
          try scheduler.setTimesteps(numInferenceSteps: steps)
          let table = ScheduleTable(scheduler)
          #expect(table.timesteps.allSatisfy(\.isFinite) && !table.sigmas.contains(where: \.isNaN), "\(spacing), \(steps) steps")
        } catch {
          #expect(!error.message.isEmpty)
        }
      }
    }
  }

  /// With the offset of Stable Diffusion, 1000 `leading` steps would start at timestep 1000.
  @Test(arguments: [SchedulerName(.ddim), SchedulerName(.ddpm), SchedulerName(.pndm)])
  func leadingPastTheEnd(_ name: SchedulerName) throws {
    var scheduler = try name.makeScheduler(config: lawConfig)
    let error = #expect(throws: SchedulerError.self) { try scheduler.setTimesteps(numInferenceSteps: 1000) }
    #expect(error?.message.contains("timestep 1000") == true)
    try scheduler.setTimesteps(numInferenceSteps: 500)
  }

  @Test(arguments: [SchedulerName(.dpmpp2M), SchedulerName(.unipc), SchedulerName(.deis), SchedulerName(.dpmpp2S)])
  func repeatedTimesteps(_ name: SchedulerName) throws {
    var scheduler = try name.makeScheduler(config: lawConfig)
    let error = #expect(throws: SchedulerError.self) { try scheduler.setTimesteps(numInferenceSteps: 1000) }
    #expect(error?.message.contains("twice") == true)
    try scheduler.setTimesteps(numInferenceSteps: 999)
  }

  @Test(arguments: [SchedulerName(.lcm), SchedulerName(.tcd)])
  func moreStepsThanDistilled(_ name: SchedulerName) throws {
    var scheduler = try name.makeScheduler(config: lawConfig)
    let error = #expect(throws: SchedulerError.self) { try scheduler.setTimesteps(numInferenceSteps: 51) }
    #expect(error?.message.contains("original_inference_steps") == true)
  }

  /// A second-order step to σ = 0 divides by an infinite log-SNR.
  @Test func unipcAtZeroNeedsALowerLastOrder() throws {
    var scheduler = try SchedulerName(.unipc).makeScheduler(config: lawConfig.merging(["lower_order_final": .bool(false)]))
    let error = #expect(throws: SchedulerError.self) { try scheduler.setTimesteps(numInferenceSteps: 4) }
    #expect(error?.message.contains("final_sigmas_type") == true)
    try scheduler.setTimesteps(numInferenceSteps: 1)
  }

  /// diffusers' bh1 multiplies 0 by ∞ in its last step.
  @Test func unipcOfTheFirstBasisStaysFinite() throws {
    var scheduler = try SchedulerName(.unipc).makeScheduler(config: lawConfig.merging(["solver_type": .string("bh1")]))
    try scheduler.setTimesteps(numInferenceSteps: 6)
    var noise: any NoiseSource = TorchGenerator(seed: 0)
    let trace = try walk(&scheduler, sample: Tensor(repeating: 1, shape: [1, 4]), noise: &noise) { input, _ in
      input.map { 0.3 * $0 }
    }
    #expect(trace.last?.hasNonFinite == false)
  }

  @Test(arguments: 1...3)
  func rungeKuttaNeedsFourSteps(_ steps: Int) throws {
    var scheduler = try SchedulerName(.pndm).makeScheduler(config: lawConfig.merging(["skip_prk_steps": .bool(false)]))
    #expect(throws: SchedulerError.self) { try scheduler.setTimesteps(numInferenceSteps: steps) }
  }

  @Test(arguments: SchedulerName.all)
  func callsBeforeThePlan(_ name: SchedulerName) throws {
    var scheduler = try name.makeScheduler(config: lawConfig)
    var noise: any NoiseSource = TorchGenerator(seed: 0)
    let tensor = Tensor(zeros: [1, 4, 2, 2])
    #expect(throws: SchedulerError.self) { try scheduler.scaleModelInput(tensor, at: 0) }
    #expect(throws: SchedulerError.self) { try scheduler.addNoise(tensor, noise: tensor, at: 0) }
    #expect(throws: SchedulerError.self) { try scheduler.step(modelOutput: tensor, at: 0, sample: tensor, noise: &noise) }
  }

  @Test(arguments: SchedulerName.all)
  func indicesAndShapes(_ name: SchedulerName) throws {
    var scheduler = try planned(name)
    var noise: any NoiseSource = TorchGenerator(seed: 0)
    let tensor = Tensor(zeros: [1, 4, 2, 2])
    for index in [-1, scheduler.timesteps.count, Int.max] {
      #expect(throws: SchedulerError.self) { try scheduler.scaleModelInput(tensor, at: index) }
      #expect(throws: SchedulerError.self) { try scheduler.addNoise(tensor, noise: tensor, at: index) }
      #expect(throws: SchedulerError.self) { try scheduler.step(modelOutput: tensor, at: index, sample: tensor, noise: &noise) }
    }
    let other = Tensor(zeros: [1, 8, 2, 2])
    let error = #expect(throws: SchedulerError.self) {
      try scheduler.step(modelOutput: other, at: 0, sample: tensor, noise: &noise)
    }
    #expect(error?.message.contains("[1, 4, 2, 2]") == true && error?.message.contains("[1, 8, 2, 2]") == true)
    #expect(throws: SchedulerError.self) { try scheduler.addNoise(tensor, noise: other, at: 0) }
  }

  /// Schedulers that remember earlier outputs notice a gap or a repetition.
  @Test(
    arguments: SchedulerName.all.filter {
      [.pndm, .lms, .heun, .dpm2, .dpm2A, .dpmpp2M, .dpmpp2S, .unipc, .deis].contains($0.kind)
    })
  func stepsOutOfOrder(_ name: SchedulerName) throws {
    var scheduler = try planned(name)
    var noise: any NoiseSource = TorchGenerator(seed: 0)
    let tensor = Tensor(repeating: 1, shape: [1, 4, 2, 2])
    _ = try scheduler.step(modelOutput: tensor, at: 0, sample: tensor, noise: &noise)
    for index in [0, 2] {
      #expect(throws: SchedulerError.self) { try scheduler.step(modelOutput: tensor, at: index, sample: tensor, noise: &noise) }
    }
    _ = try scheduler.step(modelOutput: tensor, at: 1, sample: tensor, noise: &noise)
  }

  @Test(arguments: [SchedulerName.Kind.heun, .dpm2, .dpm2A])
  func secondOrderRunsStartAtEvenEntries(_ kind: SchedulerName.Kind) throws {
    var scheduler = try planned(SchedulerName(kind))
    var noise: any NoiseSource = TorchGenerator(seed: 0)
    let tensor = Tensor(repeating: 1, shape: [1, 4, 2, 2])
    #expect(throws: SchedulerError.self) { try scheduler.step(modelOutput: tensor, at: 1, sample: tensor, noise: &noise) }
    #expect(try scheduler.startIndex(numInferenceSteps: 6, strength: 0.5) == 6)
  }

  @Test(arguments: [(10, 0.55, 5), (10, 1, 0), (50, 0.75, 13), (10, 0.3, 7), (3, 0.34, 2), (1, 1, 0)])
  func imageToImageStarts(_ run: (Int, Double, Int)) throws {
    let scheduler = try planned(SchedulerName(.ddim))
    #expect(try scheduler.startIndex(numInferenceSteps: run.0, strength: run.1) == run.2)
  }

  @Test(arguments: [-0.1, 1.5, .nan, .infinity, 0, 0.05])
  func strengthsOutOfRange(_ strength: Double) throws {
    let scheduler = try planned(SchedulerName(.euler))
    let error = #expect(throws: SchedulerError.self) { try scheduler.startIndex(numInferenceSteps: 10, strength: strength) }
    #expect(error?.code == .invalidArgument)
  }

  /// Broken networks give broken samples, not traps.
  @Test(arguments: SchedulerName.all, [Float.nan, .infinity, .greatestFiniteMagnitude, -0])
  func extremeOutputsDoNotTrap(_ name: SchedulerName, value: Float) throws {
    for clipping in ["clip_sample", "thresholding"] {
      var scheduler = try name.makeScheduler(config: lawConfig.merging([clipping: .bool(true)]))
      try scheduler.setTimesteps(numInferenceSteps: 5)
      var noise: any NoiseSource = TorchGenerator(seed: 0)
      let start = Tensor(repeating: 0.5, shape: [1, 4, 2, 3])
      let trace = try walk(&scheduler, sample: start, noise: &noise) { input, _ in input.map { _ in value } }
      if value.isNaN { #expect(trace.last?.elements.allSatisfy { $0.isNaN } == true) }
      if value == 0 { #expect(trace.last?.hasNonFinite == false) }
    }
  }

  @Test(arguments: SchedulerName.all)
  func emptySamples(_ name: SchedulerName) throws {
    var scheduler = try planned(name)
    var noise: any NoiseSource = TorchGenerator(seed: 0)
    let trace = try walk(&scheduler, sample: Tensor(zeros: [0, 4, 2, 2]), noise: &noise) { input, _ in input }
    #expect(trace.last?.shape == [0, 4, 2, 2])
  }
}
