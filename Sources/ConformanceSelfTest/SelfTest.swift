public import Conformance

/// Proves that checks can fail: runs them on mutants.
public struct SelfTest: Sendable {
  /// The outcome for every pair that was run.
  public struct Matrix: Sendable {
    /// The mutants that were run, in order.
    public var mutants: [Mutant]
    /// The checks that were run, in order.
    public var checks: [Check]
    /// Verdict kinds by check id and mutant id.
    public var cells: [String: [String: Verdict.Kind]]
    /// What is wrong with the suite itself.
    public var faults: [String]

    /// Checks that at least one mutant fails, of those that run here.
    public var provenChecks: Int { checks.count { check in cells[check.id]?.values.contains(where: Self.isCaught) ?? false } }

    static func isCaught(_ kind: Verdict.Kind) -> Bool { kind == .fail }

    /// Whether a check found a mutant out.
    public func isCaught(_ mutant: String, by check: String) -> Bool { cells[check]?[mutant].map(Self.isCaught) ?? false }
  }

  private let subjects: [AnySubject]
  private let timeout: Duration
  private let raceSeed: UInt64?

  /// Makes a self-test.
  ///
  /// - Parameters:
  ///   - subjects: Scripted subjects, one an API, on which all checks pass.
  ///   - timeout: How long a mutant may hang before that counts as a failure.
  ///   - raceSeed: The one race to run of those that checks run by seed; nil runs all.
  public init(subjects: [AnySubject], timeout: Duration = .seconds(2), raceSeed: UInt64? = nil) {
    self.subjects = subjects
    self.timeout = timeout
    self.raceSeed = raceSeed
  }

  /// The checks that mutants are tried on.
  public static var checks: [Check] { Catalogue.all.filter { $0.environments.contains(.scripted) } }

  /// Runs one check on one mutant.
  public func verdict(_ check: Check, on mutant: Mutant) async -> Verdict {
    guard let subject = subjects.first(where: { $0.surface == mutant.surface }) else {
      return .skip(reason: "no subject offers the \(mutant.surface.rawValue) API")
    }
    return await Runner(timeout: timeout, raceSeed: raceSeed).verdict(check, on: mutant.applied(subject))
  }

  /// Runs checks on mutants, as far as a subject offers their API.
  ///
  /// - Parameter onlyClaimed: Runs only the pairs that mutants claim to break; a tenth of the time.
  public func run(
    mutants: [Mutant] = Mutant.all, checks: [Check] = SelfTest.checks, onlyClaimed: Bool = false,
    onMutant: @Sendable (Mutant) -> Void = { _ in }
  ) async -> Matrix {
    let surfaces = Set(subjects.map(\.surface))
    var matrix = Matrix(
      mutants: mutants.filter { surfaces.contains($0.surface) }, checks: checks.filter { surfaces.contains($0.surface) },
      cells: [:],
      faults: [])
    for mutant in matrix.mutants {
      if Task.isCancelled { break }
      // A fault of the metrics can't be seen in an implementation, nor the other way round.
      for check in matrix.checks
      where check.surface == mutant.surface
        && (mutant.breaks.contains(check.id) || !onlyClaimed && check.isAboutMetrics == mutant.isAboutMetrics)
      {
        let verdict = await verdict(check, on: mutant)
        matrix.cells[check.id, default: [:]][mutant.id] = verdict.kind
        if verdict.kind == .error { matrix.faults.append("\(check.id) breaks on \(mutant.id): \(verdict.detail)") }
      }
      onMutant(mutant)
    }
    matrix.faults += Self.faults(of: matrix)
    return matrix
  }

  private static func faults(of matrix: Matrix) -> [String] {
    var faults: [String] = []
    let ids = Set(matrix.checks.map(\.id))
    for check in matrix.checks where !matrix.mutants.contains(where: { matrix.isCaught($0.id, by: check.id) }) {
      faults.append("\(check.id) is failed by no mutant: nothing proves that it can fail")
    }
    for mutant in matrix.mutants {
      if !matrix.checks.contains(where: { matrix.isCaught(mutant.id, by: $0.id) }) {
        faults.append("\(mutant.id) is found out by no check: \(mutant.fault)")
      }
      for id in mutant.breaks where ids.contains(id) && !matrix.isCaught(mutant.id, by: id) {
        faults.append("\(mutant.id) should fail \(id), but doesn't")
      }
    }
    return faults
  }
}
