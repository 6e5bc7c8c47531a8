import Foundation
import Tensors

/// What else the machine is doing at one moment; nil is "not measured here".
public struct Conditions: Sendable, Hashable, Codable {
  /// Processes that want a CPU, averaged over a minute.
  @NullEncoded public var loadAverage1: Double?
  /// Percent of the last ten seconds in which somebody waited for a CPU (pressure stall information).
  @NullEncoded public var psiCPUSomeAvg10: Double?
  /// The same for memory.
  @NullEncoded public var psiMemorySomeAvg10: Double?
  /// Clock ticks since boot that the host took away from this machine.
  @NullEncoded public var stealTicks: UInt64?
  /// All clock ticks since boot.
  @NullEncoded public var totalTicks: UInt64?
  /// The first CPU's frequency.
  @NullEncoded public var frequencyHz: UInt64?
  /// Memory that could be had: of the machine, or of the group of processes when that's less.
  @NullEncoded public var availableBytes: UInt64?
  /// The hottest thermal zone, in °C.
  @NullEncoded public var temperatureCelsius: Double?
  /// How often the first core was slowed down because of heat, since boot.
  @NullEncoded public var throttleCount: UInt64?
  /// Whether the machine runs on a battery.
  @NullEncoded public var isOnBattery: Bool?

  private enum CodingKeys: String, CodingKey {
    case loadAverage1 = "loadavg_1"
    case psiCPUSomeAvg10 = "psi_cpu_some_avg10"
    case psiMemorySomeAvg10 = "psi_memory_some_avg10"
    case stealTicks = "steal_ticks"
    case totalTicks = "total_ticks"
    case frequencyHz = "freq_hz"
    case availableBytes = "available_bytes"
    case temperatureCelsius = "temperature_c"
    case throttleCount = "throttle_count"
    case isOnBattery = "on_battery"
  }

  /// Looks at the machine now.
  public static func now(root: SystemRoot = SystemRoot()) -> Conditions {
    let ticks = root.text("proc/stat")?.split(separator: "\n").first.map { line in
      line.split(separator: " ").dropFirst().compactMap { UInt64($0) }
    }
    // user nice system idle iowait irq softirq steal guest guest_nice: guest time is part of user time already.
    let counted = ticks.map { $0.prefix(8) } ?? []
    return Conditions(
      loadAverage1: root.text("proc/loadavg")?.split(separator: " ").first.flatMap { Double($0) } ?? systemLoad(root),
      psiCPUSomeAvg10: pressure(root, "cpu"), psiMemorySomeAvg10: pressure(root, "memory"),
      stealTicks: counted.count == 8 ? counted.last : nil, totalTicks: counted.count == 8 ? counted.reduce(0, &+) : nil,
      frequencyHz: root.int("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq").map { UInt64($0) * 1000 },
      availableBytes: [
        SystemRoot.bytes(kilobytes: root.table("proc/meminfo")["MemAvailable"]),
        ProcessLimits { root.text($0) }.memoryLeftBytes,
      ].compactMap { $0 }.min(),
      temperatureCelsius: root.names("sys/class/thermal", prefix: "thermal_zone")
        .compactMap { root.int("sys/class/thermal/\($0)/temp") }.max().map { Double($0) / 1000 },
      throttleCount: root.int("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count").flatMap { UInt64(exactly: $0) },
      isOnBattery: battery(root))
  }

  /// How often the first core was slowed down by heat between two looks; nil when not measured.
  public func throttledTimes(since start: Conditions) -> UInt64? {
    guard let count = throttleCount, let count0 = start.throttleCount, count >= count0 else { return nil }
    return count - count0
  }

  /// Whether no mains supply is online; nil on machines without any power supply that tells.
  private static func battery(_ root: SystemRoot) -> Bool? {
    let folder = "sys/class/power_supply"
    let mains = root.names(folder, prefix: "").filter { root.text("\(folder)/\($0)/type") == "Mains" }
      .compactMap { root.int("\(folder)/\($0)/online") }
    return mains.isEmpty ? nil : !mains.contains(1)
  }

  /// Percent of the time between two looks that the host took away; nil when not measured or when no time passed.
  public func stealPercent(since start: Conditions) -> Double? {
    guard let steal = stealTicks, let total = totalTicks, let steal0 = start.stealTicks, let total0 = start.totalTicks,
      total > total0, steal >= steal0
    else { return nil }
    return Double(steal - steal0) / Double(total - total0) * 100
  }

  private static func pressure(_ root: SystemRoot, _ kind: String) -> Double? {
    guard let line = root.text("proc/pressure/\(kind)")?.split(separator: "\n").first(where: { $0.hasPrefix("some ") }) else {
      return nil
    }
    return line.split(separator: " ").first { $0.hasPrefix("avg10=") }.flatMap { Double($0.dropFirst(6)) }
  }

  private static func systemLoad(_ root: SystemRoot) -> Double? {
    #if canImport(Darwin)
      guard root.path == "/" else { return nil }
      var loads = [0.0]
      return getloadavg(&loads, 1) == 1 ? loads[0] : nil
    #else
      return nil
    #endif
  }
}
