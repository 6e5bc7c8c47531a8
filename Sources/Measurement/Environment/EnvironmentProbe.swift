import Foundation
import Tensors

#if canImport(Darwin)
  import Darwin
#endif

/// Finds out what the machine is, from `/proc` and `/sys` below a root.
public struct EnvironmentProbe: Sendable {
  private let root: SystemRoot

  /// Makes a probe.
  public init(root: SystemRoot = SystemRoot()) { self.root = root }

  /// The machine.
  public func read() -> EnvironmentRecord {
    #if canImport(Darwin)
      return readDarwin()
    #else
      return readLinux()
    #endif
  }

  private static var arch: String {
    #if arch(x86_64)
      "x86_64"
    #elseif arch(arm64)
      "arm64"
    #else
      "other"
    #endif
  }

  private static let pageBytes = UInt64(exactly: sysconf(Int32(_SC_PAGESIZE)))

  // MARK: - Linux

  /// The features of `/proc/cpuinfo` that decide which kernels run; x86 first, then arm64.
  private static let knownFeatures = [
    "sse4_2", "avx", "avx2", "fma", "f16c", "bmi2", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_vnni",
    "avx512_bf16", "avx512_fp16", "avx_vnni", "amx_tile", "amx_int8", "amx_bf16", "asimd", "asimddp", "fphp", "asimdhp", "i8mm",
    "bf16", "sve", "sve2",
  ]

  func readLinux() -> EnvironmentRecord {
    let processors = cpuBlocks()
    let first = processors.first ?? [:]
    let flags = Set((first["flags"] ?? first["Features"] ?? "").split(separator: " ").map(String.init))
    let cores = Set(
      processors.compactMap { block in block["core id"].map { "\(block["physical id"] ?? "0"):\($0)" } })
    let frequency = "sys/devices/system/cpu/cpu0/cpufreq/"
    let memory = root.table("proc/meminfo")
    let release = releaseTable()
    return EnvironmentRecord(
      machineID: machineID(first["model name"]), machineName: root.text("proc/sys/kernel/hostname"),
      os: .init(name: release["PRETTY_NAME"], kernel: root.text("proc/sys/kernel/osrelease")),
      cpu: .init(
        model: first["model name"] ?? first["Hardware"], arch: Self.arch, vendor: first["vendor_id"] ?? first["CPU implementer"],
        logical: processors.isEmpty ? nil : processors.count, physical: cores.isEmpty ? nil : cores.count,
        features: Self.knownFeatures.filter { flags.contains($0) }, caches: caches(),
        governor: root.text(frequency + "scaling_governor"),
        freqMinHz: root.int(frequency + "cpuinfo_min_freq").map { UInt64($0) * 1000 },
        freqMaxHz: root.int(frequency + "cpuinfo_max_freq").map { UInt64($0) * 1000 },
        boost: root.int("sys/devices/system/cpu/cpufreq/boost").map { $0 == 1 },
        smt: root.int("sys/devices/system/cpu/smt/active").map { $0 == 1 }),
      memory: .init(
        totalBytes: SystemRoot.bytes(kilobytes: memory["MemTotal"]), pageBytes: Self.pageBytes,
        thp: chosen(root.text("sys/kernel/mm/transparent_hugepage/enabled"))),
      container: container(), virtual: flags.isEmpty ? nil : flags.contains("hypervisor"),
      aslr: root.int("proc/sys/kernel/randomize_va_space"))
  }

  /// The system's own id, hashed with the processor's name: copies of one disk on other hardware are other machines.
  private func machineID(_ model: String?) -> String? {
    let id = root.text("etc/machine-id") ?? root.text("var/lib/dbus/machine-id") ?? root.text("proc/sys/kernel/hostname")
    return id.map { StableHash.hex("genbench \($0) \(model ?? "")") }
  }

  /// One table for each processor of `/proc/cpuinfo`.
  private func cpuBlocks() -> [[String: String]] {
    var blocks: [[String: String]] = []
    for line in (root.text("proc/cpuinfo") ?? "").split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        .map { $0.trimmingCharacters(in: .whitespaces) }
      guard parts.count == 2 else { continue }
      if parts[0] == "processor" { blocks.append([:]) }
      if !blocks.isEmpty { blocks[blocks.count - 1][parts[0]] = parts[1] }
    }
    return blocks
  }

  private func caches() -> [EnvironmentRecord.Cache] {
    (0..<8).compactMap { index in
      let folder = "sys/devices/system/cpu/cpu0/cache/index\(index)/"
      guard let level = root.int(folder + "level"), let type = root.text(folder + "type"),
        let size = root.text(folder + "size"), let unit = size.last, let number = UInt64(size.dropLast())
      else { return nil }
      let factor: UInt64 = unit == "K" ? 1 << 10 : unit == "M" ? 1 << 20 : 1
      return .init(level: level, type: type.lowercased(), bytes: number * factor)
    }
  }

  /// The word in brackets of `always [madvise] never`.
  private func chosen(_ text: String?) -> String? {
    guard let text, let start = text.firstIndex(of: "["), let end = text.firstIndex(of: "]"), start < end else { return nil }
    return String(text[text.index(after: start)..<end])
  }

  /// `KEY="value"` lines of `os-release`.
  private func releaseTable() -> [String: String] {
    var table: [String: String] = [:]
    for line in (root.text("etc/os-release") ?? root.text("usr/lib/os-release") ?? "").split(separator: "\n") {
      let parts = line.split(separator: "=", maxSplits: 1)
      if parts.count == 2 { table[String(parts[0])] = parts[1].trimmingCharacters(in: CharacterSet(charactersIn: "\"' ")) }
    }
    return table
  }

  private func container() -> EnvironmentRecord.Container {
    let limits = ProcessLimits { root.text($0) }
    return .init(
      cgroupVersion: limits.cgroupVersion, cpuQuota: limits.cpuQuota, memoryLimitBytes: limits.memoryLimitBytes,
      cpusAllowed: limits.allowedProcessors)
  }

  // MARK: - Darwin

  #if canImport(Darwin)
    private func readDarwin() -> EnvironmentRecord {
      let version = ProcessInfo.processInfo.operatingSystemVersionString
      func size(_ name: String) -> UInt64? { Self.number(name).flatMap { $0 > 0 ? UInt64($0) : nil } }
      var caches: [EnvironmentRecord.Cache] = []
      for (level, type, name) in [
        (1, "data", "hw.l1dcachesize"), (1, "instruction", "hw.l1icachesize"), (2, "unified", "hw.l2cachesize"),
      ] {
        if let bytes = size(name) { caches.append(.init(level: level, type: type, bytes: bytes)) }
      }
      return EnvironmentRecord(
        machineID: Self.text("kern.uuid").map { StableHash.hex("genbench " + $0) }, machineName: Self.text("kern.hostname"),
        os: .init(name: "macOS \(version)", kernel: Self.text("kern.osrelease")),
        cpu: .init(
          model: Self.text("machdep.cpu.brand_string"), arch: Self.arch, vendor: nil,
          logical: Self.number("hw.logicalcpu").map { Int($0) }, physical: Self.number("hw.physicalcpu").map { Int($0) },
          features: Self.arch == "arm64" ? ["asimd"] : [], caches: caches, governor: nil, freqMinHz: nil, freqMaxHz: nil,
          boost: nil, smt: nil),
        memory: .init(totalBytes: ProcessInfo.processInfo.physicalMemory, pageBytes: Self.pageBytes, thp: nil),
        container: .init(cgroupVersion: nil, cpuQuota: nil, memoryLimitBytes: nil, cpusAllowed: nil),
        virtual: Self.number("kern.hv_vmm_present").map { $0 == 1 }, aslr: nil)
    }

    private static func number(_ name: String) -> Int64? {
      var value: Int64 = 0
      var size = MemoryLayout<Int64>.size
      return sysctlbyname(name, &value, &size, nil, 0) == 0 ? value : nil
    }

    private static func text(_ name: String) -> String? {
      var size = 0
      guard sysctlbyname(name, nil, &size, nil, 0) == 0, size > 0 else { return nil }
      var bytes = [UInt8](repeating: 0, count: size)
      guard sysctlbyname(name, &bytes, &size, nil, 0) == 0 else { return nil }
      return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  #endif
}
