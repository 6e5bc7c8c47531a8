import Reporting
import Running

extension BackendSpecification {
  /// The options that commands with an engine share.
  static let options: [CommandOption] = [
    .value(
      "backend", "spec", "The engine: ref, or with settings as in ref:threads=1; null does nothing.", default: "ref",
      section: "ENGINE"),
    .value(
      "kernels", "set", "The operators: SIMD and threads, or plain loops with sums in Double.", default: "fast",
      values: RunPlan.Kernels.allCases.map(\.rawValue), section: "ENGINE"),
    .value("threads", "n", "Worker threads.", default: "one a core", section: "ENGINE"),
  ]

  /// Reads those options; `--kernels` and `--threads` win over what `--backend` says.
  init(_ values: ParsedValues) throws(UsageError) {
    do { self = try values.string("backend").map(BackendSpecification.init(parsing:)) ?? BackendSpecification() } catch {
      throw UsageError("\(error)")
    }
    kernels = values.string("kernels").flatMap { RunPlan.Kernels(rawValue: $0) } ?? kernels
    threads = try values.int("threads", in: 1...1024) ?? threads
  }
}
