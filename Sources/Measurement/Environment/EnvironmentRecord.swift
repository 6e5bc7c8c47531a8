/// The machine and the build that a measurement was made on; nil is "not known here".
public struct EnvironmentRecord: Sendable, Hashable, Codable {
  /// The operating system.
  public struct OperatingSystem: Sendable, Hashable, Codable {
    /// `Debian GNU/Linux 12 (bookworm)`, `macOS 15.1`.
    @NullEncoded public var name: String?
    /// The kernel's release.
    @NullEncoded public var kernel: String?
  }

  /// A cache of the first CPU.
  public struct Cache: Sendable, Hashable, Codable {
    /// 1 is nearest to the core.
    public var level: Int
    /// `data`, `instruction`, `unified`.
    public var type: String
    /// Its size.
    public var bytes: UInt64
  }

  /// The processor.
  public struct Processor: Sendable, Hashable, Codable {
    /// Its name.
    @NullEncoded public var model: String?
    /// `x86_64`, `arm64`.
    public var arch: String
    /// Who makes it.
    @NullEncoded public var vendor: String?
    /// Hardware threads that are online.
    @NullEncoded public var logical: Int?
    /// Cores.
    @NullEncoded public var physical: Int?
    /// The instruction sets that matter to kernels.
    public var features: [String]
    /// Its caches.
    public var caches: [Cache]
    /// The frequency governor.
    @NullEncoded public var governor: String?
    /// The lowest frequency.
    @NullEncoded public var freqMinHz: UInt64?
    /// The highest frequency.
    @NullEncoded public var freqMaxHz: UInt64?
    /// Whether it may exceed its nominal frequency.
    @NullEncoded public var boost: Bool?
    /// Whether two threads share a core.
    @NullEncoded public var smt: Bool?

    private enum CodingKeys: String, CodingKey {
      case model, arch, vendor, logical, physical, features, caches, governor, boost, smt
      case freqMinHz = "freq_min_hz"
      case freqMaxHz = "freq_max_hz"
    }
  }

  /// The memory.
  public struct Memory: Sendable, Hashable, Codable {
    /// All of it.
    @NullEncoded public var totalBytes: UInt64?
    /// The size of a page.
    @NullEncoded public var pageBytes: UInt64?
    /// Transparent huge pages: `always`, `madvise`, `never`.
    @NullEncoded public var thp: String?

    private enum CodingKeys: String, CodingKey {
      case thp
      case totalBytes = "total_bytes"
      case pageBytes = "page_bytes"
    }
  }

  /// The limits of the container.
  public struct Container: Sendable, Hashable, Codable {
    /// 1 or 2.
    @NullEncoded public var cgroupVersion: Int?
    /// CPUs' worth of time that may be used.
    @NullEncoded public var cpuQuota: Double?
    /// Memory that may be used.
    @NullEncoded public var memoryLimitBytes: UInt64?
    /// Processors that the process may run on; fewer than there are with `taskset` or a set of its group.
    public var cpusAllowed: Int?

    private enum CodingKeys: String, CodingKey {
      case cpusAllowed = "cpus_allowed"
      case cgroupVersion = "cgroup_version"
      case cpuQuota = "cpu_quota"
      case memoryLimitBytes = "memory_limit_bytes"
    }
  }

  /// What the machine reaches when it does nothing else.
  public struct Probe: Sendable, Hashable, Codable {
    /// Operations of a large matrix product with the kernels of the run, in 1e9 a second.
    public var gigaflopsF32: Double
    /// Bytes of a large copy, read and written, in 1e9 a second.
    public var memoryGigabytesPerSecond: Double

    private enum CodingKeys: String, CodingKey {
      case gigaflopsF32 = "gflops_f32"
      case memoryGigabytesPerSecond = "mem_gb_s"
    }

    /// Makes a record.
    public init(gigaflopsF32: Double, memoryGigabytesPerSecond: Double) {
      self.gigaflopsF32 = gigaflopsF32
      self.memoryGigabytesPerSecond = memoryGigabytesPerSecond
    }
  }

  /// A hash that tells machines apart without naming them.
  @NullEncoded public var machineID: String?
  /// The machine's name in its network.
  @NullEncoded public var machineName: String?
  /// What the machine reaches.
  @NullEncoded public var probe: Probe?
  /// The operating system.
  public var os: OperatingSystem
  /// The processor.
  public var cpu: Processor
  /// The memory.
  public var memory: Memory
  /// The limits of the container.
  public var container: Container
  /// Whether this is a virtual machine.
  @NullEncoded public var virtual: Bool?
  /// Address space randomisation: 0, 1, 2.
  @NullEncoded public var aslr: Int?

  private enum CodingKeys: String, CodingKey {
    case probe, os, cpu, memory, container, virtual, aslr
    case machineID = "machine_id"
    case machineName = "machine_name"
  }

  /// Makes a record without a probe.
  init(
    machineID: String?, machineName: String?, os: OperatingSystem, cpu: Processor, memory: Memory, container: Container,
    virtual: Bool?, aslr: Int?
  ) {
    self.machineID = machineID
    self.machineName = machineName
    self.os = os
    self.cpu = cpu
    self.memory = memory
    self.container = container
    self.virtual = virtual
    self.aslr = aslr
  }
}

/// How this program was built.
public struct BuildRecord: Sendable, Hashable, Codable {
  /// `debug` or `release`.
  public var config: String
  /// The compiler, as far as the language can tell: `6.3`.
  public var swiftVersion: String

  private enum CodingKeys: String, CodingKey {
    case config
    case swiftVersion = "swift_version"
  }

  /// Makes a record.
  public init(config: String, swiftVersion: String) {
    self.config = config
    self.swiftVersion = swiftVersion
  }

  /// This build.
  public static var current: BuildRecord {
    #if DEBUG
      let config = "debug"
    #else
      let config = "release"
    #endif
    #if compiler(>=6.4)
      let version = "6.4 or newer"
    #elseif compiler(>=6.3)
      let version = "6.3"
    #else
      let version = "6.2"
    #endif
    return BuildRecord(config: config, swiftVersion: version)
  }
}
