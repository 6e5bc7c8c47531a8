import Checkpoints
import Foundation
import Reporting
import Running
import Tensors

/// Finds where two engines part.
struct DiffCommand: Command {
  static let configuration = CommandDescription(
    name: "diff", abstract: "Find the first place where two traces of one image part.",
    discussion: """
      Traces come from 'generate --trace' (with '--trace-level block' down to blocks) or from any engine that writes the same \
      names. Both must be of one request with the same noise. Exits with 7 when they part.
      """,
    arguments: [
      CommandArgument("a", "A trace, .safetensors; what the other one is held against."), CommandArgument("b", "The other one."),
    ],
    options: [
      .value("tolerance", "x", "The largest relative difference that counts as equal.", default: "0.001"),
      .flag("all", "Show every entry, not only those of the loop."), .flag("json", "Print JSON."),
    ])

  private let values: ParsedValues
  private let tolerance: Double

  init(_ values: ParsedValues) throws(UsageError) {
    self.values = values
    tolerance = try values.double("tolerance", in: 0...1e6) ?? 1e-3
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let (a, b) = (values.positionals[0], values.positionals[1])
    let diff = TraceDiff(try Self.read(a), try Self.read(b))
    guard !diff.entries.isEmpty else {
      throw CommandError(.badInput, "\(a) and \(b) have no entry in common; expected two traces of 'generate --trace'")
    }
    let first = diff.firstOff(tolerance)
    if values.flag("json") == true {
      context.console.print(json(diff, first).text())
    } else {
      show(diff, first, context.console)
    }
    guard let first else { return .success }
    return ProgramExit(.nonconforming, "they part at \(first.name): \(first.stage)")
  }

  private static func read(_ path: String) throws -> [String: Tensor] {
    let file = try SafetensorsFile(path: path)
    return Dictionary(
      file.weightNames.compactMap { name in file.weight(named: name).map { (name, $0.float32()) } },
      uniquingKeysWith: { first, _ in first })
  }

  private func show(_ diff: TraceDiff, _ first: TraceDiff.Entry?, _ console: Console) {
    if let first {
      let place = diff.entries.firstIndex(of: first) ?? 0
      console.print("They part at \(first.name): \(first.stage).")
      console.print(
        first.shapes.map { "Their shapes differ: \($0)." }
          ?? "Largest difference \(Float(first.maxAbsolute)), relative \(Float(first.maxRelative)) (tolerance \(Float(tolerance)))."
      )
      console.print(
        place == 0
          ? "It's the first entry." : "The \(place) entries before it agree; the last of them is \(diff.entries[place - 1].name)."
      )
    } else {
      console.print("They agree in all \(diff.entries.count) entries within \(Float(tolerance)).")
    }
    var table = TextTable([("entry", .left), ("relative", .right), ("NMSE", .right), ("cosine", .right), ("", .left)])
    let isShort = values.flag("all") != true && diff.entries.count > 24
    for entry in diff.entries
    where !isShort || entry.name.hasPrefix("latents.") || entry.name == "image" || entry == first
      || entry.step == nil && !entry.stage.contains("block")
    {
      table.append([
        entry.name, entry.shapes ?? String(format: "%.2e", entry.maxRelative), String(format: "%.1e", entry.nmse),
        entry.cosine.map { String(format: "%.7f", $0) } ?? "-",
        entry == first ? "<- parts here" : entry.isOff(tolerance) ? "off" : "",
      ])
    }
    console.print("\n" + table.markdown)
    for (names, which) in [(diff.onlyFirst, "the first"), (diff.onlySecond, "the second")] where !names.isEmpty {
      console.print(
        "\nOnly \(which) has \(names.prefix(6).joined(separator: ", "))\(names.count > 6 ? " and \(names.count - 6) more" : "").")
    }
  }

  private func json(_ diff: TraceDiff, _ first: TraceDiff.Entry?) -> JSONValue {
    func number(_ value: Double) -> JSONValue { value.isFinite ? .number(value) : .null }
    func object(_ entry: TraceDiff.Entry) -> JSONValue {
      [
        "name": .string(entry.name), "stage": .string(entry.stage), "step": entry.step.map { .integer($0) } ?? .null,
        "max_relative": number(entry.maxRelative), "max_absolute": number(entry.maxAbsolute), "nmse": number(entry.nmse),
        "cosine": entry.cosine.map(number) ?? .null, "shapes": entry.shapes.map { .string($0) } ?? .null,
        "agrees": .bool(!entry.isOff(tolerance)),
      ]
    }
    return [
      "agree": .bool(first == nil), "tolerance": .number(tolerance), "first": first.map(object) ?? .null,
      "entries": .array(diff.entries.map(object)), "only_first": .array(diff.onlyFirst.map { .string($0) }),
      "only_second": .array(diff.onlySecond.map { .string($0) }),
    ]
  }
}
