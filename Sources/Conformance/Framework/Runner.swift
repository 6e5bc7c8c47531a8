import Synchronization

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
  public var patience: Duration
  /// Failures that are known.
  public var expected: ExpectedFailures
  /// The one race to run of those that checks run by seed; nil runs all.
  public var raceSeed: UInt64?

  /// Makes a runner.
  public init(
    patience: Duration = .seconds(300), expected: ExpectedFailures = ExpectedFailures(), raceSeed: UInt64? = nil
  ) {
    self.patience = patience
    self.expected = expected
    self.raceSeed = raceSeed
  }

  /// Runs one check on one subject.
  public func run(_ check: Check, on subject: Subject) async -> CheckResult {
    let clock = ContinuousClock()
    let start = clock.now
    let raw = await verdict(check, on: subject)
    let (seconds, attoseconds) = (clock.now - start).components
    return CheckResult(
      id: check.id, subject: subject.title, verdict: expected.applied(to: raw, check: check.id, subject: subject),
      durationNs: UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(max(0, attoseconds)) / 1_000_000_000)
  }

  /// Runs checks one after the other, each on the subjects that offer its API.
  public func run(
    _ checks: [Check], on subjects: [Subject], onResult: @Sendable (CheckResult) -> Void = { _ in }
  ) async -> [CheckResult] {
    var results: [CheckResult] = []
    for subject in subjects {
      for check in checks where check.surface == subject.surface {
        if Task.isCancelled { return results }
        let result = await run(check, on: subject)
        onResult(result)
        results.append(result)
      }
    }
    return results
  }

  func verdict(_ check: Check, on subject: Subject, mutant: Mutant? = nil) async -> Verdict {
    if let reason = check.deviceReason { return .skip(reason: reason) }
    guard check.surface == subject.surface else {
      return .skip(reason: "about the \(check.surface.rawValue) API; judged on implementations of it")
    }
    guard check.worlds.contains(subject.world) else {
      return .skip(
        reason: subject.world == .scripted ? "needs an engine that computes" : "needs a scripted engine; judged over one")
    }
    let context = CheckContext(subject: subject, mutant: mutant, patience: patience, raceSeed: raceSeed)
    do {
      if !check.capabilities.isEmpty {
        let missing = check.capabilities.subtracting(try await context.rig().implementation.capabilities)
        if !missing.isEmpty {
          await context.finish()
          return .skip(
            reason: "the implementation has no \(missing.map(\.rawValue).sorted().joined(separator: ", "))")
        }
      }
      try await check.body(context)
      await context.finish()
      return .pass(notes: context.notes)
    } catch let skip as CheckSkip {
      await context.finish()
      return .skip(reason: skip.reason)
    } catch let failure as CheckFailure {
      await context.finish()
      return .fail(Evidence(expected: failure.expected, seen: failure.seen, log: context.log.lines))
    } catch {
      await context.finish()
      return .error("\(type(of: error)): \(error)")
    }
  }
}
