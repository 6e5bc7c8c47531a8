import Foundation

/// The folder that `/proc` and `/sys` are read below: `/`, or a recorded tree in tests.
public struct SystemRoot: Sendable, Hashable {
  /// The folder.
  public var path: String

  /// Makes a root.
  public init(path: String = "/") { self.path = path }

  /// A small file as text without spaces at its ends; nil when absent, unreadable or empty.
  public func text(_ name: String) -> String? {
    guard let data = FileManager.default.contents(atPath: path + "/" + name), !data.isEmpty else { return nil }
    let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    return text.isEmpty ? nil : text
  }

  /// A file that holds one whole number.
  public func int(_ name: String) -> Int? { text(name).flatMap { Int($0) } }

  /// The names in a folder that begin with a prefix, sorted; none when it's absent.
  public func names(_ folder: String, prefix: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path + "/" + folder)) ?? []).filter { $0.hasPrefix(prefix) }.sorted()
  }

  /// `Key:   value` lines, as in `/proc/meminfo`; the first value of a repeated key.
  public func table(_ name: String) -> [String: String] {
    guard let text = text(name) else { return [:] }
    var table: [String: String] = [:]
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      let key = parts[0].trimmingCharacters(in: .whitespaces)
      if table[key] == nil { table[key] = parts[1].trimmingCharacters(in: .whitespaces) }
    }
    return table
  }

  /// The bytes of a `1234 kB` value.
  static func bytes(kilobytes text: String?) -> UInt64? {
    guard let number = text?.split(separator: " ").first, let value = UInt64(number) else { return nil }
    let (bytes, overflow) = value.multipliedReportingOverflow(by: 1024)
    return overflow ? nil : bytes
  }
}
