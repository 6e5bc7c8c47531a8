import Foundation

/// Whole files, with errors that say what to do.
enum TextFile {
  /// Whether a folder is there, or a link to one.
  static func isFolder(_ url: URL) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) && isFolder.boolValue
  }

  static func data(of url: URL) throws -> Data {
    do {
      return try Data(contentsOf: url, options: .mappedIfSafe)
    } catch {
      throw TokenizerError(
        .missing, source: url.path, "can't be read: \(error.localizedDescription); give a folder with a tokenizer")
    }
  }

  /// The lines without their ends (`\n` or `\r\n`).
  static func lines(of url: URL) throws -> [Substring.UTF8View] {
    guard let text = String(validating: try data(of: url), as: UTF8.self) else {
      throw TokenizerError(.invalid, source: url.path, "expected UTF-8 text, found other bytes; the file is damaged")
    }
    var lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
    if lines.last?.isEmpty == true { lines.removeLast() }
    return lines.map { $0.last == 0x0D ? $0.dropLast() : $0 }
  }

  /// The object that a JSON file holds.
  static func object(of url: URL, expected: String = "a JSON object") throws -> JSONValue {
    let data = try data(of: url)
    let value: JSONValue
    do {
      value = try data.withUnsafeBytes { try JSONValue(parsing: $0.bindMemory(to: UInt8.self)) }
    } catch let error as JSONValue.SyntaxError {
      throw TokenizerError(
        .invalid, source: url.path,
        "expected \(expected), found no JSON at byte \(error.offset): \(error.message); the file is damaged")
    }
    guard case .object = value else {
      throw TokenizerError(.invalid, source: url.path, "expected \(expected), found another JSON value")
    }
    return value
  }
}
