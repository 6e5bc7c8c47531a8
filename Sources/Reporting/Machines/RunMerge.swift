import Checkpoints
public import Foundation
import Measurement

/// Why parts can't be put together.
public struct RunMergeError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What was expected and found.
  public let message: String
  /// Whether parts are missing, rather than contradicting each other.
  public let isIncomplete: Bool
  /// The message.
  public var description: String { message }
}

/// Puts the shards of one plan together.
public enum RunMerge {
  /// One run to be merged.
  public struct Part: Sendable {
    /// How it was named.
    public var name: String
    /// The run.
    public var run: RunDocument
    /// The folder of its files.
    public var folder: URL?

    /// Makes a part.
    public init(name: String, run: RunDocument, folder: URL?) {
      self.name = name
      self.run = run
      self.folder = folder
    }
  }

  /// One run out of parts; each case keeps the machine that measured it.
  ///
  /// - Parameter anyway: Whether to go on with holes, with duplicates (the later one is taken) and with parts of several plans.
  /// - Throws: ``RunMergeError`` that lists what is missing, there twice, or of another plan.
  public static func merge(_ parts: [Part], anyway: Bool) throws(RunMergeError) -> RunDocument {
    guard let first = parts.first else { throw RunMergeError(message: "nothing to merge", isIncomplete: true) }
    var warnings: [String] = []
    func object(_ message: String, isIncomplete: Bool) throws(RunMergeError) {
      guard anyway else {
        throw RunMergeError(message: message + "; --merge-anyway merges all the same", isIncomplete: isIncomplete)
      }
      warnings.append("merged in spite of this: " + message)
    }
    let plans = Set(parts.map { $0.run.planHash ?? "none" })
    if plans.count > 1 {
      let list = parts.map { "\($0.name): \(($0.run.planHash ?? "none").prefix(8))" }.joined(separator: ", ")
      try object("parts of \(plans.count) plans (\(list)), which measure different things", isIncomplete: false)
    }
    let count = first.run.shard?.count ?? 1
    let counts = Set(parts.map { $0.run.shard?.count ?? 1 })
    if counts.count > 1 {
      try object(
        "the plan was cut into \(counts.sorted().map(String.init).joined(separator: " and ")) parts", isIncomplete: false)
    }
    var byIndex: [Int: [Part]] = [:]
    for part in parts { byIndex[part.run.shard?.index ?? 1, default: []].append(part) }
    let twice = byIndex.filter { $0.value.count > 1 }.sorted { $0.key < $1.key }
    if !twice.isEmpty {
      let list = twice.map { "\($0.key)/\(count) in \($0.value.map(\.name).joined(separator: " and "))" }
      try object("parts that are there twice: \(list.joined(separator: ", "))", isIncomplete: false)
    }
    let missing = (1...max(1, count)).filter { byIndex[$0] == nil }
    if !missing.isEmpty {
      try object("parts that are missing: \(missing.map { "\($0)/\(count)" }.joined(separator: ", "))", isIncomplete: true)
    }
    let open = parts.filter { $0.run.status == .incomplete }
    if !open.isEmpty {
      try object(
        "parts that are incomplete: \(open.map(\.name).joined(separator: ", ")) (--resume goes on with them)", isIncomplete: true)
    }
    return join(parts, warnings: warnings)
  }

  private static func join(_ parts: [Part], warnings: [String]) -> RunDocument {
    var merged = parts[0].run
    merged.shard = nil
    merged.warnings = warnings
    merged.cases = []
    merged.subjects = []
    merged.faults = []
    merged.parents = []
    for part in parts {
      let run = part.run
      merged.parents +=
        run.parents.isEmpty
        ? [.init(runID: run.runID, shard: run.shard, environment: run.environment)] : run.parents
      for subject in run.subjects where !merged.subjects.contains(where: { $0.id == subject.id }) {
        merged.subjects.append(subject)
      }
      for fault in run.faults where !merged.faults.contains(fault) { merged.faults.append(fault) }
      for warning in run.warnings where !merged.warnings.contains(warning) { merged.warnings.append(warning) }
      for var runCase in run.cases {
        runCase.machineID = runCase.machineID ?? run.environment.machineID
        merged.cases.removeAll { $0.key == runCase.key && $0.side == runCase.side }
        merged.cases.append(runCase)
      }
    }
    merged.cases.sort { ($0.key, $0.side ?? "") < ($1.key, $1.side ?? "") }
    merged.createdAt = parts.map(\.run.createdAt).min() ?? merged.createdAt
    // The worst end of all parts.
    let order: [Int32] = [3, 7, 9]
    let worst = order.lazy.compactMap { code in parts.first { $0.run.exit.code == code } }.first
    merged.exit = worst?.run.exit ?? .init(code: 0, reason: nil)
    merged.status = parts.contains { $0.run.status == .incomplete } || !warnings.isEmpty ? .incomplete : .complete
    return merged
  }

  /// Copies the images and the journal of a part into a folder.
  ///
  /// - Throws: `CheckpointError` when something can't be written.
  public static func copyFiles(of part: Part, to folder: URL) throws {
    guard let source = part.folder, source.standardizedFileURL != folder.standardizedFileURL else { return }
    let manager = FileManager.default
    for artifact in part.run.cases.flatMap(\.artifacts) {
      let (from, to) = (source.appendingPathComponent(artifact), folder.appendingPathComponent(artifact))
      // Paths of a file from elsewhere mustn't lead out of the folder.
      guard !artifact.split(separator: "/").contains(".."), !artifact.hasPrefix("/"),
        let data = manager.contents(atPath: from.path)
      else { continue }
      do { try manager.createDirectory(at: to.deletingLastPathComponent(), withIntermediateDirectories: true) } catch {
        throw CheckpointError(.unwritable, file: to.path, "the folder can't be made: \(error.localizedDescription)")
      }
      try AtomicFile.write(data, to: to.path)
    }
    if let journal = manager.contents(atPath: source.appendingPathComponent(Journal.fileName).path) {
      let target = folder.appendingPathComponent(Journal.fileName)
      try AtomicFile.write((manager.contents(atPath: target.path) ?? Data()) + journal, to: target.path)
    }
    let plan = folder.appendingPathComponent("plan.json")
    if !manager.fileExists(atPath: plan.path),
      let data = manager.contents(atPath: source.appendingPathComponent("plan.json").path)
    {
      try AtomicFile.write(data, to: plan.path)
    }
  }
}
