import Foundation
import Synchronization

/// Plain HTTP/1.1 over a socket: bounded in all that a server can make long, and at an end a moment after it's cancelled.
struct SocketTransport: ModelTransport {
  private static let userAgent = "genbench/0.1"

  func perform(
    _ request: TransferRequest, onResponse: @escaping @Sendable (TransferResponse) throws -> Void,
    onData: @escaping @Sendable (Data) throws -> Void
  ) async throws {
    let shown = request.url.shown.absoluteString
    guard let host = request.url.host, !host.isEmpty else {
      throw RegistryError(.networkFailed, "\(shown): expected a host")
    }
    let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    let port = request.url.port ?? 80
    guard let addresses = try await Self.addresses(of: name, port: port), !addresses.isEmpty else {
      throw RegistryError(.networkFailed, "\(shown): the host isn't known")
    }
    let head = try Self.head(request, host: host)
    try await Blocking.run { stop in
      let connection = try SocketConnection(to: addresses, name: shown, idleTimeout: request.idleTimeout, stop: stop)
      try connection.send(head)
      var reader = HTTPReader(connection, name: shown, isHead: request.method == "HEAD")
      try reader.read(onResponse: onResponse, onData: onData)
    }
  }

  /// The request's lines.
  private static func head(_ request: TransferRequest, host: String) throws(RegistryError) -> [UInt8] {
    var target = request.url.path(percentEncoded: true)
    if target.isEmpty { target = "/" }
    if let query = request.url.query(percentEncoded: true) { target += "?" + query }
    let port = request.url.port.map { ":\($0)" } ?? ""
    var fields = [
      "Host": (host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host) + port, "Accept": "*/*", "Connection": "close",
      // Ranges and sizes are those of the file, so it mustn't be packed on the way.
      "Accept-Encoding": "identity", "User-Agent": userAgent,
    ]
    fields["Authorization"] = request.url.basicAuthorization
    fields.merge(request.headers) { $1 }
    let lines =
      ["\(request.method) \(target) HTTP/1.1"] + fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    // A field may hold what a server said earlier, its tag for one.
    guard lines.allSatisfy({ $0.utf8.allSatisfy { $0 >= 32 && $0 != 127 } }) else {
      throw RegistryError(.networkFailed, "\(request.url.shown): the request has control characters in it")
    }
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  }

  /// The addresses of a host, looked up on a thread that is left alone when the task is cancelled, as nothing can stop it.
  private static func addresses(of host: String, port: Int) async throws -> [SocketAddress]? {
    let waiting = Mutex<CheckedContinuation<[SocketAddress]?, any Error>?>(nil)
    let isCancelled = Mutex(false)
    @Sendable func take() -> CheckedContinuation<[SocketAddress]?, any Error>? {
      waiting.withLock { waiting in
        defer { waiting = nil }
        return waiting
      }
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        waiting.withLock { $0 = continuation }
        if isCancelled.withLock({ $0 }) {
          take()?.resume(throwing: CancellationError())
          return
        }
        Thread.detachNewThread { take()?.resume(returning: SocketAddress.lookUp(host, port: port)) }
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
      take()?.resume(throwing: CancellationError())
    }
  }
}

/// An address that a socket can be connected to.
struct SocketAddress: Sendable {
  var family: Int32
  var bytes: [UInt8]

  /// All addresses of a host; nil when it isn't known.
  static func lookUp(_ host: String, port: Int) -> [SocketAddress]? {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = streamSocket
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, "\(port)", &hints, &list) == 0 else { return nil }
    defer { freeaddrinfo(list) }
    var addresses: [SocketAddress] = []
    var entry = list
    while let item = entry?.pointee {
      if let address = item.ai_addr {
        let bytes = UnsafeRawBufferPointer(start: address, count: Int(item.ai_addrlen))
        addresses.append(SocketAddress(family: item.ai_family, bytes: Array(bytes)))
      }
      entry = item.ai_next
    }
    return addresses
  }

  static var streamSocket: Int32 {
    #if canImport(Glibc)
      Int32(SOCK_STREAM.rawValue)
    #else
      SOCK_STREAM
    #endif
  }
}
