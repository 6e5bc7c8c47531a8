import Foundation

/// The commit of a working copy.
public struct GitRevision: Sendable, Hashable {
  /// The hash.
  public var commit: String
  /// Whether something isn't committed; nil when git doesn't say.
  public var isDirty: Bool?

  /// Asks git about the working copy that holds a folder; nil without git or outside of one.
  public init?(folder: String) {
    guard let hash = Self.git(["rev-parse", "HEAD"], in: folder), hash.count >= 40 else { return nil }
    commit = hash
    isDirty = Self.git(["status", "--porcelain", "--untracked-files=no"], in: folder).map { !$0.isEmpty }
  }

  private static func git(_ words: [String], in folder: String) -> String? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["git", "-C", folder] + words
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { return nil }
    return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
