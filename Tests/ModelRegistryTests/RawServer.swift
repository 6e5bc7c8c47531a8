import Foundation
import Synchronization

/// A server of the loopback that sends what it's told, byte for byte, whether that's HTTP or not: one answer a connection.
final class RawServer: Sendable {
  private struct State {
    var answers: [[UInt8]]
    var requests: [String] = []
    var isStopped = false
  }

  let port: Int
  private let listener: Int32
  private let state: Mutex<State>
  /// Whether the last answer is given to all connections that follow.
  private let repeats: Bool
  /// Whether connections stay open behind the answer.
  private let holds: Bool

  init(_ answers: [[UInt8]], repeats: Bool = false, holds: Bool = false) throws {
    (self.repeats, self.holds) = (repeats, holds)
    state = Mutex(State(answers: answers))
    #if canImport(Glibc)
      listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      listener = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread { [self] in serve() }
  }

  convenience init(_ answers: String..., repeats: Bool = false, holds: Bool = false) throws {
    try self.init(answers.map { Array($0.utf8) }, repeats: repeats, holds: holds)
  }

  func url(_ path: String) -> URL { URL(string: "http://127.0.0.1:\(port)\(path)") ?? URL(fileURLWithPath: path) }

  /// The heads of all requests.
  var requests: [String] { state.withLock { $0.requests } }

  func stop() {
    state.withLock { state in
      if !state.isStopped { shutdown(listener, Int32(SHUT_RDWR)) }
      state.isStopped = true
    }
  }

  private func serve() {
    var held: [Int32] = []
    while true {
      let connection = accept(listener, nil, nil)
      if connection < 0 { break }
      var head: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 4096)
      while !String(decoding: head, as: UTF8.self).hasSuffix("\r\n\r\n") {
        let count = recv(connection, &buffer, buffer.count, 0)
        if count <= 0 { break }
        head += buffer[..<count]
      }
      let answer = state.withLock { state -> [UInt8] in
        state.requests.append(String(decoding: head, as: UTF8.self))
        guard let first = state.answers.first else { return [] }
        if state.answers.count > 1 || !repeats { state.answers.removeFirst() }
        return first
      }
      var done = 0
      while done < answer.count {
        #if canImport(Darwin)
          let flags: Int32 = 0
        #else
          let flags = Int32(MSG_NOSIGNAL)
        #endif
        let count = answer[done...].withUnsafeBytes { send(connection, $0.baseAddress, $0.count, flags) }
        if count <= 0 { break }
        done += count
      }
      if holds { held.append(connection) } else { close(connection) }
    }
    for connection in held { close(connection) }
    close(listener)
  }
}
