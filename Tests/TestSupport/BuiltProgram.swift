import Foundation

/// The program `genbench`, built beside the tests.
public enum BuiltProgram {
  /// Its path; nil when only the tests were built.
  public static let path: String? = find(in: folders)

  /// Whether tests that need it run: they are skipped where it isn't built, but on CI (`CI` is set), where that is a fault.
  public static let isExpected = path != nil || isCI(ProcessInfo.processInfo.environment)

  /// Its path.
  ///
  /// - Throws: When it isn't built.
  public static func require() throws -> String {
    guard let path else { throw Missing() }
    return path
  }

  /// Why a test can't go on.
  public struct Missing: Error, CustomStringConvertible {
    /// What to do.
    public var description: String { "the program genbench isn't built beside the tests: build it with `swift build`" }
  }

  /// The first executable `genbench` in some folders.
  static func find(in folders: [URL]) -> String? {
    folders.map { $0.appendingPathComponent("genbench").path }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  static func isCI(_ environment: [String: String]) -> Bool { !["", "0", "false"].contains(environment["CI"] ?? "") }

  private static var folders: [URL] {
    CommandLine.arguments.filter { $0.hasSuffix(".xctest") }.map { URL(fileURLWithPath: $0).deletingLastPathComponent() }
      + [Fixtures.packageFolder.appendingPathComponent(".build/debug")]
  }
}
