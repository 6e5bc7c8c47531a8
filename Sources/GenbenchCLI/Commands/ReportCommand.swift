import Checkpoints
import Foundation
import Imaging
import Reporting
import Running
import Tensors

/// Tells a run in another form.
struct ReportCommand: Command {
  /// The forms.
  enum Format: String, CaseIterable {
    case html, md, junit, csv, trace, github, bmf, hyperfine, gbench, json
  }

  static let configuration = CommandDescription(
    name: "report", abstract: "Tell a run as a page, a table, or in the format of another tool.",
    discussion: """
      html: one page with charts and images. md: for pull requests. junit: for CI. csv: one line a sample. trace: for \
      ui.perfetto.dev. github: github-action-benchmark, two files. bmf: bencher. hyperfine and gbench: their JSON. json: run.json.
      """,
    arguments: [
      CommandArgument("format", Format.allCases.map(\.rawValue).joined(separator: ", ") + "."),
      CommandArgument("run", "A run's folder, its run.json, a baseline, or RUN#SIDE."),
    ],
    options: [
      .value("out", short: "o", "file", "Write a file (github: a folder) in place of printing."),
      .value("against", "run", "html, md, junit: compare with this run, images too."), StoreOptions.option,
    ])

  private let values: ParsedValues
  private let format: Format

  init(_ values: ParsedValues) throws(UsageError) {
    self.values = values
    let word = values.positionals[0]
    let known = Format.allCases.map(\.rawValue)
    guard let format = Format(rawValue: word) else {
      throw UsageError(
        "Unknown format '\(word)'\(Suggestion.text(for: word, among: known)) (formats: \(known.joined(separator: ", ")))")
    }
    self.format = format
    if values.string("against") != nil, ![.html, .md, .junit].contains(format) {
      throw UsageError("--against belongs to html, md and junit")
    }
  }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    let store = StoreOptions.store(values, context)
    let out = values.string("out")
    if let out, format != .github { try OutputFile(out).check() }
    let reference = try StoreOptions.load(values.positionals[1], store: store)
    let run = reference.run
    let other = try values.string("against").map { try StoreOptions.load($0, store: store) }
    let comparison = other.map { RunComparison(base: ($0.run, $0.name), candidate: (run, reference.name)) }
    if format == .github { return try writeGithub(run, to: out, context) }
    let text: String
    switch format {
    case .html: text = page(reference, other, comparison)
    case .md: text = (comparison.map { ComparisonTable.markdown($0) + "\n" } ?? "") + MarkdownReport.text(run)
    case .junit: text = comparison.map { JUnitReport.xml($0, candidate: run) } ?? JUnitReport.xml(run)
    case .csv: text = CSVReport.text(run)
    case .trace: text = TraceReport.json(run, journal: try journal(reference))
    case .bmf: text = ForeignFormats.bmf(run)
    case .hyperfine: text = ForeignFormats.hyperfine(run)
    case .gbench: text = ForeignFormats.googleBenchmark(run)
    case .json, .github: text = try run.json()
    }
    if let out {
      try OutputFile(out).write(text)
      context.console.say("Wrote \(out)")
    } else {
      context.console.printRaw(text)
    }
    return .success
  }

  private func journal(_ reference: RunReference) throws -> [JournalEvent] {
    guard let file = reference.folder?.appendingPathComponent(Journal.fileName), FileManager.default.fileExists(atPath: file.path)
    else {
      throw CommandError(
        .inputMissing,
        "\(reference.name): no \(Journal.fileName) beside it, which the trace is made from; expected a run's whole folder")
    }
    do { return try Journal.read(file).events } catch { throw CommandError(.badInput, error.message) }
  }

  private func writeGithub(_ run: RunDocument, to out: String?, _ context: CommandContext) throws -> ProgramExit {
    guard let out else {
      throw UsageError("github writes two files, as one holds quantities of one direction: give --out DIR")
    }
    try OutputFile.makeFolder(out)
    for (name, polarity) in [("smaller-is-better", RunCase.Metric.Polarity.lower), ("bigger-is-better", .higher)] {
      try OutputFile("\(out)/\(name).json").write(ForeignFormats.githubActionBenchmark(run, polarity: polarity))
    }
    context.console.say("Wrote \(out)/smaller-is-better.json and \(out)/bigger-is-better.json")
    return .success
  }

  // MARK: - The page

  private func page(_ reference: RunReference, _ other: RunReference?, _ comparison: RunComparison?) -> String {
    HTMLReport(
      reference.run, comparison: comparison,
      thumbnail: { artifact in
        Self.image(artifact, in: reference.folder).flatMap { try? Data(PNGFile.encode(Self.fitted($0, to: 192))) }
      },
      pair: { runCase, artifact in
        guard let other, let twin = other.run.cases.first(where: { $0.caseID == runCase.caseID }),
          let name = artifact.split(separator: "/").last,
          let match = twin.artifacts.first(where: { $0.split(separator: "/").last == name }),
          let mine = Self.image(artifact, in: reference.folder), let theirs = Self.image(match, in: other.folder)
        else { return nil }
        return Self.pair(mine, theirs)
      }
    ).page
  }

  private static func image(_ artifact: String, in folder: URL?) -> Bitmap? {
    guard let folder, !artifact.hasPrefix("/"), !artifact.split(separator: "/").contains("..") else { return nil }
    return try? ImageFile.read(path: folder.appendingPathComponent(artifact).path).rgbOnWhite()
  }

  private static func fitted(_ image: Bitmap, to side: Int) -> Bitmap {
    let scale = Double(side) / Double(max(image.width, image.height))
    guard scale < 1 else { return image }
    return Resample.resize(
      image, width: max(1, Int(Double(image.width) * scale)), height: max(1, Int(Double(image.height) * scale)), filter: .lanczos)
  }

  /// Both images and a heat map of their largest difference at each pixel.
  static func pair(_ mine: Bitmap, _ theirs: Bitmap) -> HTMLReport.ImagePair? {
    guard let first = try? PNGFile.encode(fitted(mine, to: 192)), let second = try? PNGFile.encode(fitted(theirs, to: 192)) else {
      return nil
    }
    guard mine.width == theirs.width, mine.height == theirs.height else {
      return .init(
        candidate: Data(first), base: Data(second), difference: nil,
        text: "\(mine.width)x\(mine.height) against \(theirs.width)x\(theirs.height)")
    }
    var heat = [UInt8](repeating: 0, count: mine.samples.count)
    var squares = 0.0
    var largest = 0
    for pixel in 0..<(mine.width * mine.height) {
      var worst = 0
      for channel in 0..<3 {
        let distance = abs(Int(mine.samples[pixel * 3 + channel]) - Int(theirs.samples[pixel * 3 + channel]))
        squares += Double(distance * distance)
        worst = max(worst, distance)
      }
      largest = max(largest, worst)
      // Black, red, yellow, white; a difference of 64 of 255 is white, so that small ones are seen.
      let value = min(255, worst * 12)
      heat[pixel * 3] = UInt8(min(255, value))
      heat[pixel * 3 + 1] = UInt8(min(255, max(0, worst * 12 - 255)))
      heat[pixel * 3 + 2] = UInt8(min(255, max(0, worst * 12 - 510)))
    }
    let difference = try? PNGFile.encode(fitted(Bitmap(width: mine.width, height: mine.height, samples: heat), to: 192))
    let mean = squares / Double(max(1, mine.samples.count))
    let text =
      mean == 0 ? "identical" : "PSNR \(Units.significant(10 * log10(255 * 255 / mean))) dB, largest difference \(largest) of 255"
    return .init(candidate: Data(first), base: Data(second), difference: difference.map { Data($0) }, text: text)
  }
}
