import Foundation
import Goldens
import Measurement
import TestSupport
import Testing

/// Statistics against SciPy, ruptures and closed forms; `scripts/fixtures/statistics_goldens.py` made the goldens.
@Suite struct StatisticsGoldenTests {
  private func attributes<Attributes: Decodable>(_ name: String, _ type: Attributes.Type) throws -> Attributes {
    try GoldenCase(folder: Fixtures.folder.appendingPathComponent("statistics/\(name)")).attributes(type)
  }

  private func isClose(_ a: Double, _ b: Double) -> Bool { abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1e-300) }

  @Test func mannWhitneyEqualsSciPy() throws {
    struct Attributes: Decodable {
      struct Case: Decodable {
        var a: [Double]
        var b: [Double]
        var u: Double
        var p: Double
        var method: String
      }
      var cases: [Case]
    }
    let cases = try attributes("mann-whitney", Attributes.self).cases
    #expect(cases.count > 25 && Set(cases.map(\.method)) == ["exact", "normal"])
    for golden in cases {
      let test = try #require(MannWhitney(golden.a, golden.b))
      #expect(isClose(test.u, golden.u), "\(golden.a) \(golden.b)")
      #expect(isClose(test.pValue, golden.p), "\(golden.a) \(golden.b): \(test.pValue), SciPy \(golden.p)")
      #expect(test.method.rawValue == golden.method)
      // Swapped samples are as unusual.
      #expect(isClose(try #require(MannWhitney(golden.b, golden.a)).pValue, golden.p))
    }
  }

  @Test func theSmallestPValueIsThatOfSeparatedSamples() throws {
    for (n, m) in [(1, 1), (2, 3), (5, 5), (7, 4), (10, 10)] {
      let low = (0..<n).map { Double($0) }
      let high = (0..<m).map { Double($0) + 100 }
      #expect(isClose(try #require(MannWhitney(low, high)).pValue, MannWhitney.smallestPValue(n, m)))
    }
    #expect(MannWhitney.smallestPValue(0, 3) == 1)
  }

  @Test func uselessSamplesAreNotTested() {
    #expect(MannWhitney([], [1]) == nil && MannWhitney([1], []) == nil && MannWhitney([.nan], [1]) == nil)
  }

  @Test func adjustedPValuesEqualSciPy() throws {
    struct Attributes: Decodable {
      struct Case: Decodable {
        var p: [Double]
        var adjusted: [Double]
      }
      var cases: [Case]
    }
    for golden in try attributes("false-discovery", Attributes.self).cases {
      for (seen, expected) in zip(FalseDiscovery.adjusted(golden.p), golden.adjusted) { #expect(isClose(seen, expected)) }
    }
    #expect(FalseDiscovery.adjusted([]).isEmpty)
  }

  @Test func spreadsAndTheNormalDistributionEqualSciPy() throws {
    struct Attributes: Decodable {
      struct Case: Decodable {
        var x: [Double]
        var mad: Double
        var stddev: Double
        var median: Double
        var p25: Double
        var p90: Double
        var p99: Double
      }
      struct Normal: Decodable {
        var p: Double
        var z: Double
      }
      var cases: [Case]
      var normal_quantiles: [Normal]
      var normal_tails: [Normal]
    }
    let golden = try attributes("spreads", Attributes.self)
    for sample in golden.cases {
      #expect(isClose(try #require(Statistics.medianAbsoluteDeviation(sample.x)), sample.mad))
      #expect(isClose(try #require(Statistics.standardDeviation(sample.x)), sample.stddev))
      #expect(isClose(try #require(Statistics.median(sample.x)), sample.median))
      for (fraction, value) in [(0.25, sample.p25), (0.9, sample.p90), (0.99, sample.p99)] {
        #expect(isClose(try #require(Statistics.quantile(sample.x, fraction)), value))
      }
    }
    for point in golden.normal_quantiles { #expect(abs(NormalDistribution.quantile(point.p) - point.z) < 1e-9, "\(point.p)") }
    for point in golden.normal_tails { #expect(abs(NormalDistribution.upperTail(point.z) - point.p) <= 1e-9 * point.p) }
    #expect(NormalDistribution.quantile(0) == -.infinity && NormalDistribution.quantile(1) == .infinity)
    #expect(NormalDistribution.quantile(1.5).isNaN)
  }

  @Test func theBootstrapFindsTheExactEnds() throws {
    struct Attributes: Decodable {
      struct Case: Decodable {
        var x: [Double]
        var level: Double
        var low: Double
        var high: Double
      }
      var cases: [Case]
    }
    let cases = try attributes("bootstrap-median", Attributes.self).cases
    #expect(cases.count >= 5)
    for golden in cases {
      let interval = try #require(Statistics.medianInterval(golden.x, level: golden.level, resamples: 60_000))
      #expect(interval == golden.low...golden.high, "n \(golden.x.count), level \(golden.level)")
    }
  }

  @Test func changePointsEqualRuptures() throws {
    struct Attributes: Decodable {
      struct Case: Decodable {
        var x: [Double]
        var penalty: Double
        var minimum: Int
        var changes: [Int]
      }
      var cases: [Case]
    }
    let cases = try attributes("change-points", Attributes.self).cases
    #expect(cases.contains { !$0.changes.isEmpty } && cases.contains { $0.changes.isEmpty })
    for golden in cases {
      #expect(ChangePoints.find(golden.x, penalty: golden.penalty, minimumSize: golden.minimum) == golden.changes)
    }
  }
}

@Suite struct SeriesTests {
  private func noise(_ random: inout SplitMix64) -> Double {
    let u = Double(random.next() >> 11) * 0x1p-53
    return NormalDistribution.quantile(max(u, 1e-12))
  }

  @Test func aLevelShiftIsFoundAndNoiseIsNot() {
    var random = SplitMix64(seed: 5)
    var found = 0
    var invented = 0
    for _ in 0..<200 {
      let flat = (0..<40).map { _ in 100 + 2 * noise(&random) }
      if Statistics.levels(flat).count > 1 { invented += 1 }
      let shifted = flat.enumerated().map { $0.offset < 25 ? $0.element : $0.element * 1.1 }
      if Statistics.levels(shifted).contains(where: { abs($0.start - 25) <= 1 }) { found += 1 }
    }
    #expect(found >= 195, "10 % at 2 % noise: \(found) of 200")
    #expect(invented <= 10, "\(invented) of 200 flat series have changes")
  }

  @Test func oneOutlierIsNoLevel() {
    var values = [Double](repeating: 10, count: 30)
    values[12] = 30
    #expect(Statistics.levels(values).count == 1)
    #expect(Statistics.levels([]).isEmpty && Statistics.levels([1]).count == 1)
  }

  @Test func valuesThatAreNotFiniteHaveNoChanges() {
    #expect(ChangePoints.find([1, 2, .nan, 4, 5, 6], penalty: 1).isEmpty)
    #expect(ChangePoints.find([1, 1, 9, 9], penalty: 1, minimumSize: 0).isEmpty)
  }

  @Test func outliersAreNamed() {
    let outliers = Outliers([10, 11, 10, 12, 11, 10, 11, 12, 15, 40])
    #expect(outliers.severe == [9] && outliers.mild == [8])
    #expect(Outliers([50, 10, 11, 10, 11, 10]).isFirstAlone && !outliers.isFirstAlone)
    #expect(Outliers([1, 2, 300]).severe.isEmpty, "three samples have no outliers")
  }

  @Test func theNoiseFloorIsTheSpreadBetweenSessions() throws {
    // Groups of different levels, each with a standard deviation of 2 % of its level.
    let spread = try #require(NoiseFloor.relativeSpread([[98, 100, 102], [980, 1000, 1020]]))
    #expect(abs(spread - 0.02) < 1e-12)
    let stalled = try #require(NoiseFloor.relativeSpread([[98, 99, 100, 100, 101, 102, 35_000]]))
    #expect(stalled < 0.02, "one session that stood still doesn't hide what the others say")
    #expect(NoiseFloor.relativeSpread([[1, 2]]) == nil && NoiseFloor.relativeSpread([]) == nil)
    #expect(NoiseFloor.relativeSpread([[0, 0, 0]]) == nil)
    let few = try #require(NoiseFloor.detectableChange(limit: 0.05, spread: 0.02, sessions: 5, 5))
    let many = try #require(NoiseFloor.detectableChange(limit: 0.05, spread: 0.02, sessions: 20, 20))
    #expect(few > many && many > 0.05)
    #expect(NoiseFloor.detectableChange(limit: 0.05, spread: 0.02, sessions: 0, 5) == nil)
  }

  @Test func anIntervalOfSessionsIsWiderThanOneOfSamples() throws {
    // Five sessions with their own levels, many equal samples within each.
    let medians = [90.0, 95, 100, 105, 110]
    let samples = medians.flatMap { [Double](repeating: $0, count: 40) }
    let alone = try #require(Summary(samples).ci)
    let whole = try #require(Summary(samples, sessionMedians: medians).ci)
    #expect(whole.method == "bootstrap-session-medians" && alone.method == "bootstrap-median")
    #expect(whole.high - whole.low > alone.high - alone.low)
    #expect(Summary((0..<1500).map { Double($0) }).ci?.method == "order-statistics")
  }
}

@Suite struct MachineReadingTests {
  private func root(_ files: [String: String]) throws -> (SystemRoot, TemporaryFolder) {
    let folder = try TemporaryFolder()
    for (name, text) in files {
      let url = folder.url.appendingPathComponent(name)
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: url)
    }
    return (SystemRoot(path: folder.url.path), folder)
  }

  @Test func sensorsOfARecordedTreeAreRead() throws {
    let (root, folder) = try root([
      "sys/class/thermal/thermal_zone0/temp": "61000\n", "sys/class/thermal/thermal_zone1/temp": "88500\n",
      "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "7\n",
      "sys/class/power_supply/AC/type": "Mains\n", "sys/class/power_supply/AC/online": "0\n",
      "sys/class/power_supply/BAT0/type": "Battery\n",
    ])
    let conditions = Conditions.now(root: root)
    #expect(conditions.temperatureCelsius == 88.5 && conditions.throttleCount == 7 && conditions.isOnBattery == true)
    var later = conditions
    later.throttleCount = 9
    #expect(later.throttledTimes(since: conditions) == 2 && conditions.throttledTimes(since: later) == nil)
    withExtendedLifetime(folder) {}
  }

  @Test func absentSensorsAreNil() {
    let conditions = Conditions.now(root: SystemRoot(path: "/nowhere"))
    #expect(conditions.temperatureCelsius == nil && conditions.throttleCount == nil && conditions.isOnBattery == nil)
  }

  @Test func aNoisyMachineIsDiagnosed() throws {
    let (root, folder) = try root([
      "proc/loadavg": "3.50 1 1 1/1 1\n", "proc/pressure/cpu": "some avg10=42.00 avg60=1 avg300=1 total=1\n",
      "proc/stat": "cpu 100 0 0 800 0 0 0 100 0 0\n",
      "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n", "sys/devices/system/cpu/cpufreq/boost": "1\n",
      "sys/fs/cgroup/cgroup.controllers": "cpu\n", "sys/fs/cgroup/cpu.max": "150000 100000\n",
      "proc/cpuinfo": "processor : 0\nflags : avx2 hypervisor\n\nprocessor : 1\nflags : avx2 hypervisor\n",
    ])
    let findings = Diagnosis.findings(
      environment: EnvironmentProbe(root: root).read(), conditions: .now(root: root),
      build: BuildRecord(config: "debug", swiftVersion: "6"))
    let bad = findings.filter { $0.level == .bad }.map(\.what).joined(separator: "\n")
    for word in ["debug build", "load is 3.5", "42 %", "steal", "powersave", "1.5 CPUs"] {
      #expect(bad.contains(word), "\(word) in:\n\(bad)")
    }
    #expect(findings.filter { $0.level == .bad }.allSatisfy { !$0.advice.isEmpty })
    #expect(findings.contains { $0.what.contains("doesn't tell") && $0.what.contains("temperature") })
    withExtendedLifetime(folder) {}
  }

  @Test func steadinessIsJudged() throws {
    #expect(Steadiness([1, 2, 3]) == nil)
    let steady = try #require(Steadiness([Double](repeating: 10, count: 50)))
    #expect(steady.spread == 0 && Diagnosis.findings(steady).map(\.level) == [.good])
    let shaky = try #require(Steadiness((0..<100).map { $0 % 10 == 0 ? 20 : 10 }))
    #expect(Diagnosis.findings(shaky).map(\.level) == [.bad])
  }

  @Test func hashesAreStable() {
    #expect(StableHash.hex("") == "cbf29ce4842223259ae16a3b2f90404f")
    #expect(StableHash.hex("a") != StableHash.hex("b") && StableHash.hex("ab").count == 32)
  }

  @Test func theNullBackendTellsWhatTheHarnessCosts() async throws {
    let cost = try #require(await NullBackend.overheadNs(steps: 20))
    #expect(cost > 0)
  }
}
