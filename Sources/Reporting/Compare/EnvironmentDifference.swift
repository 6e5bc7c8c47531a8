import Measurement

/// A fact about machine or build that two runs don't share.
public struct EnvironmentDifference: Sendable, Hashable, Codable {
  /// What differs: `cpu.model`.
  public var fact: String
  /// The base's.
  public var base: String
  /// The candidate's.
  public var candidate: String
  /// Whether speeds can't be compared then.
  public var isDecisive: Bool

  private enum CodingKeys: String, CodingKey {
    case fact, base, candidate
    case isDecisive = "decisive"
  }

  /// All facts that differ, decisive ones first.
  public static func between(_ base: RunDocument, _ candidate: RunDocument) -> [EnvironmentDifference] {
    var found: [EnvironmentDifference] = []
    func compare(_ fact: String, _ old: String?, _ new: String?, decisive: Bool = false) {
      guard old != new else { return }
      // What one side doesn't know decides nothing.
      found.append(
        .init(fact: fact, base: old ?? "unknown", candidate: new ?? "unknown", isDecisive: decisive && old != nil && new != nil))
    }
    func text<Value>(_ value: Value?) -> String? { value.map { "\($0)" } }
    let (a, b) = (base.environment, candidate.environment)
    let machines = (
      Set(base.parents.compactMap(\.environment.machineID)), Set(candidate.parents.compactMap(\.environment.machineID))
    )
    if machines.0.isEmpty, machines.1.isEmpty { compare("machine", a.machineID, b.machineID, decisive: true) }
    compare("cpu.model", a.cpu.model, b.cpu.model, decisive: true)
    compare("cpu.logical", text(a.cpu.logical), text(b.cpu.logical), decisive: true)
    compare("build", base.tool.build.config, candidate.tool.build.config, decisive: true)
    compare("memory.total_bytes", text(a.memory.totalBytes), text(b.memory.totalBytes))
    compare("cpu.governor", a.cpu.governor, b.cpu.governor)
    compare("cpu.boost", text(a.cpu.boost), text(b.cpu.boost))
    compare("cpu.features", a.cpu.features.joined(separator: " "), b.cpu.features.joined(separator: " "))
    compare("cpu_quota", text(a.container.cpuQuota), text(b.container.cpuQuota))
    compare("memory_limit", text(a.container.memoryLimitBytes), text(b.container.memoryLimitBytes))
    compare("thp", a.memory.thp, b.memory.thp)
    compare("kernel", a.os.kernel, b.os.kernel)
    compare("os", a.os.name, b.os.name)
    compare("swift", base.tool.build.swiftVersion, candidate.tool.build.swiftVersion)
    compare("commit", base.tool.commit.map { String($0.prefix(12)) }, candidate.tool.commit.map { String($0.prefix(12)) })
    compare("tool", base.tool.version, candidate.tool.version)
    let (x, y) = (details(base), details(candidate))
    for key in Set(x.keys).union(y.keys).sorted() { compare("backend.\(key)", x[key], y[key]) }
    return found.filter(\.isDecisive) + found.filter { !$0.isDecisive }
  }

  /// What the engines say of themselves, where all subjects say the same.
  private static func details(_ run: RunDocument) -> [String: String] {
    var merged: [String: Set<String>] = [:]
    for subject in run.subjects {
      for (key, value) in subject.backend.details { merged[key, default: []].insert(value) }
    }
    return merged.compactMapValues { $0.count == 1 ? $0.first : nil }
  }
}
