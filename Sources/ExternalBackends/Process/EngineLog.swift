import BackendProtocol
import Foundation

/// The last of what a child wrote to its stderr.
struct EngineLog: Sendable {
  private var bytes: [UInt8] = []

  mutating func append(_ more: some Collection<UInt8>) {
    bytes.append(contentsOf: more)
    if bytes.count > BackendProtocol.keptLogBytes { bytes.removeFirst(bytes.count - BackendProtocol.keptLogBytes) }
  }

  /// All that is kept.
  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The last lines, for a message; empty when nothing was written.
  var tail: String {
    let text = String(decoding: bytes.suffix(1500), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    guard !text.isEmpty else { return "" }
    return text.split(separator: "\n").suffix(12).joined(separator: "\n")
  }
}
