/// How a check ended.
public enum Verdict: Sendable, Hashable {
  /// The statement holds; notes tell what was measured on the way.
  case pass(notes: [String])
  /// The statement doesn't hold.
  case fail(Evidence)
  /// It couldn't be told.
  case skip(reason: String)
  /// The check itself broke.
  case error(String)
  /// It failed, as a file of known failures says.
  case expectedFail(Evidence, reason: String)
  /// It passed, though a file says that it fails: the entry is out of date.
  case unexpectedPass(reason: String)

  /// The kinds of verdict.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    case pass, fail, skip, error
    case expectedFail = "expected_fail"
    case unexpectedPass = "unexpected_pass"

    /// One character for tables.
    public var mark: String {
      switch self {
      case .pass: "✓"
      case .fail: "✗"
      case .skip: "–"
      case .error: "!"
      case .expectedFail: "x"
      case .unexpectedPass: "?"
      }
    }
  }

  /// The kind.
  public var kind: Kind {
    switch self {
    case .pass: .pass
    case .fail: .fail
    case .skip: .skip
    case .error: .error
    case .expectedFail: .expectedFail
    case .unexpectedPass: .unexpectedPass
    }
  }

  /// What there is to say beside the kind.
  public var detail: String {
    switch self {
    case .pass(let notes): notes.joined(separator: "; ")
    case .fail(let evidence): evidence.summary
    case .skip(let reason): reason
    case .error(let text): text
    case .expectedFail(let evidence, let reason): "\(reason) (\(evidence.summary))"
    case .unexpectedPass(let reason): "known to fail (\(reason)), but it passed; remove the entry"
    }
  }

  /// What was seen, when it failed.
  public var evidence: Evidence? {
    switch self {
    case .fail(let evidence), .expectedFail(let evidence, _): evidence
    default: nil
    }
  }
}

/// Why a check failed: for somebody who wasn't there.
public struct Evidence: Sendable, Hashable {
  /// What the statement wants.
  public var expected: String
  /// What was the case.
  public var seen: String
  /// What happened before, oldest first.
  public var log: [String]

  /// Makes evidence.
  public init(expected: String, seen: String, log: [String] = []) {
    self.expected = expected
    self.seen = seen
    self.log = log
  }

  /// Both on one line.
  public var summary: String { "expected \(expected); seen \(seen)" }
}

/// Thrown by a check when its statement doesn't hold.
public struct CheckFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// What the statement wants.
  public var expected: String
  /// What was the case.
  public var seen: String

  /// Makes a failure.
  public init(expected: String, seen: String) {
    self.expected = expected
    self.seen = seen
  }

  /// Both on one line.
  public var description: String { "expected \(expected); seen \(seen)" }
}

/// Thrown by a check when it can't tell.
public struct CheckSkip: Error, Sendable, Hashable {
  /// Why.
  public var reason: String
  /// Makes a skip.
  public init(_ reason: String) { self.reason = reason }
}
