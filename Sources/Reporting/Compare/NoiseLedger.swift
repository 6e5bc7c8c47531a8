import Checkpoints
public import Foundation
import Measurement

/// How much sessions of one thing differ on a machine, by case and quantity: schema `genbench.noise/1`.
public struct NoiseLedger: Sendable, Hashable, Codable {
  /// The schema that is written.
  public static let schemaName = "genbench.noise/1"

  /// One quantity of one case.
  public struct Entry: Sendable, Hashable, Codable {
    /// The case.
    public var caseID: String
    /// The quantity.
    public var metric: MetricName
    /// The relative standard deviation between sessions.
    public var spread: Double
    /// The relative difference of the medians of two halves that are one and the same.
    public var difference: Double
    /// Sessions that it comes from.
    public var sessions: Int
    /// When it was measured, RFC 3339 in UTC.
    public var measuredAt: String

    /// The smallest true change that a comparison with as many sessions would find 19 times in 20.
    public var detectable: Double? {
      let policy = ComparisonPolicy()
      let noise = max(spread, abs(difference))
      return NoiseFloor.detectableChange(
        limit: max(policy.threshold, policy.noiseFactor * noise), spread: noise, sessions: sessions / 2, sessions - sessions / 2)
    }

    private enum CodingKeys: String, CodingKey {
      case metric, spread, difference, sessions
      case caseID = "case_id"
      case measuredAt = "measured_at"
    }
  }

  /// `genbench.noise/1`.
  public var schema: String
  /// The machine.
  public var machineID: String
  /// Its processor, for people.
  public var cpu: String
  /// The entries, sorted by case and quantity.
  public var entries: [Entry]

  private enum CodingKeys: String, CodingKey {
    case schema, cpu, entries
    case machineID = "machine_id"
  }

  /// Makes an empty ledger.
  public init(machineID: String, cpu: String) {
    schema = Self.schemaName
    self.machineID = machineID
    self.cpu = cpu
    entries = []
  }

  /// The spread of a quantity; nil when it wasn't calibrated.
  public func spread(of metric: MetricName, in caseID: String) -> Double? {
    entries.first { $0.caseID == caseID && $0.metric == metric }.map { max($0.spread, abs($0.difference)) }
  }

  /// Takes what two runs of one thing say, in place of what was known about their cases.
  public mutating func learn(_ first: RunDocument, _ second: RunDocument) {
    for runCase in first.cases {
      guard let other = second.cases.first(where: { $0.caseID == runCase.caseID }), runCase.status == .pass, other.status == .pass
      else { continue }
      for metric in runCase.metrics where metric.polarity != .none {
        guard let twin = other.metric(metric.name),
          let spread = NoiseFloor.relativeSpread([metric.sessionMedians, twin.sessionMedians]),
          let a = Statistics.median(metric.sessionMedians), let b = Statistics.median(twin.sessionMedians), a > 0
        else { continue }
        entries.removeAll { $0.caseID == runCase.caseID && $0.metric == metric.name }
        entries.append(
          Entry(
            caseID: runCase.caseID, metric: metric.name, spread: spread, difference: b / a - 1,
            sessions: metric.sessionMedians.count + twin.sessionMedians.count, measuredAt: second.createdAt))
      }
    }
    entries.sort { ($0.caseID, $0.metric) < ($1.caseID, $1.metric) }
  }
}

/// Baselines and noise ledgers below one folder: `.genbench` of the working directory unless told otherwise.
public struct ResultStore: Sendable {
  /// The folder.
  public let folder: URL

  /// Names a folder; it's made when something is saved.
  public init(folder: URL) { self.folder = folder }

  private var baselines: URL { folder.appendingPathComponent("baselines") }

  /// The file of a baseline.
  ///
  /// - Throws: ``RunDocumentError`` when the name can't be one.
  public func file(ofBaseline name: String) throws(RunDocumentError) -> URL {
    let allowed = name.unicodeScalars.allSatisfy { scalar in
      scalar.isASCII && (scalar.properties.isAlphabetic || "0123456789-_.+@".unicodeScalars.contains(scalar))
    }
    guard allowed, !name.isEmpty, !name.hasPrefix("."), name.count <= 100 else {
      throw RunDocumentError(
        "'\(name)' can't name a baseline: expected up to 100 letters, digits and -_.+@, not beginning with a dot")
    }
    return baselines.appendingPathComponent(name + ".json")
  }

  /// The names of all baselines, sorted.
  public var baselineNames: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: baselines.path)) ?? [])
      .filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.map { String($0.dropLast(5)) }.sorted()
  }

  /// Saves a run as a baseline, without its samples.
  ///
  /// - Throws: `RunDocumentError`, or `CheckpointError` when it can't be written.
  public func save(_ run: RunDocument, as name: String) throws {
    let file = try file(ofBaseline: name)
    try makeFolder(baselines)
    try AtomicFile.write(try run.stripped.json(), to: file.path)
  }

  /// Reads a baseline; nil when there's none of that name.
  ///
  /// - Throws: ``RunDocumentError`` when it's damaged.
  public func baseline(_ name: String) throws(RunDocumentError) -> RunDocument? {
    let file = try file(ofBaseline: name)
    guard let data = FileManager.default.contents(atPath: file.path) else { return nil }
    do { return try RunDocument(json: data) } catch { throw RunDocumentError("\(file.path): \(error.message)") }
  }

  /// Deletes a baseline; whether there was one.
  ///
  /// - Throws: ``RunDocumentError`` when it can't be deleted.
  public func deleteBaseline(_ name: String) throws(RunDocumentError) -> Bool {
    let file = try file(ofBaseline: name)
    guard FileManager.default.fileExists(atPath: file.path) else { return false }
    do { try FileManager.default.removeItem(at: file) } catch {
      throw RunDocumentError("\(file.path): can't be deleted: \(error.localizedDescription)")
    }
    return true
  }

  private func noiseFile(_ machineID: String) -> URL { folder.appendingPathComponent("noise/\(machineID).json") }

  /// The noise of a machine; nil when it wasn't calibrated.
  ///
  /// - Throws: ``RunDocumentError`` when the file is damaged.
  public func noise(of machineID: String) throws(RunDocumentError) -> NoiseLedger? {
    let file = noiseFile(machineID)
    guard let data = FileManager.default.contents(atPath: file.path) else { return nil }
    let ledger: NoiseLedger
    do { ledger = try JSONDecoder().decode(NoiseLedger.self, from: data) } catch {
      throw RunDocumentError("\(file.path): damaged noise ledger: \(error); delete it and calibrate again")
    }
    guard ledger.schema == NoiseLedger.schemaName else {
      throw RunDocumentError("\(file.path): expected \(NoiseLedger.schemaName), found \(ledger.schema)")
    }
    return ledger
  }

  /// Saves the noise of a machine.
  ///
  /// - Returns: The file.
  /// - Throws: `CheckpointError` when it can't be written.
  @discardableResult
  public func save(_ ledger: NoiseLedger) throws -> URL {
    let file = noiseFile(ledger.machineID)
    try makeFolder(file.deletingLastPathComponent())
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    try AtomicFile.write(String(decoding: try encoder.encode(ledger), as: UTF8.self) + "\n", to: file.path)
    return file
  }

  private func makeFolder(_ url: URL) throws {
    do { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) } catch {
      throw CheckpointError(.unwritable, file: url.path, "the folder can't be made: \(error.localizedDescription)")
    }
  }
}
