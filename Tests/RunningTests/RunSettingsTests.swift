import Reporting
import Testing

@testable import Running

@Suite struct NumberListTests {
  @Test(
    arguments: [
      (["4", "8"], [4, 8]), (["1-4"], [1, 2, 3, 4]), (["10-50+20"], [10, 30, 50]), (["16-64*2"], [16, 32, 64]),
      (["5-5"], [5]), (["4", "16-20+3"], [4, 16, 19]),
    ] as [([String], [Int])])
  func rangesAreSpelledOut(texts: [String], numbers: [Int]) throws {
    #expect(try NumberList.parse(texts, option: "--x", in: 1...100) == numbers)
  }

  @Test(arguments: ["", "x", "4-2", "1-", "-", "1-9*1", "1-9+0", "0-8*2", "1-2000", "101", "1-9*", "1.5", "16-64*2*2"])
  func othersAreRefused(text: String) {
    #expect(throws: SettingError.self) { try NumberList.parse([text], option: "--x", in: 1...100) }
  }
}

@Suite struct RunAxesTests {
  private func texts(_ axes: RunAxes) -> [String] {
    axes.combinations.map { "\($0.text(.variant) ?? "")\($0.text(.steps) ?? "")" }
  }

  @Test func theProductVariesTheLastSettingFastest() throws {
    var axes = RunAxes()
    try axes.set(.steps, ["1", "2"])
    try axes.set(.variant, ["sd15", "sdxl"])
    #expect(texts(axes) == ["sd151", "sd152", "sdxl1", "sdxl2"])
    axes.excluded = [try RunCombination([.variant: "sd15", .steps: "2"])]
    axes.included = [
      try RunCombination([.variant: "sdxl", .steps: "9"]), try RunCombination([.variant: "sdxl", .steps: "1"]),
    ]
    #expect(texts(axes) == ["sd151", "sdxl1", "sdxl2", "sdxl9"])
  }

  @Test func anIncludedCombinationTakesWhatIsCommon() throws {
    var axes = RunAxes()
    try axes.set(.variant, ["sd15"])
    try axes.set(.steps, ["1", "2"])
    axes.included = [try RunCombination([.steps: "7"])]
    #expect(axes.combinations.last == (try RunCombination([.variant: "sd15", .steps: "7"])))
  }

  /// Each setting takes what it can be, and refuses the rest with its name or the names that are known.
  @Test(
    arguments: [
      (.variant, "sd15", "sd16"), (.scheduler, "euler_a", "eulerr"), (.scheduler, "DPM++ 2M Karras", "DPM++ 9M"),
      (.size, "512x768", "512x"), (.size, "512", "0x8"), (.steps, "20", "0"), (.batch, "4", "257"), (.threads, "8", "x"),
      (.guidanceScale, "7.5", "-1"), (.guidanceScale, "0", "nan"), (.eta, "1", "1.1"), (.guidanceRescale, "0.7", "inf"),
      (.timestepSpacing, "trailing", "trialing"), (.rng, "philox", "filox"), (.longPrompt, "chunk", "chunks"),
      (.clipSkip, "0", "-1"), (.scenario, "cold", "frozen"), (.kernels, "reference", "slow"), (.precision, "bf16", "f16"),
      (.backend, "ref:threads=2", "rf"), (.backend, "null", "ref:threads=0"), (.reduceMemory, "true", "yes"),
      (.maxTokens, "32", "1.5"), (.temperature, "0.7", "hot"),
    ] as [(RunAxis, String, String)])
  func valuesAreParsedOnce(axis: RunAxis, good: String, bad: String) throws {
    _ = try RunValue(good, for: axis)
    let error = #expect(throws: SettingError.self) { try RunValue(bad, for: axis) }
    #expect(error?.message.contains(bad) == true || error?.message.contains(axis.rawValue) == true, "\(error?.message ?? "")")
  }

  @Test func everySettingIsTriedAbove() throws {
    // Paths are anything.
    #expect(RunAxis.allCases.filter { (try? RunValue("\u{1}", for: $0)) != nil } == [.model, .mmproj])
  }

  @Test func sidesAreRead() throws {
    let side = try RunSide(parsing: "old:exe=/x/genbench,threads=2,env.A=b:c=d")
    #expect(
      side.name == "old" && side.executable == "/x/genbench" && side.overrides.whole(.threads) == 2
        && side.environment == ["A": "b:c=d"])
    for text in ["", "old", ":x=1", "a b:threads=1", "old:threads", "old:nonsense=1"] {
      #expect(throws: SettingError.self) { try RunSide(parsing: text) }
    }
  }

  @Test func shardsComeFromTheScheduler() throws {
    #expect(try ShardOption.parse("2/8", environment: [:]) == .init(index: 2, count: 8))
    let slurm = ["SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_ARRAY_TASK_MIN": "1"]
    #expect(try ShardOption.parse("auto", environment: slurm) == .init(index: 3, count: 4))
    #expect(
      try ShardOption.parse("auto", environment: ["JOB_COMPLETION_INDEX": "0", "JOB_COMPLETIONS": "4"])
        == .init(index: 1, count: 4))
    for text in ["0/4", "5/4", "x", "1/", "auto"] {
      #expect(throws: SettingError.self) { try ShardOption.parse(text, environment: [:]) }
    }
  }
}
