import Checkpoints
import DiffusionModels
import Foundation
import GenBackend
import KernelContract
import Kernels
import Markup
import Measurement
import ReferenceEngine
import Reporting
import Running
import Tensors

/// `genbench run --suite kernels`: every operator at the shapes that the published models use, against the machine's limits.
struct KernelSuite {
  let variants: [DiffusionVariant]
  /// The image's size; nil for each variant's own.
  let size: ImageSize?
  let threads: Int?
  let precision: Precision
  let folder: URL
  let drawsFigures: Bool
  let isJSON: Bool

  /// What a user asked for.
  ///
  /// - Throws: `UsageError` when a value isn't possible, or an option has no meaning here.
  init(_ values: ParsedValues, folder: URL) throws(UsageError) {
    let names = values.list("variant").isEmpty ? DiffusionVariant.allCases.map(\.rawValue) : values.list("variant")
    var variants: [DiffusionVariant] = []
    for name in names {
      guard let variant = DiffusionVariant(rawValue: name) else {
        throw UsageError(
          "--suite kernels: --variant \(name): expected some of \(DiffusionVariant.allCases.map(\.rawValue).joined(separator: ", "))"
        )
      }
      variants.append(variant)
    }
    self.variants = variants
    let sizes = try values.sizes("size")
    guard sizes.count <= 1 else { throw UsageError("--suite kernels takes one --size, or none for each variant's own") }
    size = sizes.first
    if let size, size.width % 64 != 0 || size.height % 64 != 0 || size.width < 64 || size.height < 64 {
      throw UsageError("--suite kernels: --size \(size): expected multiples of 64")
    }
    let counts = try values.ints("threads", in: 1...1024)
    guard counts.count <= 1 else { throw UsageError("--suite kernels takes one --threads") }
    threads = counts.first
    let precisions = values.list("precision")
    guard precisions.count <= 1, let precision = Precision(rawValue: precisions.first ?? "f32") else {
      throw UsageError("--suite kernels takes one --precision: f32 or bf16")
    }
    self.precision = precision
    self.folder = folder
    drawsFigures = values.flag("plots") ?? true
    isJSON = values.flag("json") ?? false
  }

  /// One operator's result.
  private struct Row {
    var shape: OperatorShape
    /// Calls of one pass of each variant's networks.
    var calls: [String: Int]
    /// Of one call, in ns.
    var time: Summary
  }

  /// The operators of one pass of each variant's networks, each shape once, and how often each variant calls it.
  private func operators() throws -> (order: [OperatorShape], calls: [OperatorShape: [String: Int]]) {
    var order: [OperatorShape] = []
    var calls: [OperatorShape: [String: Int]] = [:]
    for variant in variants {
      let architecture = try DiffusionArchitecture(fullSize: variant)
      let side = architecture.nativeSize
      let size = size ?? ImageSize(width: side, height: side)
      let plan = try ModelPlan(architecture: architecture, width: size.width, height: size.height)
      for component in plan.components {
        for entry in component.operators {
          if calls[entry.shape] == nil { order.append(entry.shape) }
          calls[entry.shape, default: [:]][variant.rawValue, default: 0] += entry.count
        }
      }
    }
    return (order, calls)
  }

  /// Prints what would be measured.
  func show(_ context: CommandContext) throws -> ProgramExit {
    let (order, calls) = try operators()
    for shape in order {
      let counts = variants.map { "\($0.rawValue) \(calls[shape]?[$0.rawValue] ?? 0)" }.joined(separator: ", ")
      context.console.print("\(shape.kind) \(shape.summary): \(counts)")
    }
    context.console.print("\(order.count) operators")
    return .success
  }

  func run(_ context: CommandContext) throws -> ProgramExit {
    let base: any KernelSet
    do { base = try KernelFactory.make(.fast, threads: threads) } catch { throw CommandError(.usage, error.description) }
    guard let kernels = base.with(precision) else {
      throw CommandError(
        .backendUnavailable, "the kernels '\(base.name)' don't have \(precision.rawValue) arithmetic on this CPU")
    }
    try OutputFile.makeFolder(folder.path)
    let probe = MachineProbe.measure(threads: threads)
    let (order, calls) = try operators()
    let display = ProgressDisplay("kernels", total: order.count, console: context.console)
    let benchmark = OperatorBenchmark(kernels: kernels)
    var rows: [Row] = []
    for (index, shape) in order.enumerated() {
      if context.interrupts.signal != nil { break }
      rows.append(Row(shape: shape, calls: calls[shape] ?? [:], time: Summary(benchmark.measure(shape))))
      BufferPool.current.trim()
      display.update(done: index + 1, detail: "\(shape.kind) \(shape.summary)")
    }
    display.finish()
    let document = try json(rows, kernels: kernels, probe: probe)
    try OutputFile(folder.appendingPathComponent("kernels.json").path).write(document + "\n")
    let table = table(rows, kernels: kernels, probe: probe)
    try OutputFile(folder.appendingPathComponent("kernels.md").path).write(table)
    if drawsFigures, let probe { draw(rows, probe, kernels, context) }
    context.console.print(isJSON ? document : table.trimmingSpaces())
    context.console.say("Files are in \(folder.relativePath)")
    if let signal = context.interrupts.signal {
      return ProgramExit(CommandError(.incomplete, "interrupted after \(rows.count) of \(order.count) operators"), signal: signal)
    }
    return .success
  }

  // MARK: - Telling

  /// The least time that the machine's limits allow, in ns: arithmetic or memory, whichever takes longer.
  private func leastTime(_ shape: OperatorShape, _ probe: EnvironmentRecord.Probe) -> Double {
    max(shape.floatingPointOperations / probe.gigaflopsF32, shape.bytesMoved / probe.memoryGigabytesPerSecond)
  }

  private func table(_ rows: [Row], kernels: any KernelSet, probe: EnvironmentRecord.Probe?) -> String {
    var table = TextTable([
      ("Operator", .left), ("Shape", .left), ("Calls", .right), ("ms", .right), ("±", .right), ("GFLOP/s", .right),
      ("GB/s", .right),
      ("of the roof", .right), ("Share", .right),
    ])
    let spent = rows.map { ($0.time.median ?? 0) * Double($0.calls.values.reduce(0, +)) }
    let total = max(1, spent.reduce(0, +))
    for index in rows.indices.sorted(by: { spent[$0] > spent[$1] }) {
      let row = rows[index]
      let ns = row.time.median ?? 0
      let flops = row.shape.floatingPointOperations
      table.append([
        row.shape.kind, row.shape.summary,
        variants.map { String(row.calls[$0.rawValue] ?? 0) }.joined(separator: "/"), String(format: "%.3f", ns / 1e6),
        String(format: "%.1f %%", 100 * (row.time.mad ?? 0) / max(1, ns)),
        flops > 0 ? String(format: "%.0f", flops / max(1, ns)) : "", String(format: "%.1f", row.shape.bytesMoved / max(1, ns)),
        probe.map { String(format: "%.0f %%", 100 * leastTime(row.shape, $0) / max(1, ns)) } ?? "",
        String(format: "%.1f %%", 100 * spent[index] / total),
      ])
    }
    let limits = probe.map {
      "peak \(Units.significant($0.gigaflopsF32)) GFLOP/s (multiplications and additions in registers), "
        + "\(Units.significant($0.memoryGigabytesPerSecond)) GB/s (copy)"
    }
    return """
      # Operators: \(kernels.name), \(kernels.threadCount) threads, \(precision.rawValue)

      \(limits ?? "The machine's limits couldn't be measured."). FLOP are those of the plain algorithm, so a convolution by Winograd \
      may be above the roof; bytes are operands, weights (f16) and results, once. Calls: one pass of each of \
      \(variants.map(\.rawValue).joined(separator: "/")), all networks, both guidance halves; share: of all these calls' time.

      \(table.markdown)

      """
  }

  /// The file's content, schema `genbench.kernels/1`; times in ns.
  private struct Document: Encodable {
    struct Operator: Encodable {
      var name: String
      var shape: String
      var calls: [String: Int]
      var time_ns: Summary
      var flop: Double
      var bytes: Double
    }
    var schema = "genbench.kernels/1"
    var kernels: String
    var threads: Int
    var precision: String
    var peak_gflops: Double?
    var memory_gb_s: Double?
    var operators: [Operator]
  }

  private func json(_ rows: [Row], kernels: any KernelSet, probe: EnvironmentRecord.Probe?) throws -> String {
    let document = Document(
      kernels: kernels.name, threads: kernels.threadCount, precision: precision.rawValue, peak_gflops: probe?.gigaflopsF32,
      memory_gb_s: probe?.memoryGigabytesPerSecond,
      operators: rows.map {
        Document.Operator(
          name: $0.shape.kind, shape: $0.shape.summary, calls: $0.calls, time_ns: $0.time, flop: $0.shape.floatingPointOperations,
          bytes: $0.shape.bytesMoved)
      })
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(document), as: UTF8.self)
  }

  /// Each operator over its operations a byte, below the machine's roof.
  private func draw(_ rows: [Row], _ probe: EnvironmentRecord.Probe, _ kernels: any KernelSet, _ context: CommandContext) {
    let kinds = ["conv2d", "linear", "attention"]
    var blocks: [String] = []
    var plots = ["roof(x) with lines lw 2 lc rgb '#888888' title 'roof'"]
    let colours = ["#d95f02", "#1b6ca8", "#2a9d4a"]
    for (kind, colour) in zip(kinds, colours) {
      let lines = rows.filter { $0.shape.kind == kind && ($0.time.median ?? 0) > 0 }.map { row in
        "\(row.shape.floatingPointOperations / row.shape.bytesMoved) \(row.shape.floatingPointOperations / (row.time.median ?? 1))"
      }
      if lines.isEmpty { continue }
      plots.append(
        "'kernels-roofline.dat' index \(blocks.count) using 1:2 with points pt 7 ps 1 lc rgb '\(colour)' title '\(kind)'")
      blocks.append((["# \(kind): FLOP/byte, GFLOP/s"] + lines).joined(separator: "\n"))
    }
    let title =
      "Operators of \(variants.map(\.rawValue).joined(separator: ", ")), \(kernels.name), \(kernels.threadCount) threads: peak "
      + "\(Units.significant(probe.gigaflopsF32)) GFLOP/s, \(Units.significant(probe.memoryGigabytesPerSecond)) GB/s"
    let figure = Gnuplot.Figure(
      name: "kernels-roofline", data: blocks.joined(separator: "\n\n\n") + "\n",
      commands: """
        set title \(GnuplotText.quoted(title))
        set xlabel 'FLOP per byte'
        set ylabel 'GFLOP/s (of the plain algorithm)'
        set logscale xy
        set samples 400
        set xrange [1:2000]
        set yrange [1:\(probe.gigaflopsF32 * 4)]
        roof(x) = \(probe.memoryGigabytesPerSecond)*x < \(probe.gigaflopsF32) ? \(probe.memoryGigabytesPerSecond)*x : \(probe.gigaflopsF32)
        plot \(plots.joined(separator: ", \\\n  "))
        """)
    do {
      if let complaint = try Gnuplot.draw(figure, in: folder, environment: context.environment).complaint(about: figure.name) {
        context.console.warn(complaint)
      }
    } catch {
      context.console.warn("\(error)")
    }
  }
}
