import Tensors

/// Something about the machine that matters to numbers.
public struct Finding: Sendable, Hashable, Codable {
  /// How much it matters.
  public enum Level: String, Sendable, Hashable, Codable {
    /// As it should be.
    case good
    /// Worth knowing.
    case note
    /// It makes numbers doubtful.
    case bad

    /// Bad is largest.
    public var rank: Int { [.good, .note, .bad].firstIndex(of: self) ?? 0 }

    /// For lists.
    public var mark: String {
      switch self {
      case .good: " ok "
      case .note: "note"
      case .bad: "BAD "
      }
    }
  }

  /// How much it matters.
  public var level: Level
  /// What was found.
  public var what: String
  /// What to do.
  public var advice: String

  /// Makes a finding.
  public init(_ level: Level, _ what: String, _ advice: String) {
    self.level = level
    self.what = what
    self.advice = advice
  }
}

/// Judges what was read about a machine; what wasn't read is told as absent, never as good.
public enum Diagnosis {
  /// Judges the machine, what else it does, and this build.
  public static func findings(environment: EnvironmentRecord, conditions: Conditions, build: BuildRecord) -> [Finding] {
    var findings: [Finding] = []
    if build.config == "debug" {
      findings.append(Finding(.bad, "this is a debug build", "Measure with 'swift build -c release'."))
    }
    load(environment, conditions, &findings)
    clock(environment, conditions, &findings)
    memory(environment, conditions, &findings)
    if environment.virtual == true {
      findings.append(
        Finding(.note, "this is a virtual machine", "Its neighbours are invisible: use many sessions, and watch the steal time."))
    }
    if let quota = environment.container.cpuQuota, let cpus = environment.cpu.logical, quota < Double(cpus) {
      findings.append(
        Finding(
          .bad, "a container limit allows \(number(quota)) CPUs of \(cpus)",
          "Threads beyond the limit are stopped in mid-work: set --threads \(max(1, Int(quota)))."))
    }
    if let allowed = environment.container.cpusAllowed, let cpus = environment.cpu.logical, allowed < cpus {
      findings.append(
        Finding(
          .note, "the process may run on \(allowed) CPUs of \(cpus)",
          "The default of --threads is \(allowed); more would share them."))
    }
    if conditions.isOnBattery == true {
      findings.append(Finding(.bad, "the machine runs on its battery", "Plug it in: most laptops are slower without."))
    }
    let absent = [
      ("CPU frequency", conditions.frequencyHz == nil && environment.cpu.freqMaxHz == nil),
      ("temperature", conditions.temperatureCelsius == nil),
      ("throttling", conditions.throttleCount == nil), ("pressure", conditions.psiCPUSomeAvg10 == nil),
      ("steal time", conditions.stealTicks == nil),
    ].filter(\.1).map(\.0)
    if !absent.isEmpty {
      findings.append(
        Finding(
          .note, "this system doesn't tell: \(absent.joined(separator: ", "))",
          "What isn't told can't be ruled out as a cause of noise."))
    }
    return findings
  }

  private static func number(_ value: Double) -> String {
    value == value.rounded() ? String(Int(value)) : String((value * 10).rounded() / 10)
  }

  private static func load(_ environment: EnvironmentRecord, _ conditions: Conditions, _ findings: inout [Finding]) {
    let cpus = Double(environment.cpu.logical ?? 1)
    if let load = conditions.loadAverage1 {
      if load > cpus * 0.5 {
        findings.append(
          Finding(
            .bad, "the load is \(number(load)) on \(number(cpus)) CPUs", "Something else is running: stop it, or measure later."))
      } else {
        findings.append(Finding(.good, "the load is \(number(load)) on \(number(cpus)) CPUs", ""))
      }
    }
    if let pressure = conditions.psiCPUSomeAvg10, pressure > 5 {
      findings.append(
        Finding(
          .bad, "somebody waited for a CPU \(number(pressure)) % of the last ten seconds",
          "Other work takes the CPUs: stop it, or measure later."))
    }
    if let pressure = conditions.psiMemorySomeAvg10, pressure > 1 {
      findings.append(
        Finding(
          .bad, "somebody waited for memory \(number(pressure)) % of the last ten seconds",
          "Memory is short: close something, or use --reduce-memory."))
    }
    if let steal = conditions.stealTicks, let total = conditions.totalTicks, total > 0 {
      let percent = Double(steal) / Double(total) * 100
      if percent > 0.5 {
        findings.append(
          Finding(
            .bad, "the host has taken \(number(percent)) % of the time since boot (steal)",
            "Use a machine of your own, or many sessions at different times."))
      }
    }
  }

  private static func clock(_ environment: EnvironmentRecord, _ conditions: Conditions, _ findings: inout [Finding]) {
    if let governor = environment.cpu.governor {
      findings.append(
        governor == "performance"
          ? Finding(.good, "the frequency governor is performance", "")
          : Finding(.bad, "the frequency governor is \(governor)", "'cpupower frequency-set -g performance' keeps the clock up."))
    }
    if environment.cpu.boost == true {
      findings.append(
        Finding(
          .note, "the processor may exceed its nominal frequency",
          "Short runs are faster than long ones: warm up, or turn boost off in /sys/devices/system/cpu/cpufreq/boost."))
    }
    if environment.cpu.smt == true {
      findings.append(Finding(.note, "two threads share a core", "Try --threads \(environment.cpu.physical ?? 1), one a core."))
    }
    if let temperature = conditions.temperatureCelsius, temperature > 85 {
      findings.append(Finding(.bad, "a sensor says \(number(temperature)) °C", "Let it cool down; heat slows the clock."))
    }
    if let count = conditions.throttleCount, count > 0 {
      findings.append(
        Finding(
          .note, "the first core was slowed down by heat \(count) times since boot",
          "Watch 'throttled' in the conditions of each session."))
    }
  }

  private static func memory(_ environment: EnvironmentRecord, _ conditions: Conditions, _ findings: inout [Finding]) {
    if let available = conditions.availableBytes, let total = environment.memory.totalBytes, available < total / 10 {
      findings.append(
        Finding(.bad, "less than a tenth of the memory is available", "The system will drop mapped weights and read them again."))
    }
    if let limit = environment.container.memoryLimitBytes, let total = environment.memory.totalBytes, limit < total {
      findings.append(
        Finding(
          .note, "a container limit allows \(limit >> 20) MiB of memory",
          "Beyond it the process is killed, which a run reports as 'oom'."))
    }
    if environment.memory.thp == "always" {
      findings.append(
        Finding(
          .note, "transparent huge pages are 'always'",
          "Resident memory comes in steps of 2 MiB; compare peaks only between equal settings."))
    }
  }

  /// Judges how steady the machine was.
  public static func findings(_ steadiness: Steadiness) -> [Finding] {
    let percent = "\(number(steadiness.spread * 100)) %"
    if steadiness.spread > 0.05 {
      return [
        Finding(
          .bad, "a fixed piece of work varies by \(percent)",
          "Changes below twice that can't be told from noise here; more sessions help against chance, not against neighbours.")
      ]
    }
    return [Finding(steadiness.spread > 0.02 ? .note : .good, "a fixed piece of work varies by \(percent)", "")]
  }
}

/// How steady a fixed piece of work is.
public struct Steadiness: Sendable, Hashable, Codable {
  /// The median time.
  public var medianNs: Double
  /// The distance of the 95th percentile from the median, relative to it.
  public var spread: Double
  /// The longest time over the median.
  public var worst: Double

  private enum CodingKeys: String, CodingKey {
    case spread, worst
    case medianNs = "median_ns"
  }

  /// Sums up times; nil with fewer than 20.
  public init?(_ times: [Double]) {
    guard times.count >= 20, let median = Statistics.median(times), median > 0, let high = Statistics.quantile(times, 0.95),
      let longest = times.max()
    else { return nil }
    medianNs = median
    spread = high / median - 1
    worst = longest / median
  }

  /// Does the same work over and over for about half a second.
  public static func measure() -> Steadiness? {
    var times: [Double] = []
    var sink = 0.0
    let start = MonotonicTime.nanoseconds()
    while times.count < 60 || (MonotonicTime.nanoseconds() - start < 500_000_000 && times.count < 2000) {
      let before = MonotonicTime.nanoseconds()
      var value = 1.0
      for step in 1...60_000 { value = value * 0.999_999 + Double(step) * 1e-9 }
      sink += value
      times.append(Double(MonotonicTime.nanoseconds() - before))
    }
    // The result must be used, or the loop is dropped.
    return sink.isFinite ? Steadiness(times) : nil
  }
}
