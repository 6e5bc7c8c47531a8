import Checkpoints
import DiffusionModels
import GenBackend
import Measurement
import Reporting

/// What a model will need.
struct ModelsPlanCommand: Command {
  static let configuration = CommandDescription(
    name: "plan", abstract: "Predict the memory and the operations of one image before anything is loaded.",
    discussion: "Weights are mapped from their files and can be dropped by the system; activations can't.",
    arguments: [CommandArgument("path", "A diffusers folder, a .safetensors or a .gguf file.", isOptional: true)],
    options: ModelsSource.options + [
      .value("size", "WxH", "The image's size.", default: "the native one"),
      .value("steps", short: "s", "n", "Denoising steps.", default: "20"),
      .flag(
        "reduce-memory", "One component at a time, guidance in two passes, the VAE in small bands, in tiles beyond 512 pixels."),
      .flag("json", "Print JSON."),
    ])

  private let source: ModelsSource
  private let size: ImageSize?
  private let steps: Int
  private let reducesMemory: Bool
  private let isJSON: Bool

  init(_ values: ParsedValues) throws(UsageError) {
    source = try ModelsSource(values)
    let sizes = try values.sizes("size")
    if sizes.count > 1 { throw UsageError("'--size <WxH>' takes one size here") }
    size = sizes.first
    steps = try values.int("steps", in: 1...10_000) ?? 20
    reducesMemory = values.flag("reduce-memory") ?? false
    isJSON = values.flag("json") ?? false
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let description = try source.describe(context, size: size, reducesMemory: reducesMemory)
    let plan = description.plan
    let weights = plan.components.map { description.weightBytes($0) }
    let weightBytes = reducesMemory ? (weights.max() ?? 0) : weights.reduce(0, +)
    let peakBytes = weightBytes + plan.peakAnonymousBytes
    // Both guidance halves pass through the text encoders and the UNet; the rest sees the image once.
    let operations = plan.components.reduce(0.0) { sum, component in
      switch component.name {
      case "unet": sum + 2 * Double(steps) * component.floatingPointOperations
      case "text_encoder", "text_encoder_2": sum + 2 * component.floatingPointOperations
      default: sum + component.floatingPointOperations
      }
    }
    let available = Conditions.now().availableBytes
    if isJSON {
      context.console.print(
        JSONValue.object([
          "location": .string(description.location), "width": .integer(description.size.width),
          "height": .integer(description.size.height), "steps": .integer(steps), "reduce_memory": .bool(reducesMemory),
          "weight_bytes": .integer(weightBytes), "activation_bytes": .integer(plan.peakActivationBytes),
          "anonymous_bytes": .integer(plan.peakAnonymousBytes), "peak_bytes": .integer(peakBytes), "flop": .number(operations),
          "available_bytes": available.map { .integer(Int(clamping: $0)) } ?? .null,
          "components": .array(
            zip(plan.components, weights).map { component, bytes in
              [
                "name": .string(component.name), "weight_bytes": .integer(bytes),
                "activation_bytes": .integer(component.peakActivationBytes), "flop": .number(component.floatingPointOperations),
              ]
            }),
        ]).text())
      return .success
    }
    var table = TextTable([("component", .left), ("weights", .right), ("activations", .right), ("GFLOP/forward", .right)])
    for (component, bytes) in zip(plan.components, weights) {
      table.append([
        component.name, Units.bytes(Double(bytes)), Units.bytes(Double(component.peakActivationBytes)),
        ModelsShowCommand.giga(component.floatingPointOperations),
      ])
    }
    let console = context.console
    console.print("\(description.location): \(description.size), \(steps) steps with guidance\n")
    console.print(table.markdown)
    console.print(
      "\nPeak: \(Units.bytes(Double(peakBytes))) (weights \(Units.bytes(Double(weightBytes))) mapped"
        + "\(reducesMemory ? ", the largest component" : ""), activations \(Units.bytes(Double(plan.peakActivationBytes))),"
        + " process \(Units.bytes(Double(ModelPlan.processBytes))))")
    console.print("Operations: \(Units.grouped(Int(operations / 1e9))) GFLOP for one image")
    if let available {
      let fits = UInt64(plan.peakAnonymousBytes) <= available
      console.print(
        "Available now: \(Units.bytes(Double(available)))\(fits ? "" : "; it does not fit, choose a smaller size or --reduce-memory")"
      )
    }
    return .success
  }
}
