import Checkpoints
package import Foundation
package import GenBackend

/// Messages as lines of JSON.
package enum MessageCoding {
  /// A line without its end.
  ///
  /// - Throws: `BackendError` `.invalidInput` for numbers that aren't finite, and for a line that would be too long.
  package static func line(_ message: some Encodable) throws(BackendError) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let data: Data
    do { data = try encoder.encode(message) } catch {
      throw BackendError(.invalidInput, "the request can't be written: \(description(of: error))")
    }
    guard data.count < BackendProtocol.longestLine else {
      throw BackendError(
        .invalidInput, "the message takes \(data.count) bytes, a line at most \(BackendProtocol.longestLine); send less text")
    }
    return data
  }

  /// What a line is about, whether or not its other keys can be read.
  package struct Header: Sendable {
    package var type: String?
    package var id: Int?
  }

  /// The header of a line that is a JSON object.
  ///
  /// - Throws: `BackendError` `.invalidInput` with what is wrong.
  package static func header(of line: Data) throws(BackendError) -> Header {
    let value = line.withUnsafeBytes { bytes in
      Result { () throws(JSONSyntaxError) in try JSONValue(parsing: bytes, as: .python) }
    }
    let object: JSONObject?
    switch value {
    case .success(let value): object = value.object
    case .failure(let error): throw BackendError(.invalidInput, "\(error) in the line \(excerpt(line))")
    }
    guard let object else {
      throw BackendError(.invalidInput, "expected a JSON object, found the line \(excerpt(line))")
    }
    var id: Int?
    if case .integer(let number)? = object["id"] { id = number }
    return Header(type: object["type"]?.string, id: id)
  }

  /// A message out of a line.
  ///
  /// - Throws: `BackendError` `.invalidInput` naming the key.
  package static func message<Message: Decodable>(_ type: Message.Type, _ line: Data) throws(BackendError) -> Message {
    do { return try JSONDecoder().decode(type, from: line) } catch {
      throw BackendError(.invalidInput, "\(description(of: error)) in the line \(excerpt(line))")
    }
  }

  /// The beginning of a line, for messages.
  package static func excerpt(_ line: Data) -> String {
    let text = String(decoding: line.prefix(160), as: UTF8.self)
    let shown = String(text.map { $0.isASCII && ($0.asciiValue ?? 0) < 0x20 ? " " : $0 })
    return line.count > 160 ? "'\(shown)…' (\(line.count) bytes)" : "'\(shown)'"
  }

  private static func description(of error: any Error) -> String {
    func place(_ context: DecodingError.Context) -> String {
      let path = context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
      return path.isEmpty ? "" : "\(path): "
    }
    switch error {
    case DecodingError.keyNotFound(let key, let context): return "\(place(context))key '\(key.stringValue)' is missing"
    case DecodingError.typeMismatch(let type, let context): return "\(place(context))expected \(type)"
    case DecodingError.valueNotFound(let type, let context): return "\(place(context))expected \(type), found null"
    case DecodingError.dataCorrupted(let context): return "\(place(context))\(context.debugDescription)"
    case EncodingError.invalidValue(let value, let context):
      let path = context.codingPath.map(\.stringValue).joined(separator: ".")
      return "\(path): \(value) has no place in JSON"
    default: return "\(error)"
    }
  }
}
