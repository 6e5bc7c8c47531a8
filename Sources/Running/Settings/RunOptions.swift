import Reporting

/// How long and how often a run measures, out of the command line and, below it, a suite's defaults.
struct RunOptions: Sendable {
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
  init(isFullSize: Bool, _ text: (String) -> String?) throws(SettingError) {
    func int(_ name: String, _ range: ClosedRange<Int>) throws(SettingError) -> Int? {
      guard let value = text(name) else { return nil }
      guard let number = Int(value), range.contains(number) else {
        throw SettingError(
          "The value '\(value)' is invalid for '--\(name) <n>': expected a whole number in \(range.lowerBound)...\(range.upperBound)"
        )
      }
      return number
    }
    func duration(_ name: String) throws(SettingError) -> UInt64? {
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
        throw SettingError("The value '\(value)' is invalid for '--until-ci <percent>': expected a share such as 2%")
      }
      effort.untilInterval = percent / 100
    }
    effort.maximumRepetitions = try int("max-repetitions", 1...1_000_000) ?? 1000
    effort.delayNs = try duration("delay") ?? 0
    effort.timeoutNs = try duration("timeout") ?? 600_000_000_000
    let order = text("interleave") ?? "abba"
    guard let interleaving = RunPlan.Interleaving(rawValue: order) else {
      throw SettingError("The value '\(order)' is invalid for '--interleave <order>': expected off, abba or random")
    }
    self.interleaving = interleaving
    let by = text("gate") ?? Gate.auto.rawValue
    guard let gate = Gate(rawValue: by) else {
      throw SettingError("The value '\(by)' is invalid for '--gate <by>': expected auto, golden, reference or off")
    }
    self.gate = gate
    let seedText = text("seed") ?? "0"
    guard let seed = UInt64(seedText) ?? Int64(seedText).map({ UInt64(bitPattern: $0) }) else {
      throw SettingError("The value '\(seedText)' is invalid for '--seed <n>': expected a whole number of 64 bits")
    }
    self.seed = seed
    negativePrompt = text("negative-prompt")
  }

  /// Reads `500ms`, `10s`, `5m`, `1h`.
  static func duration(_ text: String, option: String) throws(SettingError) -> UInt64 {
    for (unit, scale) in [("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)] where text.hasSuffix(unit) {
      guard let number = Double(text.dropLast(unit.count)), number > 0, number * scale < 1e16 else { break }
      return UInt64(number * scale)
    }
    throw SettingError("The value '\(text)' is invalid for '\(option)': expected a time with its unit, such as 500ms, 10s or 5m")
  }
}
