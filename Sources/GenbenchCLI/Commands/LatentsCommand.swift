import Checkpoints
import GenBackend
import Running
import Tensors

/// Writes the noise of a seed.
struct LatentsCommand: Command {
  static let configuration = CommandDescription(
    name: "latents", abstract: "Write the unit-normal noise of a seed as .npy.",
    options: [
      .value("seed", "n", "The seed.", isRequired: true),
      .value("rng", "name", "The generator.", default: "torch", values: RandomSource.allCases.map(\.rawValue)),
      .value("shape", "list", "The extents, separated by commas.", default: "1,4,64,64"),
      .value("output", short: "o", "file", "The .npy file that is written.", isRequired: true),
      .flag("json", "Print what was written as JSON."),
    ])

  private let seed: UInt64
  private let source: RandomSource
  private let shape: Shape
  private let output: OutputFile
  private let isJSON: Bool

  init(_ values: ParsedValues) throws(UsageError) {
    seed = try values.seed("seed") ?? 0
    source = try values.choice("rng") ?? .torch
    guard seed <= source.largestSeed else {
      throw UsageError(
        "The value '\(seed)' is invalid for '--seed <n>': \(source.rawValue) takes 0 to \(source.largestSeed)")
    }
    let text = values.string("shape") ?? "1,4,64,64"
    let extents = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0.trimmingSpaces()) }
    var count = 1
    for extent in extents {
      guard let extent, extent > 0 else {
        throw UsageError(
          "The value '\(text)' is invalid for '--shape <list>': expected whole numbers of at least 1, such as 1,4,64,64")
      }
      let (product, overflow) = count.multipliedReportingOverflow(by: extent)
      guard !overflow, product <= 1 << 28 else {
        throw UsageError("The value '\(text)' is invalid for '--shape <list>': more than \(1 << 28) elements")
      }
      count = product
    }
    shape = Shape(extents.compactMap { $0 })
    output = OutputFile(values.string("output") ?? "")
    isJSON = values.flag("json") ?? false
    if output.isStdout, isJSON { throw UsageError("--output - takes stdout for the noise; --json does too") }
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    try output.check()
    var noise = source.makeNoiseSource(seed: seed)
    try NumPyFile.write(noise.normals(shape: shape), to: output.path)
    if isJSON {
      context.console.print(
        JSONValue.object([
          "output": .string(output.path), "seed": JSONValue(seed), "rng": .string(source.rawValue),
          "shape": .array(shape.dimensions.map { .integer($0) }),
        ]).text())
    } else if !output.isStdout {
      context.console.print(output.path)
    }
    return .success
  }
}
