/// One cell of the result.
public struct CheckResult: Sendable, Hashable {
  /// The check's id.
  public var id: String
  /// The title of the subject.
  public var subject: String
  /// How it ended.
  public var verdict: Verdict
  /// How long it took, in nanoseconds.
  public var durationNs: UInt64

  /// Makes a result.
  public init(id: String, subject: String, verdict: Verdict, durationNs: UInt64 = 0) {
    self.id = id
    self.subject = subject
    self.verdict = verdict
    self.durationNs = durationNs
  }
}

/// Runs checks on subjects.
public struct Runner: Sendable {
  /// How long something may hang before that's called a failure; long, as on a busy machine a minute without a turn is no hang.
  public var timeout: Duration
  /// Failures that are known.
  public var expected: ExpectedFailures
  /// The one race to run of those that checks run by seed; nil runs all.
  public var raceSeed: UInt64?

  /// Makes a runner.
  public init(
    timeout: Duration = .seconds(300), expected: ExpectedFailures = ExpectedFailures(), raceSeed: UInt64? = nil
  ) {
    self.timeout = timeout
    self.expected = expected
    self.raceSeed = raceSeed
  }

  /// Runs one check on one subject.
  public func run<Surface: APISurface>(_ check: Check, on subject: Subject<Surface>) async -> CheckResult {
    await run(check, on: AnySubject(subject))
  }

  /// Runs one check on one subject.
  public func run(_ check: Check, on subject: AnySubject) async -> CheckResult {
    let clock = ContinuousClock()
    let start = clock.now
    let verdict = await verdict(check, on: subject)
    let (seconds, attoseconds) = (clock.now - start).components
    return CheckResult(
      id: check.id, subject: subject.title, verdict: expected.applied(to: verdict, check: check.id, subject: subject),
      durationNs: UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(max(0, attoseconds)) / 1_000_000_000)
  }

  /// Runs checks one after the other, each on the subjects that offer its API, until `isStopped` or the task is cancelled.
  public func run(
    _ checks: [Check], on subjects: [AnySubject], isStopped: @Sendable () -> Bool = { false },
    onResult: @Sendable (CheckResult) -> Void = { _ in }
  ) async -> [CheckResult] {
    var results: [CheckResult] = []
    for subject in subjects {
      for check in checks where check.surface == subject.surface {
        if Task.isCancelled || isStopped() { return results }
        let result = await run(check, on: subject)
        onResult(result)
        results.append(result)
      }
    }
    return results
  }

  /// How one check ends on one subject, before known failures are looked at.
  package func verdict(_ check: Check, on subject: AnySubject) async -> Verdict {
    if let reason = check.deviceReason { return .skip(reason: reason) }
    guard check.environments.contains(subject.environment) else {
      return .skip(
        reason: subject.environment == .scripted ? "needs an engine that computes" : "needs a scripted engine; judged over one")
    }
    return await check.judge(subject, CheckLimits(timeout: timeout, raceSeed: raceSeed))
  }
}
