import Checkpoints
public import Goldens
import Tensors

/// Golden cases as checks: one each, under the case's id.
public enum NumericsChecks {
  /// The folders of `Fixtures/` whose cases are checks.
  public static let areas = [
    "kernels", "schedulers", "diffusion", "safety", "random", "pipelines", "small-models/sd15", "small-models/sd20",
    "small-models/sdxl",
  ]

  /// The checks of all cases.
  public static func checks(of cases: [GoldenCase]) -> [Check] { cases.map { check(of: $0) } }

  /// The check of a case.
  public static func check(of golden: GoldenCase) -> Check {
    let tolerance = golden.tolerance
    let limit = tolerance.metric == .exact ? "exactly" : "within \(tolerance.metric.rawValue) \(tolerance.limit)"
    let statement =
      "\(golden.op) equals \(golden.origin.tool) \(golden.origin.version) \(limit): \(tolerance.reason)"
    return Check(golden.id, statement, level: .derived, group: .numerics, worlds: [.engine]) { context in
      guard case .engine(let engine) = context.subject.surroundings else { return }
      if golden.op == "pipeline" {
        try await PipelineCase(golden).check(context, engine)
      } else {
        try await checkOutputs(golden, engine.numerics, context)
      }
    }
  }

  /// Compares the results of a case one after the other; the first that is off is the one to look at.
  private static func checkOutputs(_ golden: GoldenCase, _ numerics: (any NumericsImplementation)?, _ context: CheckContext)
    async throws
  {
    guard let numerics else { throw CheckSkip("the engine's inner parts aren't reachable") }
    guard let outputs = try await numerics.outputs(of: golden), !outputs.isEmpty else {
      throw CheckSkip("\(numerics.name) has no \(golden.op) on its own")
    }
    var worst = 0.0
    for (place, output) in outputs.enumerated() {
      var expected = try golden.tensor(output.name)
      if let row = output.row {
        guard expected.shape.rank > 0, row >= 0, row < expected.shape[0] else {
          throw CheckFailure(expected: "\(output.name) with \(expected.shape) as its shape", seen: "a row \(row)")
        }
        expected = expected.slice(row..<(row + 1))
      }
      let tolerance = output.tolerance ?? golden.tolerance
      let actual = output.tensor.count == expected.count ? output.tensor.reshaped(to: expected.shape) : output.tensor
      if let mismatch = tolerance.mismatch(actual: actual, expected: expected) {
        throw CheckFailure(
          expected: "\(output.name)\(output.row.map { ", entry \($0)," } ?? "") as \(golden.origin.tool) has it",
          seen: "\(place == 0 ? "" : "\(place) results before it agree, the first that doesn't: ")\(mismatch)")
      }
      worst = max(worst, Comparison(actual: actual, expected: expected)?.maxRelative ?? 0)
    }
    context.note("\(outputs.count) tensors, worst relative error \(Float(worst))")
  }
}
