import Foundation

/// Whole files, with errors that say what to do.
enum TextFile {
  static func data(of url: URL) throws -> Data {
    do {
      return try Data(contentsOf: url, options: .mappedIfSafe)
    } catch {
      throw TokenizerError(.missing, source: url.path, "can't be read: \(error.localizedDescription); give a folder with a tokenizer")
    }
  }

  /// The lines without their ends (`\n` or `\r\n`).
  static func lines(of url: URL) throws -> [ArraySlice<UInt8>] {
    let bytes = Array(try data(of: url))
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw TokenizerError(.invalid, source: url.path, "expected UTF-8 text, found other bytes; the file is damaged")
    }
    var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
    if lines.last?.isEmpty == true { lines.removeLast() }
    return lines.map { $0.last == 0x0D ? $0.dropLast() : $0 }
  }
}

/// JSON files, with errors that say what was expected.
enum JSONFile {
  static func decode<Value: Decodable>(_ url: URL, as type: Value.Type = Value.self, expected: String) throws -> Value {
    let data = try TextFile.data(of: url)
    do {
      return try JSONDecoder().decode(type, from: data)
    } catch let error as DecodingError {
      throw TokenizerError(.invalid, source: url.path, "expected \(expected), found otherwise: \(summary(of: error))")
    }
  }

  /// The top-level object of a configuration file.
  static func object(_ url: URL) throws -> [String: Any] {
    let data = try TextFile.data(of: url)
    guard let object = try? JSONSerialization.jsonObject(with: data) as? [String: Any] else {
      throw TokenizerError(.invalid, source: url.path, "expected a JSON object, found something else; the file is damaged")
    }
    return object
  }

  private static func summary(of error: DecodingError) -> String {
    func place(_ context: DecodingError.Context) -> String {
      let path = context.codingPath.map(\.stringValue).joined(separator: ".")
      return (path.isEmpty ? "" : "at \(path): ") + context.debugDescription
    }
    return switch error {
    case .keyNotFound(let key, let context): place(context) + " (key '\(key.stringValue)')"
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context): place(context)
    @unknown default: "\(error)"
    }
  }
}
