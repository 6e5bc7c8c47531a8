import Checkpoints
import Foundation
import Reporting
import Running
import Schedulers

/// Shows where a scheduler evaluates the network.
struct ScheduleCommand: Command {
  static let configuration = CommandDescription(
    name: "schedule", abstract: "Show the timesteps and noise levels of a scheduler.",
    discussion: "Without --config or --model the class's own defaults hold, which are not those of any published model.",
    options: [
      .value("scheduler", "name", "The sampler, by genbench's, diffusers' or A1111's name.", isRequired: true),
      .value("steps", short: "s", "n", "Denoising steps.", default: "20"),
      .value("config", "file", "A scheduler_config.json, merged as diffusers' from_config does."),
      .value("model", short: "m", "path", "A model, for its scheduler_config.json."),
      .value("timestep-spacing", "kind", "Where the steps lie.", values: ["leading", "trailing", "linspace"]),
      .flag("json", "Print JSON."),
    ])

  private let name: SchedulerName
  private let steps: Int
  private let config: String?
  private let model: String?
  private let spacing: String?
  private let isJSON: Bool

  init(_ values: ParsedValues) throws(UsageError) {
    do { name = try SchedulerName(values.string("scheduler") ?? "") } catch { throw UsageError(error.message) }
    steps = try values.int("steps", in: 1...10_000) ?? 20
    config = values.string("config")
    model = values.string("model")
    spacing = values.string("timestep-spacing")
    isJSON = values.flag("json") ?? false
    if config != nil, model != nil { throw UsageError("--config and --model can't be given together") }
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    var merged = Schedulers.SchedulerConfig()
    if let config {
      let data = try UserFile.content(config)
      do { merged = try Schedulers.SchedulerConfig(json: data) } catch { throw CommandError(.badInput, "\(config): \(error)") }
    } else if let model {
      let stored = try DiffusionCheckpoint.open(path: model).scheduler
      merged = try Schedulers.SchedulerConfig(json: Data(stored.json.text().utf8), defaultClass: stored.className)
    }
    if let spacing { merged = merged.merging(["timestep_spacing": .string(spacing)]) }
    var scheduler = try name.makeScheduler(config: merged)
    try scheduler.setTimesteps(numInferenceSteps: steps)
    let table = ScheduleTable(scheduler)
    if isJSON {
      context.console.print(
        JSONValue.object([
          "scheduler": .string(name.description),
          "timesteps": .array(table.timesteps.map { JSONValue(shortest: $0) }),
          "sigmas": .array(table.sigmas.map { .number(Double($0)) }),
          "alphas_cumprod_at": .array(table.alphasCumprodAt.map { .number(Double($0)) }),
          "init_noise_sigma": .number(Double(table.initNoiseSigma)), "order": .integer(table.order),
        ]).text(indent: 2))
      return .success
    }
    var text = TextTable([("entry", .right), ("timestep", .right), ("sigma", .right), ("alpha_cumprod", .right)])
    for (index, timestep) in table.timesteps.enumerated() {
      text.append([
        String(index), JSONValue(shortest: timestep).description,
        table.sigmas.indices.contains(index) ? "\(table.sigmas[index])" : "",
        "\(table.alphasCumprodAt[index])",
      ])
    }
    context.console.print(text.markdown)
    let last = table.sigmas.last.map { ", ends at sigma \($0)" } ?? ""
    context.console.print("\n\(name): order \(table.order), initial noise sigma \(table.initNoiseSigma)\(last)")
    return .success
  }
}
