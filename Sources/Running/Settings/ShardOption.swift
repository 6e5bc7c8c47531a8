package import Reporting

/// `--shard 2/8`, or `auto` for what the scheduler of a cluster says.
package enum ShardOption {
  /// Reads a part; parts count from 1.
  package static func parse(_ text: String, environment: [String: String]) throws(SettingError) -> RunDocument.Shard {
    func refuse(_ why: String) -> SettingError {
      SettingError("The value '\(text)' is invalid for '--shard <i/n>': \(why)")
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

  private static func check(_ index: Int, _ count: Int, _ refuse: (String) -> SettingError) throws(SettingError)
    -> RunDocument.Shard
  {
    guard (1...10_000).contains(count), (1...count).contains(index) else {
      throw refuse("part \(index) of \(count): expected 1...n of at most 10000")
    }
    return RunDocument.Shard(index: index, count: count)
  }
}
