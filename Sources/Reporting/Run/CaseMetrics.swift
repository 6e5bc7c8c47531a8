import GenBackend
import Measurement

/// The quantities of a case, out of the samples of its sessions.
public enum CaseMetrics {
  /// Quantities that comparisons judge; the others are told without a verdict.
  public static let judged: Set<String> = [
    "e2e_ns", "step_ns", "text_encode_ns", "vae_decode_ns", "vision_encode_ns", "ttft_ns", "prefill_tokens_per_s",
    "decode_tokens_per_s", "images_per_s", "load_warm_ns", "cancel_ns", "peak_rss_bytes",
  ]

  /// All quantities of some sessions.
  public static func metrics(of sessions: [RunSession], scenario: String = "single") -> [RunCase.Metric] {
    var metrics: [RunCase.Metric] = []
    func add(
      _ name: String, unit: String = "ns", polarity: RunCase.Metric.Polarity = .lower, scope: String,
      _ values: (RunSession) -> [Double]
    ) {
      let all = sessions.map(values)
      guard all.contains(where: { !$0.isEmpty }) else { return }
      metrics.append(.init(name: name, unit: unit, polarity: polarity, scope: scope, sessions: all))
    }
    func ns(_ values: [UInt64]) -> [Double] { values.map { Double($0) } }
    let samples = sessions.flatMap(\.samples)
    add("load_cold_ns", polarity: scenario == "cold" ? .lower : .none, scope: "load") { ns([$0.loadNs].compactMap { $0 }) }
    add("load_warm_ns", scope: "load") { ns($0.samples.compactMap(\.loadNs)) }
    if scenario == "cancel" {
      add("cancel_ns", scope: "run") { ns($0.samples.compactMap(\.cancelNs)) }
    } else if scenario != "warm" {
      add("e2e_ns", scope: "run") { ns($0.samples.map(\.e2eNs)) }
      if scenario == "offline" {
        add("images_per_s", unit: "1/s", polarity: .higher, scope: "run") { session in
          session.samples.compactMap { $0.e2eNs == 0 ? nil : Double($0.images) / (Double($0.e2eNs) / 1e9) }
        }
      }
      for stage in Set(samples.flatMap(\.stagesNs.keys)).sorted() where stage != Stage.step.rawValue {
        add("\(stage)_ns", scope: "stage") { ns($0.samples.compactMap { $0.stagesNs[stage] }) }
      }
      add("first_step_ns", scope: "step") { ns($0.samples.compactMap(\.stepsNs.first)) }
      add("step_ns", scope: "step") { ns($0.samples.flatMap(\.stepsNs)) }
      for part in Set(samples.flatMap(\.stepPartsNs.keys)).sorted() {
        add("step_\(part)_ns", scope: "step") { ns($0.samples.flatMap { $0.stepPartsNs[part] ?? [] }) }
      }
      add("ttft_ns", scope: "token") { ns($0.samples.compactMap { $0.text?.ttftNs }) }
      add("token_ns", scope: "token") { ns($0.samples.flatMap { $0.text?.tokensNs ?? [] }) }
      add("prefill_tokens_per_s", unit: "1/s", polarity: .higher, scope: "token") {
        $0.samples.compactMap { $0.text?.prefillTokensPerSecond }
      }
      add("decode_tokens_per_s", unit: "1/s", polarity: .higher, scope: "token") {
        $0.samples.compactMap { $0.text?.decodeTokensPerSecond }
      }
      add("unaccounted_ns", polarity: .none, scope: "run") { ns($0.samples.map(\.unaccountedNs)) }
      add("idle_ns", polarity: .none, scope: "run") { ns($0.samples.compactMap(\.idleNs)) }
    }
    add("harness_overhead_ns", polarity: .none, scope: "run") { ns([$0.overheadNs].compactMap { $0 }) }
    add("peak_rss_bytes", unit: "bytes", scope: "run") { ns([$0.peakBytes].compactMap { $0 }) }
    add("peak_rss_growth_bytes", unit: "bytes", polarity: .none, scope: "run") { session in
      guard let peak = session.peakBytes, let baseline = session.baselineBytes else { return [] }
      return [Double(peak) - Double(min(baseline, peak))]
    }
    return metrics
  }
}
