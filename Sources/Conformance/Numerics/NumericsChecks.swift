public import Goldens

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
    return SurfaceCheck<DiffusionSurface>(
      golden.id, statement, level: .derived, group: .numerics, environments: [.engine]
    ) { context in
      do { context.note(try await judge(golden, context)) } catch let mismatch as GoldenMismatch {
        throw CheckFailure(expected: mismatch.expected, seen: mismatch.seen)
      }
    }.check
  }

  private static func judge(_ golden: GoldenCase, _ context: CheckContext<DiffusionSurface>) async throws -> String {
    if golden.op == "pipeline" {
      guard let backend = try await context.rig().implementation.backend else {
        throw CheckSkip("the engine doesn't speak GenBackend")
      }
      guard let fixtures = context.facts.fixtures else { throw CheckSkip("the folder of the fixtures isn't known") }
      guard let said = try await PipelineCase(golden).run(on: backend, fixtures: fixtures) else {
        throw CheckSkip("the engine returns no trace")
      }
      return said
    }
    guard let numerics = context.facts.numerics else { throw CheckSkip("the engine's inner parts aren't reachable") }
    guard let outputs = try await numerics.outputs(of: golden), !outputs.isEmpty else {
      throw CheckSkip("\(numerics.name) has no \(golden.op) on its own")
    }
    return try golden.compare(outputs)
  }
}
