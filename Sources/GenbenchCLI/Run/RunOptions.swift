import Foundation
import Reporting

/// How long and how often a run measures, out of the command line and, below it, a suite's defaults.
struct RunOptions {
  var effort: RunPlan.Effort
  var interleaving: RunPlan.Interleaving
  var gate: Gate
  var seed: UInt64
  var negativePrompt: String?

  /// The options that a suite's `defaults` may hold.
  static let names = [
    "sessions", "repetitions", "warmup", "min-time", "until-ci", "max-repetitions", "delay", "timeout", "interleave", "gate",
    "seed",
    "negative-prompt", "prompts",
  ]

  /// Takes the text of each option; nil is absent.
  init(isFullSize: Bool, _ text: (String) -> String?) throws(UsageError) {
    func int(_ name: String, _ range: ClosedRange<Int>) throws(UsageError) -> Int? {
      guard let value = text(name) else { return nil }
      guard let number = Int(value), range.contains(number) else {
        throw UsageError(
          "The value '\(value)' is invalid for '--\(name) <n>': expected a whole number in \(range.lowerBound)...\(range.upperBound)"
        )
      }
      return number
    }
    func duration(_ name: String) throws(UsageError) -> UInt64? {
      guard let value = text(name) else { return nil }
      return try Self.duration(value, option: "--\(name) <time>")
    }
    effort = RunPlan.Effort(
      sessions: try int("sessions", 1...1000) ?? 1, repetitions: try int("repetitions", 1...100_000) ?? 1,
      warmups: try int("warmup", 0...1000) ?? (isFullSize ? 0 : 1))
    if let value = text("min-time") {
      if value.hasSuffix("x"), let count = Int(value.dropLast()), count >= 1 {
        effort.repetitions = max(effort.repetitions, count)
      } else {
        effort.minimumNs = try Self.duration(value, option: "--min-time <time>")
      }
    }
    if let value = text("until-ci") {
      guard value.hasSuffix("%"), let percent = Double(value.dropLast()), percent > 0, percent <= 100 else {
        throw UsageError("The value '\(value)' is invalid for '--until-ci <percent>': expected a share such as 2%")
      }
      effort.untilInterval = percent / 100
    }
    effort.maximumRepetitions = try int("max-repetitions", 1...1_000_000) ?? 1000
    effort.delayNs = try duration("delay") ?? 0
    effort.timeoutNs = try duration("timeout") ?? 600_000_000_000
    let order = text("interleave") ?? "abba"
    guard let interleaving = RunPlan.Interleaving(rawValue: order) else {
      throw UsageError("The value '\(order)' is invalid for '--interleave <order>': expected off, abba or random")
    }
    self.interleaving = interleaving
    let by = text("gate") ?? Gate.auto.rawValue
    guard let gate = Gate(rawValue: by) else {
      throw UsageError("The value '\(by)' is invalid for '--gate <by>': expected auto, golden, reference or off")
    }
    self.gate = gate
    let seedText = text("seed") ?? "0"
    guard let seed = UInt64(seedText) ?? Int64(seedText).map({ UInt64(bitPattern: $0) }) else {
      throw UsageError("The value '\(seedText)' is invalid for '--seed <n>': expected a whole number of 64 bits")
    }
    self.seed = seed
    negativePrompt = text("negative-prompt")
  }

  /// Reads `500ms`, `10s`, `5m`, `1h`.
  static func duration(_ text: String, option: String) throws(UsageError) -> UInt64 {
    for (unit, scale) in [("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)] where text.hasSuffix(unit) {
      guard let number = Double(text.dropLast(unit.count)), number > 0, number * scale < 1e16 else { break }
      return UInt64(number * scale)
    }
    throw UsageError("The value '\(text)' is invalid for '\(option)': expected a time with its unit, such as 500ms, 10s or 5m")
  }
}

/// `--shard 2/8`, or `auto` for what the scheduler of a cluster says.
enum ShardOption {
  /// Reads a part; parts count from 1.
  static func parse(_ text: String, environment: [String: String]) throws(UsageError) -> RunDocument.Shard {
    func refuse(_ why: String) -> UsageError {
      UsageError("The value '\(text)' is invalid for '--shard <i/n>': \(why)")
    }
    if text == "auto" {
      func number(_ name: String) -> Int? { environment[name].flatMap { Int($0) } }
      if let index = number("SLURM_ARRAY_TASK_ID"), let count = number("SLURM_ARRAY_TASK_COUNT") {
        let first = number("SLURM_ARRAY_TASK_MIN") ?? 0
        return try check(index - first + 1, count, refuse)
      }
      if let index = number("JOB_COMPLETION_INDEX"), let count = number("JOB_COMPLETIONS") {
        return try check(index + 1, count, refuse)
      }
      throw refuse(
        "neither SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT nor JOB_COMPLETION_INDEX and JOB_COMPLETIONS are set")
    }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 2, let index = parts[0], let count = parts[1] else {
      throw refuse("expected a part and the number of parts, such as 2/8, or auto")
    }
    return try check(index, count, refuse)
  }

  private static func check(_ index: Int, _ count: Int, _ refuse: (String) -> UsageError) throws(UsageError) -> RunDocument.Shard
  {
    guard (1...10_000).contains(count), (1...count).contains(index) else {
      throw refuse("part \(index) of \(count): expected 1...n of at most 10000")
    }
    return RunDocument.Shard(index: index, count: count)
  }
}
