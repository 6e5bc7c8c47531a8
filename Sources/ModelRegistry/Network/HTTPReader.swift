import Foundation

/// Reads one answer of HTTP/1.1 (RFC 9112) from a connection.
struct HTTPReader {
  private let connection: SocketConnection
  private let name: String
  private let isHead: Bool
  /// Bytes that came and aren't used yet.
  private var buffer: [UInt8] = []
  private var start = 0
  private var chunk = [UInt8](repeating: 0, count: 1 << 16)

  /// Bytes of a head that are taken at most; servers send some hundred.
  private static let mostHead = 1 << 16
  private static let mostInterim = 20

  init(_ connection: SocketConnection, name: String, isHead: Bool) {
    (self.connection, self.name, self.isHead) = (connection, name, isHead)
  }

  /// Hands the answer on: its head once, then its content in order.
  ///
  /// - Throws: ``RegistryError`` `networkFailed` when it breaks off or isn't HTTP, `invalidContent` for an impossible length;
  ///   what the closures throw.
  mutating func read(
    onResponse: (TransferResponse) throws -> Void, onData: (Data) throws -> Void
  ) throws {
    var interim = 0
    while true {
      var response = try head()
      guard !(100..<200).contains(response.status) else {
        interim += 1
        guard response.status != 101, interim <= Self.mostInterim else { throw broken("too many interim answers") }
        continue
      }
      let coding = response.headers["transfer-encoding"]?.lowercased()
      let length = try TransferLength.announced(response.headers["content-length"], by: name)
      let isEmpty = isHead || response.status == 204 || response.status == 304
      if coding != nil { response.headers["content-length"] = nil }
      response.endsWithConnection = !isEmpty && coding == nil && length == nil
      try onResponse(response)
      if isEmpty { return }
      if let coding {
        guard coding == "chunked" else { throw broken("Transfer-Encoding '\(coding.prefix(40))' isn't known") }
        return try chunks(onData)
      }
      return try content(length, onData)
    }
  }

  private func broken(_ what: String) -> RegistryError { RegistryError(.networkFailed, "\(name): \(what)") }

  // MARK: - Head

  private mutating func head() throws -> TransferResponse {
    var budget = Self.mostHead
    let first = try line(&budget).split(separator: " ", maxSplits: 2).map(String.init)
    guard first.count >= 2, first[0].hasPrefix("HTTP/1."), first[1].utf8.count == 3,
      let status = TransferLength.number(first[1]), status >= 100
    else { throw broken("expected an answer of HTTP/1.1, found something else") }
    var headers: [String: String] = [:]
    var last: String?
    while true {
      let text = try line(&budget)
      if text.isEmpty { return TransferResponse(status: status, headers: headers) }
      if text.hasPrefix(" ") || text.hasPrefix("\t"), let last {
        headers[last, default: ""] += " " + text.trimming()
        continue
      }
      guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { continue }
      let key = text[..<colon].lowercased()
      let value = text[text.utf8.index(after: colon)...].trimming()
      headers[key] = headers[key].map { $0 + ", " + value } ?? value
      last = key
    }
  }

  /// A line without its end, as UTF-8 or else as Latin-1.
  private mutating func line(_ budget: inout Int) throws -> String {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: 10) {
        var bytes = buffer[start..<end]
        if bytes.last == 13 { bytes = bytes.dropLast() }
        budget -= end + 1 - start
        start = end + 1
        guard budget >= 0 else { throw broken("the head of the answer is longer than \(Self.mostHead) bytes") }
        return String(validating: bytes, as: UTF8.self)
          ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
      }
      guard buffer.count - start <= budget else {
        throw broken("the head of the answer is longer than \(Self.mostHead) bytes")
      }
      searched = buffer.count - start
      guard try fill() else { throw broken("the connection ended within the head of the answer") }
    }
  }

  /// Drops what was used and receives more; false at the end.
  private mutating func fill() throws -> Bool {
    buffer.removeSubrange(..<start)
    start = 0
    let count = try chunk.withUnsafeMutableBytes { try connection.receive(into: $0) }
    buffer += chunk[..<count]
    return count > 0
  }

  // MARK: - Content

  /// Hands on `length` bytes, or all up to the end of the connection.
  private mutating func content(_ length: Int?, _ onData: (Data) throws -> Void) throws {
    var done = 0
    while length.map({ done < $0 }) ?? true {
      if start == buffer.count {
        guard try fill() else {
          guard let length else { return }
          throw broken("the connection ended after \(done) of \(length) bytes")
        }
      }
      let count = min(buffer.count - start, length.map { $0 - done } ?? .max)
      let data = Data(buffer[start..<(start + count)])
      start += count
      done += count
      try onData(data)
    }
  }

  private mutating func chunks(_ onData: (Data) throws -> Void) throws {
    while true {
      var budget = 4096
      let size = try line(&budget).prefix { $0 != ";" }.trimming()
      guard (1...13).contains(size.utf8.count), size.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
        let length = Int(size, radix: 16)
      else { throw broken("a chunk has no length that can be read") }
      if length == 0 {
        // Fields behind the last chunk are read and dropped.
        budget = Self.mostHead
        while try !line(&budget).isEmpty {}
        return
      }
      try content(length, onData)
      budget = 4096
      guard try line(&budget).isEmpty else { throw broken("a chunk is longer than it says") }
    }
  }
}
