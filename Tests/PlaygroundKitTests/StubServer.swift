import Foundation
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An HTTP server on this machine that answers each request with what a closure says.
final class StubServer: Sendable {
  /// A request as it came.
  struct Request: Sendable {
    var method: String
    var path: String
    var headers: [String: String]
    var body: Data
  }

  /// An answer.
  struct Answer: Sendable {
    var status = 200
    var type = "application/json"
    var body: Data
  }

  let port: UInt16
  private let listener: Int32
  private let seen = Mutex<[Request]>([])

  /// Starts on a port that's free.
  init(_ answer: @escaping @Sendable (Request) -> Answer) throws {
    #if canImport(Darwin)
      let type = SOCK_STREAM
    #else
      let type = Int32(SOCK_STREAM.rawValue)
    #endif
    listener = socket(AF_INET, type, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    let port = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic -> UInt16? in
        guard listener >= 0, bind(listener, generic, length) == 0, listen(listener, 8) == 0,
          getsockname(listener, generic, &length) == 0
        else { return nil }
        return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
      }
    }
    guard let port else { throw POSIXError(.EADDRNOTAVAIL) }
    self.port = port
    Thread.detachNewThread { [self] in
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { return }
        if let request = Self.read(connection) {
          seen.withLock { $0.append(request) }
          Self.write(answer(request), to: connection)
        }
        close(connection)
      }
    }
  }

  /// The address up to the version.
  var base: URL { URL(string: "http://127.0.0.1:\(port)/v1") ?? URL(fileURLWithPath: "/") }
  /// The requests that came.
  var requests: [Request] { seen.withLock { $0 } }

  /// Stops listening.
  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  private static func read(_ connection: Int32) -> Request? {
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 65536)
    let end = Data("\r\n\r\n".utf8)
    while data.range(of: end) == nil {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      data.append(contentsOf: buffer[..<count])
    }
    guard let split = data.range(of: end) else { return nil }
    let lines = String(decoding: data[..<split.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ").map(String.init)
    guard words.count >= 2 else { return nil }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
    var body = data[split.upperBound...]
    let length = Int(headers["content-length"] ?? "") ?? 0
    while body.count < length {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      body.append(contentsOf: buffer[..<count])
    }
    return Request(method: words[0], path: words[1], headers: headers, body: Data(body))
  }

  private static func write(_ answer: Answer, to connection: Int32) {
    let head =
      "HTTP/1.1 \(answer.status) X\r\nContent-Type: \(answer.type)\r\nContent-Length: \(answer.body.count)\r\nConnection: close\r\n\r\n"
    let bytes = [UInt8](Data(head.utf8) + answer.body)
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      sent += count
    }
  }
}
