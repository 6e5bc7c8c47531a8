import Foundation
import GenBackend
import Synchronization
import Tensors
import Testing

@testable import Measurement

/// A recorded part of `/proc` and `/sys`.
private final class RecordedSystem {
  let folder: URL

  init(_ files: [String: String]) throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("system-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (name, content) in files {
      let file = folder.appendingPathComponent(name)
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(content.utf8).write(to: file)
    }
  }

  deinit { try? FileManager.default.removeItem(at: folder) }
  var root: SystemRoot { SystemRoot(path: folder.path) }
}

private let laptop: [String: String] = [
  "proc/cpuinfo": """
  processor\t: 0
  vendor_id\t: GenuineIntel
  model name\t: Some CPU @ 2.50GHz
  physical id\t: 0
  core id\t\t: 0
  flags\t\t: fpu sse4_2 avx avx2 fma f16c bmi2 avx512f avx512_bf16 amx_bf16

  processor\t: 1
  model name\t: Some CPU @ 2.50GHz
  physical id\t: 0
  core id\t\t: 0
  flags\t\t: fpu sse4_2 avx avx2

  processor\t: 2
  physical id\t: 0
  core id\t\t: 4
  """,
  "proc/meminfo": "MemTotal:       16384256 kB\nMemFree:  1 kB\nMemAvailable:    8000000 kB\n",
  "proc/sys/kernel/osrelease": "6.1.0-test\n", "proc/sys/kernel/randomize_va_space": "2\n",
  "etc/os-release": "PRETTY_NAME=\"Test Linux 1 (one)\"\nID=test\n",
  "sys/devices/system/cpu/cpu0/cache/index0/level": "1", "sys/devices/system/cpu/cpu0/cache/index0/type": "Data",
  "sys/devices/system/cpu/cpu0/cache/index0/size": "48K", "sys/devices/system/cpu/cpu0/cache/index3/level": "3",
  "sys/devices/system/cpu/cpu0/cache/index3/type": "Unified", "sys/devices/system/cpu/cpu0/cache/index3/size": "2M",
  "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
  "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "4200000\n",
  "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "2500000\n", "sys/devices/system/cpu/smt/active": "1\n",
  "sys/devices/system/cpu/cpufreq/boost": "0\n", "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
  "sys/fs/cgroup/cgroup.controllers": "cpu memory\n", "sys/fs/cgroup/cpu.max": "150000 100000\n",
  "sys/fs/cgroup/memory.max": "1073741824\n", "proc/loadavg": "1.50 2.0 3.0 1/100 5\n",
  "proc/pressure/cpu": "some avg10=40.07 avg60=12.14 avg300=25.19 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
  "proc/pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
  "proc/stat": "cpu  100 0 50 800 10 0 5 35 20 0\ncpu0 1 2 3\n",
]

@Suite struct EnvironmentProbeTests {
  @Test func aRecordedMachineIsRead() throws {
    let system = try RecordedSystem(laptop)
    let record = EnvironmentProbe(root: system.root).readLinux()
    #expect(record.os.name == "Test Linux 1 (one)" && record.os.kernel == "6.1.0-test")
    #expect(record.cpu.model == "Some CPU @ 2.50GHz" && record.cpu.vendor == "GenuineIntel")
    #expect(record.cpu.logical == 3 && record.cpu.physical == 2)
    #expect(record.cpu.features == ["sse4_2", "avx", "avx2", "fma", "f16c", "bmi2", "avx512f", "avx512_bf16", "amx_bf16"])
    #expect(record.cpu.caches.map(\.bytes) == [48 << 10, 2 << 20] && record.cpu.caches.map(\.type) == ["data", "unified"])
    #expect(record.cpu.governor == "powersave" && record.cpu.freqMaxHz == 4_200_000_000 && record.cpu.freqMinHz == nil)
    #expect(record.cpu.boost == false && record.cpu.smt == true)
    #expect(record.memory.totalBytes == 16_384_256 * 1024 && record.memory.thp == "madvise")
    #expect(record.container.cgroupVersion == 2 && record.container.cpuQuota == 1.5)
    #expect(record.container.memoryLimitBytes == 1 << 30)
    #expect(record.virtual == false && record.aslr == 2)
  }

  @Test func whatIsAbsentIsNullNotZero() throws {
    let system = try RecordedSystem(["unrelated": "x"])
    let record = EnvironmentProbe(root: system.root).readLinux()
    #expect(record.cpu.model == nil && record.cpu.logical == nil && record.cpu.physical == nil && record.cpu.governor == nil)
    #expect(record.cpu.boost == nil && record.memory.totalBytes == nil && record.virtual == nil && record.aslr == nil)
    #expect(record.container.cgroupVersion == nil && record.container.memoryLimitBytes == nil)
    let text = String(decoding: try JSONEncoder().encode(record), as: UTF8.self)
    #expect(text.contains("\"governor\":null") && text.contains("\"aslr\":null"))
    #expect(try JSONDecoder().decode(EnvironmentRecord.self, from: Data(text.utf8)) == record)
    let conditions = Conditions.now(root: system.root)
    #expect(conditions.loadAverage1 == nil && conditions.psiCPUSomeAvg10 == nil && conditions.stealTicks == nil)
  }

  @Test func damagedFilesAreAbsentFiles() throws {
    let system = try RecordedSystem([
      "proc/cpuinfo": "garbage\n\u{0}\nprocessor\n", "proc/meminfo": "MemTotal: many kB\nMemTotal\n:::\n",
      "sys/devices/system/cpu/cpu0/cache/index0/level": "one", "sys/fs/cgroup/cgroup.controllers": "cpu",
      "sys/fs/cgroup/cpu.max": "max 100000", "sys/fs/cgroup/memory.max": "max", "proc/stat": "cpu x y\n", "proc/loadavg": "\n",
      "proc/pressure/cpu": "some\n", "sys/kernel/mm/transparent_hugepage/enabled": "always ]madvise[ never",
    ])
    let record = EnvironmentProbe(root: system.root).readLinux()
    #expect(record.cpu.logical == nil && record.memory.totalBytes == nil && record.cpu.caches.isEmpty && record.memory.thp == nil)
    #expect(record.container.cgroupVersion == 2 && record.container.cpuQuota == nil && record.container.memoryLimitBytes == nil)
    #expect(Conditions.now(root: system.root).totalTicks == nil)
  }

  @Test func controlGroupsOfVersionOne() throws {
    let system = try RecordedSystem([
      "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
      "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
    ])
    let container = EnvironmentProbe(root: system.root).readLinux().container
    #expect(container.cgroupVersion == 1 && container.cpuQuota == nil && container.memoryLimitBytes == nil)
  }

  @Test func conditionsAreRead() throws {
    let system = try RecordedSystem(laptop)
    let now = Conditions.now(root: system.root)
    #expect(now.loadAverage1 == 1.5 && now.psiCPUSomeAvg10 == 40.07 && now.psiMemorySomeAvg10 == 0)
    #expect(now.stealTicks == 35 && now.totalTicks == 1000 && now.frequencyHz == 2_500_000_000)
    #expect(now.availableBytes == 8_000_000 * 1024)
    var later = now
    later.stealTicks = 45
    later.totalTicks = 1100
    #expect(later.stealPercent(since: now) == 10)
    #expect(now.stealPercent(since: now) == nil && now.stealPercent(since: later) == nil)
  }

  @Test func thisMachineHasAProcessor() {
    let record = EnvironmentProbe().read()
    #expect(record.cpu.logical ?? 0 >= 1 && record.memory.totalBytes ?? 0 > 1 << 28)
  }
}

@Suite struct MemoryTests {
  @Test func aRecordedStatusIsRead() throws {
    let system = try RecordedSystem([
      "proc/self/status":
        "Name:\tgenbench\nVmHWM:\t  204800 kB\nVmRSS:\t  102400 kB\nRssAnon:\t   51200 kB\nRssFile:\t   40960 kB\nRssShmem:\t   10240 kB\n"
    ])
    #if os(Linux)
      #expect(
        MemoryProbe(root: system.root).read()
          == MemoryReading(
            residentBytes: 100 << 20, anonymousBytes: 50 << 20, mappedBytes: 50 << 20, peakResidentBytes: 200 << 20))
    #endif
    let empty = try RecordedSystem([:])
    #if os(Linux)
      #expect(MemoryProbe(root: empty.root).read() == MemoryReading())
      #expect(!MemoryProbe(root: empty.root).resetPeak())
    #endif
  }

  #if os(Linux)
    @Test func theProcessesOfAGroupCountTogether() throws {
      func status(_ kilobytes: Int) -> String {
        "VmHWM:\t\(2 * kilobytes) kB\nVmRSS:\t\(kilobytes) kB\nRssAnon:\t\(kilobytes / 2) kB\nRssFile:\t0 kB\nRssShmem:\t0 kB\n"
      }
      let system = try RecordedSystem([
        "proc/self/status": status(9999),
        "proc/40/stat": "40 (an engine) S 1 40 40", "proc/40/status": status(100),
        // A name may hold anything.
        "proc/41/stat": "41 (a) S 1 7) S 40 40 40", "proc/41/status": status(30),
        "proc/42/stat": "42 (other) S 1 42 42", "proc/42/status": status(5000),
        "proc/43/stat": "43 (gone) Z 40 40 40", "proc/43/status": status(7),
      ])
      func reading(_ place: WorkPlace) -> MemoryReading { MemoryProbe(root: system.root) { place }.read() }
      #expect(reading(.processGroup(40)) == MemoryReading(residentBytes: 130 << 10, anonymousBytes: 65 << 10, mappedBytes: 0))
      #expect(reading(.processGroup(42)).peakResidentBytes == 10_000 << 10)
      #expect(reading(.processGroup(77)) == MemoryReading())
      #expect(reading(.elsewhere(reason: "a server")) == MemoryReading())
      #expect(!MemoryProbe(root: system.root) { .processGroup(40) }.resetPeak())
    }
  #endif

  @Test func thisProcessUsesMemory() {
    let reading = MemoryProbe().read()
    #expect(reading.residentBytes ?? 0 > 1 << 20)
    #expect(reading.peakResidentBytes ?? 0 >= reading.residentBytes ?? .max)
  }

  @Test func theSamplerKeepsOrderAndStops() {
    let counter = Mutex<UInt64>(0)
    let sampler = MemorySampler(intervalNs: 1_000_000) {
      let value = counter.withLock {
        $0 += 1
        return $0
      }
      return MemoryReading(residentBytes: value)
    }
    while sampler.samples.count < 5 { Thread.sleep(forTimeInterval: 0.001) }
    let samples = sampler.stop()
    #expect(samples.count >= 6)
    #expect(zip(samples, samples.dropFirst()).allSatisfy { $0.timeNs <= $1.timeNs })
    let taken = counter.withLock { $0 }
    Thread.sleep(forTimeInterval: 0.01)
    #expect(counter.withLock { $0 } == taken, "no reading after the end")
    #expect(sampler.stop().count == samples.count)
  }

  @Test func aLongRunIsThinnedOut() {
    let sampler = MemorySampler(intervalNs: 1_000_000_000, capacity: 8) { MemoryReading() }
    for _ in 0..<100 { sampler.sampleNow() }
    let samples = sampler.stop()
    #expect(samples.count <= 9 && samples.count >= 4)
  }
}

@Suite struct GitRevisionTests {
  @Test func outsideOfAWorkingCopyThereIsNone() { #expect(GitRevision(folder: "/nowhere/at/all") == nil) }
}

@Suite struct ProcessLimitsTests {
  private func limits(_ files: [String: String]) -> ProcessLimits { ProcessLimits { files[$0] } }

  private static let newMount = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
  private static let oldMounts = """
    30 23 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
    31 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct

    """

  @Test func theTightestOfAllGroupsAboveTheProcessHolds() {
    let found = limits([
      "proc/self/mountinfo": Self.newMount, "proc/self/cgroup": "0::/outer/inner/leaf\n",
      "sys/fs/cgroup/outer/memory.max": "2147483648\n", "sys/fs/cgroup/outer/memory.current": "2000000000\n",
      "sys/fs/cgroup/outer/memory.stat": "anon 5\ninactive_file 1000000000\n", "sys/fs/cgroup/outer/inner/memory.max": "max\n",
      "sys/fs/cgroup/outer/inner/leaf/memory.max": "4294967296\n", "sys/fs/cgroup/outer/inner/leaf/memory.current": "4096\n",
      "sys/fs/cgroup/outer/cpu.max": "400000 100000\n", "sys/fs/cgroup/outer/inner/cpu.max": "150000 100000\n",
      "sys/fs/cgroup/outer/inner/leaf/cpu.max": "max 100000\n", "proc/self/status": "Cpus_allowed_list:\t0-3,6\n",
      "sys/devices/system/cpu/online": "0-7\n", "sys/fs/cgroup/elsewhere/memory.max": "5\n",
    ])
    #expect(found.cgroupVersion == 2 && found.memoryLimitBytes == 2 << 30 && found.cpuQuota == 1.5)
    #expect(found.memoryLeftBytes == (2 << 30) - 1_000_000_000)
    #expect(found.allowedProcessors == 5 && found.threadCount == 1)
  }

  @Test func versionOneIsReadByController() {
    let found = limits([
      "proc/self/mountinfo": Self.oldMounts
        + Self.newMount.replacingOccurrences(of: "/sys/fs/cgroup ", with: "/sys/fs/cgroup/unified "),
      "proc/self/cgroup": "5:memory:/a/b\n4:cpu,cpuacct:/c\n0::/\n",
      "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
      "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "3000000000\n",
      "sys/fs/cgroup/memory/a/memory.usage_in_bytes": "1000000000\n",
      "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "9223372036854771712\n",
      "sys/fs/cgroup/memory/a/b/memory.stat": "hierarchical_memory_limit 3000000000\n",
      "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
      "sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us": "250000\n", "sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us": "100000\n",
    ])
    #expect(found.cgroupVersion == 1 && found.memoryLimitBytes == 3_000_000_000 && found.cpuQuota == 2.5)
    #expect(found.memoryLeftBytes == 2_000_000_000 && found.allowedProcessors == nil && found.threadCount == 2)
  }

  @Test func aMountedPartOfTheTreeIsReadBelowItsRoot() {
    let mount = "29 23 0:26 /docker/ab\\040c /sys/fs/cg\\040x rw - cgroup2 cgroup2 rw\n"
    let files = [
      "sys/fs/cg x/memory.max": "9000\n", "sys/fs/cg x/inner/memory.max": "8000\n", "sys/fs/cg x/memory.current": "9999\n",
    ]
    for (path, wanted) in [
      ("/docker/ab c/inner", 8000), ("/docker/ab c", 9000), ("/", 9000), ("/../other", 9000), ("/docker/ab cd", 9000),
    ] as [(String, UInt64)] {
      let found = limits(files.merging(["proc/self/mountinfo": mount, "proc/self/cgroup": "0::\(path)\n"]) { $1 })
      #expect(found.memoryLimitBytes == wanted, "\(path)")
      #expect(found.memoryLeftBytes == 0, "more is used than is allowed")
    }
  }

  @Test func whatIsDamagedIsNoLimit() {
    for text in ["", "garbage", "29 - cgroup2", "a b c d e f - cgroup2 x", String(repeating: "- ", count: 50)] {
      let found = limits([
        "proc/self/mountinfo": text, "proc/self/cgroup": text, "proc/self/status": "Cpus_allowed_list:\t\(text)\n",
        "sys/fs/cgroup/cgroup.controllers": "cpu", "sys/fs/cgroup/cpu.max": text, "sys/fs/cgroup/memory.max": text,
      ])
      #expect(
        found.cpuQuota == nil && found.memoryLimitBytes == nil && found.allowedProcessors == nil && found.threadCount == nil)
    }
    for quota in ["0 100000", "-5 100000", "nan 100000", "100000 0", "inf 1", "1e300 1"] {
      let found = limits(["sys/fs/cgroup/cgroup.controllers": "cpu", "sys/fs/cgroup/cpu.max": quota])
      #expect(found.threadCount ?? 1 >= 1, "\(quota)")
    }
  }

  #if os(Linux)
    @Test func affinityIsHeeded() {
      // ProcessInfo knows what the system counts as usable, which is no more than the machine has.
      let count = ProcessLimits.current().allowedProcessors
      #expect(count.map { (1...ProcessInfo.processInfo.processorCount).contains($0) } == true)
    }

    @Test func aPinnedProcessSeesOneProcessor() throws {
      let child = Process()
      child.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      child.arguments = ["taskset", "-c", "0", "grep", "Cpus_allowed_list", "/proc/self/status"]
      let output = Pipe()
      child.standardOutput = output
      child.standardError = FileHandle.nullDevice
      try child.run()
      let status = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      child.waitUntilExit()
      // Without the first processor, or without taskset, there's nothing to see.
      guard child.terminationStatus == 0 else { return }
      #expect(limits(["proc/self/status": status]).threadCount == 1)
    }
  #endif
}
