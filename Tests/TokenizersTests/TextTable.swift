import Foundation
import Goldens
import TestSupport
import Testing

@testable import Tokenizers

private struct TableAttributes: Decodable {
  var file: String
  var count: Int
}

/// The lines of a golden case's `texts.jsonl`.
func rows<Row: Decodable>(of golden: GoldenCase, as type: Row.Type = Row.self) throws -> [Row] {
  let attributes: TableAttributes = try golden.attributes()
  let data = try Data(contentsOf: golden.folder.appendingPathComponent(attributes.file))
  let rows = try data.split(separator: 0x0A).map { try JSONDecoder().decode(type, from: $0) }
  try #require(rows.count == attributes.count)
  return rows
}

/// A text with the ids that the oracle gives for it; what they decode to, where that was recorded.
struct TextRow: Decodable {
  var text: String
  var ids: String
  var decoded: String?
  var decodedWithoutSpecial: String?

  var idList: [Int] { ids.split(separator: " ").compactMap { Int($0) } }
}

/// Code points for messages: invisible characters don't show.
func codePoints(_ text: String) -> String {
  text.unicodeScalars.map { String(format: "U+%04X", $0.value) }.joined(separator: " ")
}

/// Whether two texts have the same scalars; `==` would take canonically equal texts for the same.
func same(_ left: String, _ right: String) -> Bool { left.unicodeScalars.elementsEqual(right.unicodeScalars) }

/// A folder that is removed at the end.
func withTemporaryFolder(_ body: (URL) throws -> Void) throws {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tokenizers-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  try body(folder)
}

/// Writes text files into a folder.
func write(_ files: [String: String], to folder: URL) throws {
  for (name, text) in files { try Data(text.utf8).write(to: folder.appendingPathComponent(name)) }
}

/// Expects a ``TokenizerError`` of a kind whose text holds all the given words.
func expectError(
  _ code: TokenizerError.Code, _ words: String..., sourceLocation: SourceLocation = #_sourceLocation, from body: () throws -> Void
) {
  let error = #expect(throws: TokenizerError.self, sourceLocation: sourceLocation) { try body() }
  guard let error else { return }
  #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
  for word in words { #expect(error.description.contains(word), "'\(error)' lacks '\(word)'", sourceLocation: sourceLocation) }
}
