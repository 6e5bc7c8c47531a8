#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What the system lets this process use: its processors and its control groups.
///
/// All groups from the process's own up to the outermost one that can be seen count, as the tightest holds (cgroups(7);
/// both versions, also side by side). nil is "no limit, or not told".
public struct ProcessLimits: Sendable, Hashable {
  /// 1 or 2: the version of the groups that limit memory, else processors.
  public private(set) var cgroupVersion: Int?
  /// Processors' worth of time.
  public private(set) var cpuQuota: Double?
  /// Memory that may be used.
  public private(set) var memoryLimitBytes: UInt64?
  /// Memory that the tightest group still has; pages of files that can be dropped count as free.
  public private(set) var memoryLeftBytes: UInt64?
  /// Processors that threads of this process may run on.
  public private(set) var allowedProcessors: Int?

  /// The limits of this process now.
  public static func current() -> ProcessLimits { ProcessLimits { Self.contents("/" + $0) } }

  /// The threads that make sense: no more than processors, or than a quota keeps busy.
  public var threadCount: Int? {
    let byQuota = cpuQuota.map { max(1, Int(min($0, 1e6))) }
    guard let allowed = allowedProcessors else { return byQuota }
    return max(1, min(allowed, byQuota ?? allowed))
  }

  /// Reads the limits.
  ///
  /// - Parameter read: The text of a file, named as `proc/self/cgroup`; nil when there's none.
  public init(read: (String) -> String?) {
    let places = Places(read)
    if let group = places.group("memory") { memory(group, read) }
    if let group = places.group("cpu") { processors(group, read) }
    let status = (read("proc/self/status") ?? "").split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") }
    guard let allowed = status.flatMap({ Self.numbers($0.dropFirst(18)) }) else { return }
    // The list may name processors that the machine doesn't have.
    let online = read("sys/devices/system/cpu/online").flatMap { Self.numbers($0[...]) }
    allowedProcessors = online.map { allowed.intersection($0).count } ?? allowed.count
    if allowedProcessors == 0 { allowedProcessors = nil }
  }

  private mutating func memory(_ group: Group, _ read: (String) -> String?) {
    let isNew = group.version == 2
    for folder in group.folders {
      guard let text = read(folder + (isNew ? "/memory.max" : "/memory.limit_in_bytes")) else { continue }
      cgroupVersion = group.version
      let stat = Self.table(read(folder + "/memory.stat"))
      // What lies above and can't be seen is told below; version 1 writes "no limit" as a number near 2^63.
      let told = [UInt64(text.trimmed), isNew ? nil : stat["hierarchical_memory_limit"]].compactMap { $0 }
      guard let limit = told.filter({ $0 < 1 << 60 }).min() else { continue }
      memoryLimitBytes = min(memoryLimitBytes ?? .max, limit)
      if let used = read(folder + (isNew ? "/memory.current" : "/memory.usage_in_bytes")).flatMap({ UInt64($0.trimmed) }) {
        let droppable = stat[isNew ? "inactive_file" : "total_inactive_file"] ?? 0
        let kept = used > droppable ? used - droppable : 0
        memoryLeftBytes = min(memoryLeftBytes ?? .max, limit > kept ? limit - kept : 0)
      }
    }
  }

  private mutating func processors(_ group: Group, _ read: (String) -> String?) {
    for folder in group.folders {
      var words: [Substring] = []
      if group.version == 2 {
        words = (read(folder + "/cpu.max") ?? "").split { $0 == " " || $0 == "\n" }
      } else if let quota = read(folder + "/cpu.cfs_quota_us"), let period = read(folder + "/cpu.cfs_period_us") {
        words = [quota.trimmed, period.trimmed]
      }
      if words.count == 2 { cgroupVersion = cgroupVersion ?? group.version }
      guard words.count == 2, let time = Double(words[0]), let period = Double(words[1]), time > 0, period > 0 else { continue }
      cpuQuota = min(cpuQuota ?? .infinity, time / period)
    }
  }

  // MARK: - Reading

  /// The folders of a group and of those above it, innermost first.
  private struct Group {
    var version: Int
    var folders: [String]
  }

  /// Where the groups of this process are: `/proc/self/cgroup` and `/proc/self/mountinfo`.
  private struct Places {
    private struct Mount {
      var version: Int
      var controllers: [Substring]
      /// The group that is mounted.
      var root: String
      var point: String
    }

    private var mounts: [Mount] = []
    /// The process's group by controller; the empty one is version 2's.
    private var paths: [String: String] = [:]

    init(_ read: (String) -> String?) {
      for line in (read("proc/self/cgroup") ?? "").split(separator: "\n") {
        let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { continue }
        for controller in parts[1].split(separator: ",", omittingEmptySubsequences: false) {
          paths[String(controller)] = String(parts[2])
        }
      }
      for line in (read("proc/self/mountinfo") ?? "").split(separator: "\n") {
        let words = line.split(separator: " ")
        guard let dash = words.firstIndex(of: "-"), dash >= 6, words.count > dash + 3 else { continue }
        let kind = words[dash + 1]
        guard kind == "cgroup2" || kind == "cgroup" else { continue }
        mounts.append(
          Mount(
            version: kind == "cgroup2" ? 2 : 1, controllers: kind == "cgroup2" ? [] : words[dash + 3].split(separator: ","),
            root: Self.unescaped(words[3]), point: Self.unescaped(words[4])))
      }
      // Where the table of mounts can't be read, they're where they usually are.
      if mounts.isEmpty {
        mounts =
          read("sys/fs/cgroup/cgroup.controllers") != nil
          ? [Mount(version: 2, controllers: [], root: "/", point: "/sys/fs/cgroup")]
          : ["memory", "cpu"].map { Mount(version: 1, controllers: [$0], root: "/", point: "/sys/fs/cgroup/\($0)") }
      }
    }

    /// The groups that a controller limits this process by.
    func group(_ controller: String) -> Group? {
      // A controller belongs to one version at a time; the old one says so.
      let old = mounts.first { $0.version == 1 && $0.controllers.contains { $0 == controller } }
      guard let mount = old ?? mounts.first(where: { $0.version == 2 }) else { return nil }
      let path = paths[mount.version == 2 ? "" : controller] ?? "/"
      var below: Substring =
        mount.root == "/"
        ? path[...] : path == mount.root || !path.hasPrefix(mount.root + "/") ? "" : path.dropFirst(mount.root.count)
      // A group outside of what this process may see.
      if path.hasPrefix("/..") { below = "" }
      var names = below.split(separator: "/")
      var folders: [String] = []
      while true {
        folders.append(([mount.point.drop { $0 == "/" }] + names).joined(separator: "/"))
        if names.isEmpty { break }
        names.removeLast()
      }
      return Group(version: mount.version, folders: folders)
    }

    /// Without `\040` and its like.
    private static func unescaped(_ text: Substring) -> String {
      var bytes: [UInt8] = []
      var rest = Array(text.utf8)[...]
      while let byte = rest.first {
        if byte == UInt8(ascii: "\\"), rest.count >= 4,
          let code = UInt8(String(decoding: rest.dropFirst().prefix(3), as: UTF8.self), radix: 8)
        {
          bytes.append(code)
          rest = rest.dropFirst(4)
        } else {
          bytes.append(byte)
          rest = rest.dropFirst()
        }
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  /// `0-3,5`.
  private static func numbers(_ text: Substring) -> Set<Int>? {
    var numbers: Set<Int> = []
    for part in text.split(whereSeparator: { $0 == "," || $0 == " " || $0 == "\t" || $0 == "\n" }) {
      let ends = part.split(separator: "-").map { Int($0) }
      guard let first = ends.first ?? nil, let last = ends.last ?? nil, 0...last ~= first, last < 1 << 16 else { return nil }
      numbers.formUnion(first...last)
    }
    return numbers.isEmpty ? nil : numbers
  }

  /// `name value` lines.
  private static func table(_ text: String?) -> [Substring: UInt64] {
    var table: [Substring: UInt64] = [:]
    for line in (text ?? "").split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count == 2, let value = UInt64(words[1]) { table[words[0]] = value }
    }
    return table
  }

  /// The text of a small file.
  private static func contents(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 14)
    while bytes.count < 1 << 20 {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      bytes += buffer[..<count]
    }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }
}

extension String {
  fileprivate var trimmed: Substring {
    var part = self[...]
    while let last = part.last, last == "\n" || last == " " { part = part.dropLast() }
    return part
  }
}
