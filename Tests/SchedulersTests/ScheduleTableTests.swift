import Foundation
import JSON
import Testing

@testable import Schedulers

/// What `genbench schedule` prints, and the figures that the project's facts list.
struct ScheduleTableTests {
  private func table(_ name: String, steps: Int, _ more: JSONObject = [:]) throws -> ScheduleTable {
    let config = SchedulerConfig(values: [
      "beta_start": .number(0.00085), "beta_end": .number(0.012), "beta_schedule": .string("scaled_linear"),
      "steps_offset": .number(1), "skip_prk_steps": .bool(true), "clip_sample": .bool(false),
    ]).merging(more)
    var scheduler = try SchedulerName(name).makeScheduler(config: config)
    try scheduler.setTimesteps(numInferenceSteps: steps)
    return ScheduleTable(scheduler)
  }

  private func expectClose(_ actual: [Float], _ expected: [Float], sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(actual.count == expected.count, sourceLocation: sourceLocation)
    for (a, e) in zip(actual, expected) { #expect(abs(a - e) <= 6e-5, "\(a), expected \(e)", sourceLocation: sourceLocation) }
  }

  @Test func alphasAtTimesteps() throws {
    let table = try table("ddim", steps: 10, ["timestep_spacing": .string("linspace")])
    #expect(table.timesteps == [999, 888, 777, 666, 555, 444, 333, 222, 111, 0])
    #expect(abs(table.alphasCumprodAt[0] - 0.004_660_10) < 1e-7)
    #expect(abs(table.alphasCumprodAt[9] - 0.999_149_98) < 1e-6)
    #expect(table.order == 1 && table.initNoiseSigma == 1)
    for (alpha, sigma) in zip(table.alphasCumprodAt, table.sigmas) {
      #expect(abs(1 / (sigma * sigma + 1) - alpha) < 1e-5)
    }
  }

  @Test func fractionalAndOddTimestepsHaveAnAlpha() throws {
    let euler = try table("euler", steps: 5)
    #expect(euler.timesteps == [999, 749.25, 499.5, 249.75, 0])
    #expect(euler.alphasCumprodAt.count == 5)
    let trailing = try table("euler", steps: 61, ["timestep_spacing": .string("trailing")])
    #expect(trailing.timesteps.count == 62 && trailing.timesteps.last == -1)
    #expect(trailing.alphasCumprodAt.last == trailing.alphasCumprodAt.first)
    let past = try table("euler", steps: 1000, ["timestep_spacing": .string("leading")])
    #expect(past.timesteps.first == 1000 && past.alphasCumprodAt[0] == past.alphasCumprodAt[1])
  }

  @Test func jsonKeys() throws {
    let data = try JSONEncoder().encode(try table("heun", steps: 2))
    let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    #expect(Set(object.keys) == ["timesteps", "sigmas", "alphas_cumprod_at", "init_noise_sigma", "order"])
    #expect(object["order"] as? Int == 2)
    #expect(try JSONDecoder().decode(ScheduleTable.self, from: data) == (try table("heun", steps: 2)))
  }

  @Test func figuresOfTheFacts() throws {
    let leading = JSONValue.string("leading")
    #expect(try table("ddim", steps: 4).timesteps == [751, 501, 251, 1])
    let euler = try table("euler", steps: 5, ["timestep_spacing": leading])
    #expect(euler.timesteps == [801, 601, 401, 201, 1])
    expectClose(euler.sigmas, [5.13443, 2.29285, 1.16822, 0.57405, 0.04131, 0])
    #expect(abs(euler.initNoiseSigma - 5.23091) < 1e-4)
    let multistep = try table("dpmpp_2m", steps: 5, ["timestep_spacing": leading])
    #expect(multistep.timesteps == [831, 665, 499, 333, 167])
    expectClose(multistep.sigmas, [5.90645, 2.90712, 1.61289, 0.93236, 0.49470, 0])
    #expect(try table("unipc", steps: 5).timesteps == [999, 799, 599, 400, 200])
    let karras = try table("dpmpp_2m_karras", steps: 5)
    #expect(karras.timesteps == [999, 786, 427, 59, 0])
    expectClose(karras.sigmas, [14.61465, 4.79654, 1.27411, 0.24795, 0.02917, 0])
    let exponential = try table("dpmpp_2m_exponential", steps: 5)
    #expect(exponential.timesteps == [998, 680, 233, 20, 0])
    expectClose(try table("dpmpp_2m_beta", steps: 5).sigmas, [14.61465, 12.05226, 7.32191, 2.59155, 0.02917, 0])
    #expect(try table("pndm", steps: 2).timesteps == [501, 1, 1])
    #expect(try table("pndm", steps: 20).timesteps.prefix(4) == [951, 901, 901, 851])
    #expect(try table("lcm", steps: 4).timesteps == [999, 759, 499, 259])
    let zero = try table("euler", steps: 5, ["rescale_betas_zero_snr": .bool(true), "timestep_spacing": .string("trailing")])
    #expect(abs(zero.sigmas[0] - 4096) < 0.01)
  }
}
