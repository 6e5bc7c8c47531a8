public import Foundation

extension RunDocument {
  /// The document as JSON: sorted keys, two spaces a level, arrays of numbers on one line.
  public func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    return JSONLayout.joiningNumberArrays(String(decoding: try encoder.encode(self), as: UTF8.self)) + "\n"
  }

  /// Reads a document.
  ///
  /// - Throws: ``RunDocumentError`` when it's no JSON, of another schema, or lacks something.
  public init(json data: Data) throws(RunDocumentError) {
    struct Header: Decodable { var schema: String? }
    let found: String?
    do { found = try JSONDecoder().decode(Header.self, from: data).schema } catch {
      throw RunDocumentError("not a run file: no JSON object")
    }
    guard found == Self.schemaName else {
      throw RunDocumentError("schema: expected \(Self.schemaName), found \(found ?? "none")")
    }
    do { self = try JSONDecoder().decode(Self.self, from: data) } catch let error as DecodingError {
      throw RunDocumentError("damaged run file: \(Self.message(of: error))")
    } catch {
      throw RunDocumentError("damaged run file: \(error)")
    }
  }

  private static func message(of error: DecodingError) -> String {
    func path(_ context: DecodingError.Context) -> String {
      let keys = context.codingPath.map(\.stringValue).joined(separator: ".")
      return keys.isEmpty ? "the top level" : keys
    }
    return switch error {
    case .keyNotFound(let key, let context): "'\(key.stringValue)' is missing in \(path(context))"
    case .typeMismatch(let type, let context): "\(path(context)): expected \(type)"
    case .valueNotFound(let type, let context): "\(path(context)): expected \(type), found null"
    case .dataCorrupted(let context): "\(path(context)): \(context.debugDescription)"
    @unknown default: "\(error)"
    }
  }

  /// A time as RFC 3339 in UTC, with milliseconds.
  public static func timestamp(_ date: Date) -> String {
    date.formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .omitted))
  }

  /// A UUID of version 7 (RFC 9562, section 5.7): milliseconds since 1970, then random bits.
  public static func makeRunID(date: Date, using random: inout some RandomNumberGenerator) -> String {
    let milliseconds = UInt64(max(0, date.timeIntervalSince1970 * 1000))
    let high = milliseconds << 16 | 0x7000 | random.next() & 0x0FFF
    let low = 0x8000_0000_0000_0000 | random.next() >> 2
    func hex(_ value: UInt64, _ digits: Int) -> String {
      let text = String(value, radix: 16)
      return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
    return [
      hex(high >> 32, 8), hex(high >> 16 & 0xFFFF, 4), hex(high & 0xFFFF, 4), hex(low >> 48, 4), hex(low & 0xFFFF_FFFF_FFFF, 12),
    ].joined(separator: "-")
  }
}

/// A `run.json` that can't be used.
public struct RunDocumentError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What was expected and found.
  public let message: String

  /// Makes an error.
  public init(_ message: String) { self.message = message }

  /// The message.
  public var description: String { message }
}
