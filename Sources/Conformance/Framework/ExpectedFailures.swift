public import Foundation

/// Failures that are known, from a file: each with a reason, and a day after which it counts again.
///
/// ```json
/// { "schema": "genbench.expected-failures/1",
///   "entries": [ { "implementation": "RunAnywhere", "version": "0.19.13", "check": "D-24",
///                  "reason": "raw RGBA where PNG is promised", "expires": "2027-01-31" } ] }
/// ```
public struct ExpectedFailures: Sendable, Hashable {
  /// One known failure.
  public struct Entry: Sendable, Hashable, Codable {
    /// The implementation's name.
    public var implementation: String
    /// Its version; nil is any.
    public var version: String?
    /// The check's id.
    public var check: String
    /// Why.
    public var reason: String
    /// The last day that it holds, as `2027-01-31`.
    public var expires: String

    /// Makes an entry.
    public init(implementation: String, version: String? = nil, check: String, reason: String, expires: String) {
      self.implementation = implementation
      self.version = version
      self.check = check
      self.reason = reason
      self.expires = expires
    }
  }

  private struct File: Codable {
    var schema: String
    var entries: [Entry]
  }

  /// A file that can't be used.
  public struct FileError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong, with the file's name.
    public var description: String
  }

  /// The schema of the file.
  public static let schema = "genbench.expected-failures/1"
  /// The entries that hold today.
  public var entries: [Entry]

  /// Makes a list.
  public init(entries: [Entry] = []) { self.entries = entries }

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - data: The content.
  ///   - name: What messages call it.
  ///   - today: The day that expiry is told by, as `2027-01-31`.
  ///   - knownChecks: Ids that exist; others are refused, as they'd excuse nothing.
  /// - Throws: ``FileError``.
  public init(data: Data, name: String, today: String, knownChecks: Set<String>) throws(FileError) {
    let file: File
    do {
      file = try JSONDecoder().decode(File.self, from: data)
    } catch {
      throw FileError(description: "\(name): expected an object with schema and entries: \(error)")
    }
    guard file.schema == Self.schema else {
      throw FileError(description: "\(name): schema: expected \(Self.schema), found \(file.schema)")
    }
    for entry in file.entries {
      guard knownChecks.contains(entry.check) else {
        throw FileError(description: "\(name): check '\(entry.check)' doesn't exist; correct its id or remove the entry")
      }
      guard entry.reason.contains(where: { !$0.isWhitespace }) else {
        throw FileError(description: "\(name): \(entry.check): the reason is empty; say why it's known to fail")
      }
      guard Self.isDay(entry.expires) else {
        throw FileError(
          description: "\(name): \(entry.check): expires: expected a day such as 2027-01-31, found '\(entry.expires)'")
      }
    }
    entries = file.entries.filter { $0.expires >= today }
  }

  /// Today in UTC, as `2027-01-31`.
  public static func today(_ date: Date = Date()) -> String {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? calendar.timeZone
    let parts = calendar.dateComponents([.year, .month, .day], from: date)
    return String(format: "%04d-%02d-%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
  }

  private static func isDay(_ text: String) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.map(\.count) == [4, 2, 2], parts.allSatisfy({ $0.allSatisfy(\.isASCII) && Int($0) != nil }) else { return false }
    return (1...12).contains(Int(parts[1]) ?? 0) && (1...31).contains(Int(parts[2]) ?? 0)
  }

  /// Turns a failure that is known into an expected one, and a pass that contradicts the list into an unexpected one.
  public func applied(to verdict: Verdict, check: String, subject: AnySubject) -> Verdict {
    guard
      let entry = entries.first(where: {
        $0.check == check && $0.implementation == subject.name && ($0.version == nil || $0.version == subject.version)
      })
    else { return verdict }
    switch verdict {
    case .fail(let evidence): return .expectedFail(evidence, reason: entry.reason)
    case .pass: return .unexpectedPass(reason: entry.reason)
    default: return verdict
    }
  }
}
