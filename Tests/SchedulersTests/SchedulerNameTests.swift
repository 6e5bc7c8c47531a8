import JSON
import Testing

@testable import Schedulers

/// The names that users write.
struct SchedulerNameTests {
  @Test func everyNameIsReadBack() throws {
    #expect(SchedulerName.all.count == 17 + 11 * 3)
    for name in SchedulerName.all { #expect(try SchedulerName(name.description) == name) }
  }

  @Test(arguments: [
    ("DPM++ 2M Karras", "dpmpp_2m_karras"), ("DPM++ 2M SDE Karras", "dpmpp_2m_sde_karras"), ("DPM++ SDE", "dpmpp_sde"),
    ("DPM++ 2M SDE Exponential", "dpmpp_2m_sde_exponential"), ("Euler a", "euler_a"), ("Euler", "euler"),
    ("LMS Karras", "lms_karras"),
    ("DPM2 a Karras", "dpm2_a_karras"), ("PLMS", "pndm"), ("UniPC", "unipc"), ("DDIM", "ddim"), ("Heun", "heun"),
    ("dpm++2m", "dpmpp_2m"), ("K_EULER_ANCESTRAL", "euler_a"), ("euler-beta", "euler_beta"), ("LCM", "lcm"),
    ("dpm_2_a", "dpm2_a"),
  ])
  func labelsOfOthers(_ pair: (String, String)) throws {
    #expect(try SchedulerName(pair.0).description == pair.1)
  }

  @Test(arguments: SchedulerName.Kind.allCases)
  func classNames(_ kind: SchedulerName.Kind) throws {
    let name = try SchedulerName(kind.className)
    #expect(name.isClassName && name.description == kind.className && name.kind.className == kind.className)
    #expect(try SchedulerName(String(kind.className.dropLast("Scheduler".count))).kind.className == kind.className)
  }

  @Test(arguments: [
    ("eulr", "euler"), ("dpmpp_2n_karras", "dpmpp_2m_karras"), ("DPM++ 2S a", "dpmpp_2s"), ("unipcc", "unipc"), ("", "ddim"),
  ])
  func nearNamesAreSuggested(_ pair: (String, String)) {
    let error = #expect(throws: SchedulerError.self) { try SchedulerName(pair.0) }
    #expect(error?.code == .unknownName)
    if !pair.0.isEmpty { #expect(error?.message.contains("'\(pair.1)'") == true, "\(error?.message ?? "")") }
  }

  @Test(arguments: ["ddim_karras", "euler_a_karras", "lcm_beta", "PNDM Exponential", "tcd_karras", "ddpm_karras"])
  func spacingsThatDiffusersLacks(_ name: String) {
    let error = #expect(throws: SchedulerError.self) { try SchedulerName(name) }
    #expect(error?.code == .unknownName)
  }

  /// A short name fixes its solver; a class name leaves it to the config; a suffix beats the config's switches.
  @Test func whatNamesFix() throws {
    let config = SchedulerConfig(values: [
      "algorithm_type": .string("sde-dpmsolver++"), "use_karras_sigmas": .bool(true), "beta_schedule": .string("scaled_linear"),
      "beta_start": .number(0.00085), "beta_end": .number(0.012),
    ])
    var plain = try SchedulerName("dpmpp_2m").makeScheduler(config: config)
    var beta = try SchedulerName("dpmpp_2m_beta").makeScheduler(config: config)
    try plain.setTimesteps(numInferenceSteps: 5)
    try beta.setTimesteps(numInferenceSteps: 5)
    #expect(abs(plain.sigmas[1] - 4.79654) < 0.05, "karras carries over")
    #expect(abs(beta.sigmas[1] - 12.05226) < 0.05)
    #expect(plain is DPMSolverMultistepScheduler)
  }

  @Test(arguments: [-0.1, 1.1, .nan, .infinity])
  func etaIsLimited(_ eta: Double) throws {
    let name = try SchedulerName("ddim")
    #expect(throws: SchedulerError.self) { try name.makeScheduler(eta: eta) }
  }
}
