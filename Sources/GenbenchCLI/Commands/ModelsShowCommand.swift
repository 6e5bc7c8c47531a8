import Checkpoints
import DiffusionModels
import Reporting

/// What a model is made of.
struct ModelsShowCommand: Command {
  static let configuration = CommandDescription(
    name: "show", abstract: "Show the components of a model: class, configuration, parameters, bytes, operations.",
    discussion: """
      Operations are for one forward pass of batch 1 at the native size, a multiplication-addition counted as two; the VAE's \
      are those of decoding.
      """,
    arguments: [CommandArgument("path", "A diffusers folder, a .safetensors or a .gguf file.", isOptional: true)],
    options: ModelsSource.options + [.flag("json", "Print JSON.")])

  private let source: ModelsSource
  private let isJSON: Bool

  init(_ values: ParsedValues) throws(UsageError) {
    source = try ModelsSource(values)
    isJSON = values.flag("json") ?? false
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let description = try source.describe(context)
    let plan = description.plan
    if isJSON {
      let components = plan.components.map { component -> JSONValue in
        [
          "name": .string(component.name), "class": .string(component.className),
          "parameters": .integer(component.parameterCount),
          "bytes": .integer(description.weightBytes(component)), "flop_per_forward": .number(component.floatingPointOperations),
          "config": .object(Dictionary(uniqueKeysWithValues: description.keyConfig(component.name).map { ($0.key, $0.value) })),
        ]
      }
      context.console.print(
        JSONValue.object([
          "location": .string(description.location), "variant": .string(description.architecture.variant.rawValue),
          "prediction_type": .string(description.predictionType), "native_size": .integer(description.nativeSize),
          "parameters": .integer(plan.parameterCount), "components": .array(components),
        ]).text())
      return .success
    }
    context.console.print(
      "\(description.location): \(description.architecture.variant.rawValue), \(description.predictionType), "
        + "native size \(description.nativeSize)x\(description.nativeSize)\n")
    var table = TextTable([
      ("component", .left), ("class", .left), ("parameters", .right), ("bytes", .right), ("GFLOP/forward", .right),
      ("configuration", .left),
    ])
    var bytes = 0
    for component in plan.components {
      bytes += description.weightBytes(component)
      table.append([
        component.name, component.className, Units.grouped(component.parameterCount),
        Units.bytes(Double(description.weightBytes(component))), Self.giga(component.floatingPointOperations),
        description.keyConfig(component.name).map { "\($0.key) \($0.value)" }.joined(separator: "; "),
      ])
    }
    table.append(["all", "", Units.grouped(plan.parameterCount), Units.bytes(Double(bytes)), "", ""])
    context.console.print(table.markdown)
    return .success
  }

  /// Operations in units of 10^9, with one digit behind the point from 10 on.
  static func giga(_ operations: Double) -> String { Units.significant(operations / 1e9, digits: operations >= 1e12 ? 5 : 4) }
}
