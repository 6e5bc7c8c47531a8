import Foundation
import GenBackend

/// The head of an answer, read from bytes as they come.
struct HTTPHead: Sendable {
  var status: Int
  /// Names in lower case.
  var headers: [String: String]

  /// How the body ends.
  enum Framing: Sendable, Hashable {
    case length(Int)
    case chunked
    /// With the connection.
    case close
  }

  /// Reads the lines of a head.
  ///
  /// - Throws: `BackendError` `.processingFailed` when it's no HTTP.
  init(_ text: String) throws(BackendError) {
    var lines = text.split(separator: "\r\n", omittingEmptySubsequences: true)
    let first = lines.isEmpty ? "" : lines.removeFirst()
    let words = first.split(separator: " ", maxSplits: 2)
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]), (100...599).contains(status) else {
      throw BackendError(.processingFailed, "expected an answer of HTTP, found '\(first.prefix(100))'")
    }
    self.status = status
    headers = [:]
    for line in lines {
      guard let colon = line.firstIndex(of: ":") else {
        throw BackendError(.processingFailed, "expected 'NAME: VALUE' in the head, found '\(line.prefix(100))'")
      }
      let name = line[..<colon].lowercased()
      let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
      if name == "content-length", let other = headers[name], other != value {
        throw BackendError(.processingFailed, "two lengths in the head, \(other) and \(value)")
      }
      headers[name] = value
    }
  }

  /// How the body of an answer to a request that isn't HEAD ends.
  ///
  /// Source: RFC 9112, section 6.3.
  func framing() throws(BackendError) -> Framing {
    if status == 204 || status == 304 { return .length(0) }
    if let coding = headers["transfer-encoding"] {
      guard coding.lowercased() == "chunked" else {
        throw BackendError(.processingFailed, "the transfer encoding '\(coding)' isn't known; expected chunked")
      }
      return .chunked
    }
    guard let text = headers["content-length"] else { return .close }
    guard let length = Int(text), length >= 0, !text.hasPrefix("+") else {
      throw BackendError(.processingFailed, "the length '\(text)' is no whole number")
    }
    return .length(length)
  }
}

/// A whole answer.
struct HTTPResponse: Sendable {
  var head: HTTPHead
  var body: [UInt8]
}

/// Takes a chunked body apart.
struct ChunkDecoder: Sendable {
  private enum Place: Sendable {
    case size
    case data(Int)
    case dataEnd, trailer, end
  }

  private var place = Place.size
  private var line: [UInt8] = []

  /// Whether the last chunk was seen.
  var isComplete: Bool {
    if case .end = place { true } else { false }
  }

  /// The data within the next bytes.
  ///
  /// - Throws: `BackendError` `.processingFailed` for sizes that are none.
  mutating func take(_ bytes: ArraySlice<UInt8>) throws(BackendError) -> [UInt8] {
    var data: [UInt8] = []
    var rest = bytes
    while !rest.isEmpty {
      switch place {
      case .data(let count):
        let part = rest.prefix(count)
        data += part
        rest = rest.dropFirst(part.count)
        place = part.count == count ? .dataEnd : .data(count - part.count)
      case .end: return data
      case .size, .dataEnd, .trailer:
        let byte = rest.removeFirst()
        guard byte == UInt8(ascii: "\n") else {
          line.append(byte)
          guard line.count <= 8192 else { throw BackendError(.processingFailed, "a chunk's head has more than 8192 bytes") }
          continue
        }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        let text = String(decoding: line, as: UTF8.self)
        line = []
        switch place {
        case .dataEnd:
          guard text.isEmpty else { throw BackendError(.processingFailed, "a chunk is longer than it says") }
          place = .size
        case .trailer: if text.isEmpty { place = .end }
        default:
          let digits = text.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
          guard let size = Int(digits, radix: 16), size >= 0, !digits.hasPrefix("+") else {
            throw BackendError(.processingFailed, "a chunk has the size '\(text.prefix(40))'")
          }
          place = size == 0 ? .trailer : .data(size)
        }
      }
    }
    return data
  }
}
