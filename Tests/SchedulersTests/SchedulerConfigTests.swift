import Foundation
import JSON
import Tensors
import Testing

@testable import Schedulers

/// Reading `scheduler_config.json` and merging it into another class.
struct SchedulerConfigTests {
  private func config(_ json: String) throws -> SchedulerConfig {
    try SchedulerConfig(json: JSONValue(parsing: json, as: .python))
  }

  /// As the hub has it for Stable Diffusion 1.5.
  static let sd15 = """
    {"_class_name": "PNDMScheduler", "_diffusers_version": "0.6.0", "beta_end": 0.012, "beta_schedule": "scaled_linear",
     "beta_start": 0.00085, "num_train_timesteps": 1000, "set_alpha_to_one": false, "skip_prk_steps": true,
     "steps_offset": 1, "trained_betas": null, "clip_sample": false}
    """

  @Test func storedKeysAndClass() throws {
    let config = try config(Self.sd15)
    #expect(config.className == "PNDMScheduler")
    #expect(config.values["steps_offset"] == 1)
    #expect(config.values["skip_prk_steps"] == .bool(true))
    #expect(config.values["trained_betas"] == .null)
    #expect(config.values["_diffusers_version"] == nil)
  }

  @Test func classMayBeAbsent() throws {
    #expect(try config("{}").className == nil)
    #expect(try config(#"{"_class_name": null}"#).className == nil)
  }

  @Test func pythonsBareNumbersAreRead() throws {
    let config = try config(#"{"lambda_min_clipped": -Infinity, "a": [Infinity, NaN], "text": "-Infinity \" NaN"}"#)
    #expect(config.values["lambda_min_clipped"] == .number(-.infinity))
    #expect(config.values["text"] == .string("-Infinity \" NaN"))
    var scheduler = try SchedulerName("DPMSolverMultistepScheduler").makeScheduler(config: config)
    try scheduler.setTimesteps(numInferenceSteps: 5)
    #expect(scheduler.timesteps == [999, 799, 599, 400, 200])
  }

  @Test(arguments: ["[]", "3", "null", #"{"_class_name": 3}"#])
  func otherJSONIsRefused(_ json: String) {
    #expect {
      try config(json)
    } throws: { error in
      (error as? SchedulerError)?.code == .invalidConfig
    }
  }

  /// Euler from the config of a PNDM model: stored keys carry over, `timestep_spacing` isn't among them.
  @Test func absentKeysTakeTheNewClassesDefault() throws {
    var euler = try SchedulerName("euler").makeScheduler(config: try config(Self.sd15))
    try euler.setTimesteps(numInferenceSteps: 5)
    #expect(euler.timesteps == [999, 749.25, 499.5, 249.75, 0])
    var ddim = try SchedulerName("ddim").makeScheduler(config: try config(Self.sd15))
    try ddim.setTimesteps(numInferenceSteps: 5)
    #expect(ddim.timesteps == [801, 601, 401, 201, 1])
  }

  @Test func unknownKeysAreIgnored() throws {
    _ = try SchedulerName("ddim").makeScheduler(config: try config(#"{"solver_order": 2, "no_such_key": {"a": [1, true]}}"#))
  }

  /// Words of one solver family mean the default in another, as in diffusers.
  @Test func solverWordsOfOtherClassesAreMapped() throws {
    for (name, solver) in [
      ("unipc", "midpoint"), ("unipc", "logrho"), ("deis", "bh2"), ("dpmpp_2m", "bh2"), ("dpmpp_2s", "logrho"),
    ] {
      _ = try SchedulerName(name).makeScheduler(config: SchedulerConfig(values: ["solver_type": .string(solver)]))
    }
    #expect(throws: SchedulerError.self) {
      try SchedulerName("unipc").makeScheduler(config: SchedulerConfig(values: ["solver_type": .string("rk4")]))
    }
  }

  @Test func mergingReplaces() {
    let config = SchedulerConfig(className: "X", values: ["a": .number(1), "b": .bool(true)])
    #expect(config.merging(["a": .number(2)]).values == ["a": .number(2), "b": .bool(true)])
  }

  struct BadOption: Sendable, CustomStringConvertible {
    var name: String
    var values: JSONObject
    var code: SchedulerError.Code = .invalidConfig
    var description: String { "\(name) \(values)" }
  }

  @Test(arguments: [
    BadOption(name: "ddim", values: ["prediction_type": .string("flow_prediction")]),
    BadOption(name: "ddim", values: ["timestep_spacing": .string("even")]),
    BadOption(name: "ddim", values: ["steps_offset": .number(-1)]),
    BadOption(name: "ddim", values: ["steps_offset": .number(1000)]),
    BadOption(name: "ddim", values: ["clip_sample": .string("false")]),
    BadOption(name: "ddim", values: ["clip_sample": .number(2)]),
    BadOption(name: "ddim", values: ["thresholding": .bool(true), "dynamic_thresholding_ratio": .number(2)]),
    BadOption(name: "pndm", values: ["prediction_type": .string("sample")]),
    BadOption(name: "euler_a", values: ["prediction_type": .string("sample")]),
    BadOption(name: "dpm2", values: ["prediction_type": .string("sample")]),
    BadOption(name: "ddpm", values: ["variance_type": .string("fixed_large_log")]),
    BadOption(name: "ddpm", values: ["variance_type": .string("learned_range")], code: .unsupported),
    BadOption(name: "euler", values: ["use_karras_sigmas": .bool(true), "use_beta_sigmas": .bool(true)]),
    BadOption(name: "euler", values: ["final_sigmas_type": .string("one")]),
    BadOption(name: "euler", values: ["sigma_min": .number(3), "sigma_max": .number(2)]),
    BadOption(name: "euler", values: ["sigma_min": .string("small")]),
    BadOption(name: "euler", values: ["interpolation_type": .string("cubic")]),
    BadOption(name: "DPMSolverMultistepScheduler", values: ["algorithm_type": .string("dpmsolver")]),
    BadOption(name: "DPMSolverMultistepScheduler", values: ["solver_order": .number(4)]),
    BadOption(name: "dpmpp_2m", values: ["use_flow_sigmas": .bool(true)], code: .unsupported),
    BadOption(name: "dpmpp_2m", values: ["variance_type": .string("learned")], code: .unsupported),
    BadOption(name: "dpmpp_2m", values: ["lambda_min_clipped": .number(1000)]),
    BadOption(
      name: "DPMSolverSinglestepScheduler",
      values: ["algorithm_type": .string("dpmsolver"), "final_sigmas_type": .string("sigma_min"), "thresholding": .bool(true)],
      code: .unsupported),
    BadOption(name: "DPMSolverSinglestepScheduler", values: ["algorithm_type": .string("sde-dpmsolver")]),
    BadOption(name: "unipc", values: ["predict_x0": .bool(false)]),
    BadOption(name: "unipc", values: ["solver_p": .object([:])], code: .unsupported),
    BadOption(name: "unipc", values: ["disable_corrector": .array([.string("first")])]),
    BadOption(name: "unipc", values: ["disable_corrector": .number(1)]),
    BadOption(name: "deis", values: ["algorithm_type": .string("sde-dpmsolver++")]),
    BadOption(name: "lcm", values: ["original_inference_steps": .number(0)]),
    BadOption(name: "lcm", values: ["timestep_scaling": .number(-1)]),
  ])
  func badOptionsNameTheKey(_ option: BadOption) throws {
    let error = #expect(throws: SchedulerError.self) {
      try SchedulerName(option.name).makeScheduler(config: SchedulerConfig(values: option.values))
    }
    #expect(error?.code == option.code)
    let message = try #require(error?.message)
    #expect(option.values.keys.contains { message.contains($0) } || message.contains("final_sigmas_type"), "\(message)")
    #expect(message.contains(try SchedulerName(option.name).kind.className), "\(message)")
  }
}
