public import Conformance
public import Foundation
import Synchronization

/// An HTTP server of this machine that hands out made-up files, and misbehaves on demand.
///
/// Real sockets, so that whatever downloads by HTTP can be judged; nothing waits for a clock: a slow server is one that
/// waits at a ``Gate``.
public final class ModelServer: ScriptedModelServer {
  private struct State {
    var resources: [String: ServedFile] = [:]
    var requests: [ServerRequest] = []
    var connections: Set<Int32> = []
    var isStopped = false
  }

  /// The port.
  public let port: Int
  private let listener: Int32
  private let state = Mutex(State())

  /// Starts a server on a free port of the loopback.
  ///
  /// - Throws: `POSIXError` when no socket can be had.
  public init() throws {
    let listener = socket(AF_INET, Self.stream, 0)
    guard listener >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    guard isBound else {
      let code = errno
      close(listener)
      throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
    }
    self.listener = listener
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread { [self] in acceptAll() }
  }

  private static var stream: Int32 {
    #if canImport(Glibc)
      Int32(SOCK_STREAM.rawValue)
    #else
      SOCK_STREAM
    #endif
  }

  /// Ends it; whatever is being sent is cut off.
  ///
  /// A second call does nothing.
  public func stop() {
    // Within the lock: a descriptor that is closed may be another's a moment later.
    state.withLock { state in
      guard !state.isStopped else { return }
      state.isStopped = true
      // Wakes the thread that accepts, which closes the listener.
      shutdown(listener, Int32(SHUT_RDWR))
      for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
    }
  }

  /// Puts a file at a path, in place of one that's there.
  public func put(_ path: String, _ resource: ServedFile) { state.withLock { $0.resources[path] = resource } }

  /// The address of a path.
  public func url(_ path: String) -> URL {
    URL(string: "http://127.0.0.1:\(port)\(path)") ?? URL(fileURLWithPath: path)
  }

  /// All that was asked.
  public var requests: [ServerRequest] { state.withLock { $0.requests } }

  /// How often a path was asked for by `GET`.
  public func count(_ path: String) -> Int { requests.count { $0.path == path && $0.method == "GET" } }

  // MARK: - Connections

  private func acceptAll() {
    while true {
      let connection = accept(listener, nil, nil)
      if connection < 0 {
        if errno == EINTR || errno == ECONNABORTED { continue }
        return closeListener()
      }
      #if canImport(Darwin)
        var on: Int32 = 1
        setsockopt(connection, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
      #endif
      let isStopped = state.withLock { state in
        if !state.isStopped { state.connections.insert(connection) }
        return state.isStopped
      }
      if isStopped {
        close(connection)
        return closeListener()
      }
      Thread.detachNewThread { [self] in
        serve(connection)
        state.withLock {
          $0.connections.remove(connection)
          close(connection)
        }
      }
    }
  }

  private func closeListener() {
    state.withLock { state in
      state.isStopped = true
      close(listener)
    }
  }

  private func serve(_ connection: Int32) {
    guard let request = read(connection) else { return }
    let (resource, fault) = state.withLock { state -> (ServedFile?, ServerFault) in
      state.requests.append(request)
      let resource = state.resources[request.path]
      guard request.method == "GET", resource?.faults.isEmpty == false else { return (resource, .none) }
      return (resource, state.resources[request.path]?.faults.removeFirst() ?? .none)
    }
    guard let resource else { return send(connection, status: 404, fields: ["Content-Length": "9"], Data("not there".utf8)) }
    if let target = resource.redirect {
      var fields = resource.headers
      fields["Location"] = target
      fields["Content-Length"] = "0"
      return send(connection, status: 302, fields: fields)
    }
    answer(connection, request, resource, fault)
  }

  private func answer(_ connection: Int32, _ request: ServerRequest, _ resource: ServedFile, _ fault: ServerFault) {
    let size = resource.content.count
    var fields = resource.headers
    fields["Accept-Ranges"] = "bytes"
    if let etag = resource.etag { fields["ETag"] = etag }
    if case .status(let code, let retryAfter) = fault {
      if let retryAfter { fields["Retry-After"] = retryAfter }
      fields["Content-Length"] = "0"
      return send(connection, status: code, fields: fields)
    }
    var status = 200
    var start = 0
    if var asked = Self.start(request.headers["range"]), request.headers["if-range"].map({ $0 == resource.etag }) ?? true {
      var isTaken = true
      if case .ignoresRange = fault { isTaken = false }
      if case .wrongRange = fault { asked = max(0, asked - 1) }
      if isTaken, asked >= size {
        fields["Content-Range"] = "bytes */\(size)"
        fields["Content-Length"] = "0"
        return send(connection, status: 416, fields: fields)
      }
      if isTaken {
        (status, start) = (206, asked)
        fields["Content-Range"] = "bytes \(start)-\(size - 1)/\(size)"
      }
    }
    let content = resource.content[(resource.content.startIndex + start)...]
    if resource.tellsLength { fields["Content-Length"] = "\(content.count)" }
    if case .length(let told) = fault { fields["Content-Length"] = "\(told)" }
    if request.method == "HEAD" { return send(connection, status: status, fields: fields) }
    switch fault {
    case .cut(let bytes): send(connection, status: status, fields: fields, content.prefix(bytes))
    case .hold(let bytes, let gate):
      send(connection, status: status, fields: fields, content.prefix(bytes))
      gate.passBlocking()
      write(connection, content.dropFirst(bytes))
    default: send(connection, status: status, fields: fields, content)
    }
  }

  private func send(_ connection: Int32, status: Int, fields: [String: String], _ content: Data = Data()) {
    var head = "HTTP/1.1 \(status) \(status < 400 ? "OK" : "No")\r\nConnection: close\r\n"
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) { head += "\(name): \(value)\r\n" }
    write(connection, Data((head + "\r\n").utf8) + content)
  }

  private func write(_ connection: Int32, _ data: Data) {
    #if canImport(Darwin)
      let flags: Int32 = 0
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    data.withUnsafeBytes { bytes in
      var rest = bytes
      while !rest.isEmpty {
        let count = Foundation.send(connection, rest.baseAddress, min(rest.count, 1 << 20), flags)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      }
    }
  }

  private func read(_ connection: Int32) -> ServerRequest? {
    var head: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while !head.ends(with: [13, 10, 13, 10]) {
      let count = recv(connection, &buffer, buffer.count, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0, head.count < 1 << 16 else { return nil }
      head += buffer[..<count]
    }
    let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count == 3 else { return nil }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
    return ServerRequest(method: String(words[0]), path: String(words[1]), headers: headers)
  }

  /// `bytes=5-`.
  private static func start(_ range: String?) -> Int? {
    guard let range, range.hasPrefix("bytes="), range.hasSuffix("-") else { return nil }
    return Int(range.dropFirst(6).dropLast())
  }
}

extension Array where Element: Equatable {
  /// Whether the last elements are these.
  fileprivate func ends(with other: [Element]) -> Bool { count >= other.count && Array(suffix(other.count)) == other }
}
