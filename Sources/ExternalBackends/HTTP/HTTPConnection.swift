import Foundation
import GenBackend
import Tensors

/// A connection to a server, for one request; closed with the object.
final class HTTPConnection {
  private let descriptor: Int32
  private let limits: HTTPLimits
  private let cancellation: CancellationToken
  private let startNs = MonotonicTime.nanoseconds()
  private var pending: [UInt8] = []

  /// Connects.
  ///
  /// - Throws: `BackendError` `.unavailable`, `.cancelled`.
  init(_ endpoint: HTTPEndpoint, limits: HTTPLimits, cancellation: CancellationToken) throws(BackendError) {
    self.limits = limits
    self.cancellation = cancellation
    descriptor = try Self.connect(endpoint, limits: limits, cancellation: cancellation)
  }

  deinit { close(descriptor) }

  private static func connect(
    _ endpoint: HTTPEndpoint, limits: HTTPLimits, cancellation: CancellationToken
  ) throws(BackendError) -> Int32 {
    var hints = addrinfo()
    #if canImport(Darwin)
      hints.ai_socktype = SOCK_STREAM
    #else
      hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    #endif
    var found: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(endpoint.host, String(endpoint.port), &hints, &found)
    guard code == 0 else {
      throw BackendError(.unavailable, "the host '\(endpoint.host)' isn't known: \(String(cString: gai_strerror(code)))")
    }
    defer { freeaddrinfo(found) }
    var reason = "no address"
    var next = found
    while let address = next {
      next = address.pointee.ai_next
      let descriptor = socket(address.pointee.ai_family, address.pointee.ai_socktype, address.pointee.ai_protocol)
      guard descriptor >= 0 else { continue }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
      #if canImport(Darwin)
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, socklen_t(MemoryLayout<Int32>.size))
      #endif
      #if canImport(Darwin)
        let result = Darwin.connect(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen)
      #else
        let result = Glibc.connect(descriptor, address.pointee.ai_addr, address.pointee.ai_addrlen)
      #endif
      var error = result == 0 ? 0 : errno
      if error == EINPROGRESS {
        do {
          try wait(
            descriptor, for: Int16(POLLOUT), untilNs: MonotonicTime.nanoseconds() + limits.connectNs, cancellation,
            late: "it couldn't be reached in time")
        } catch {
          close(descriptor)
          throw error
        }
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size)
      }
      if error == 0 { return descriptor }
      reason = String(cString: strerror(error))
      close(descriptor)
    }
    throw BackendError(.unavailable, "no server can be reached: \(reason); is it running?")
  }

  /// Waits until a descriptor is ready.
  private static func wait(
    _ descriptor: Int32, for events: Int16, untilNs: UInt64, _ cancellation: CancellationToken, late: String
  ) throws(BackendError) {
    while true {
      if cancellation.isCancelled { throw BackendError(.cancelled, "the request was cancelled") }
      var entry = pollfd(fd: descriptor, events: events, revents: 0)
      if poll(&entry, 1, 10) > 0 { return }
      if MonotonicTime.nanoseconds() > untilNs { throw BackendError(.unavailable, late) }
    }
  }

  private func wait(for events: Int16) throws(BackendError) {
    let now = MonotonicTime.nanoseconds()
    let end = startNs + limits.timeoutNs
    let isSilence = now + limits.silenceNs < end
    func seconds(_ ns: UInt64) -> String { "\((Double(ns) / 1e7).rounded() / 100) s" }
    try Self.wait(
      descriptor, for: events, untilNs: isSilence ? now + limits.silenceNs : end, cancellation,
      late: isSilence ? "nothing was sent for \(seconds(limits.silenceNs))" : "no answer within \(seconds(limits.timeoutNs))")
    // A server that goes on sending a little now and then is late too.
    guard MonotonicTime.nanoseconds() <= end else {
      throw BackendError(.unavailable, "no answer within \(seconds(limits.timeoutNs))")
    }
  }

  /// Sends all bytes.
  ///
  /// - Throws: `BackendError` `.unavailable`, `.cancelled`.
  func write(_ bytes: [UInt8]) throws(BackendError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      #if canImport(Darwin)
        let flags: Int32 = 0
      #else
        let flags = Int32(MSG_NOSIGNAL)
      #endif
      let count = rest.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, flags) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        try wait(for: Int16(POLLOUT))
      } else if errno != EINTR {
        // It may have answered before it stopped listening.
        if errno == EPIPE || errno == ECONNRESET { return }
        throw BackendError(.unavailable, "the request can't be sent: \(String(cString: strerror(errno)))")
      }
    }
  }

  /// The next bytes; nil at the end of the connection.
  ///
  /// - Throws: `BackendError` `.unavailable`, `.cancelled`.
  func next() throws(BackendError) -> [UInt8]? {
    if !pending.isEmpty {
      defer { pending = [] }
      return pending
    }
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      try wait(for: Int16(POLLIN))
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count > 0 { return Array(buffer[0..<count]) }
      if count == 0 { return nil }
      if errno == EAGAIN || errno == EINTR { continue }
      throw BackendError(.unavailable, "the connection broke: \(String(cString: strerror(errno)))")
    }
  }

  /// The head of the next answer, at most 64 KiB of it.
  ///
  /// - Throws: `BackendError`, also `.processingFailed` when it's no HTTP.
  func head() throws(BackendError) -> HTTPHead {
    var bytes: [UInt8] = []
    while true {
      if let end = Self.end(of: bytes) {
        pending = Array(bytes[end...]) + pending
        return try HTTPHead(String(decoding: bytes[..<end], as: UTF8.self))
      }
      guard bytes.count <= 1 << 16 else { throw BackendError(.processingFailed, "the answer's head has more than 65536 bytes") }
      guard let more = try next() else {
        throw BackendError(
          .processingFailed,
          bytes.isEmpty
            ? "the connection ended without an answer"
            : "the connection ended within the head, after '\(String(decoding: bytes.prefix(100), as: UTF8.self))'")
      }
      bytes += more
    }
  }

  private static func end(of bytes: [UInt8]) -> Int? {
    let mark: [UInt8] = [13, 10, 13, 10]
    guard bytes.count >= 4 else { return nil }
    for index in 0...(bytes.count - 4) where bytes[index] == 13 && Array(bytes[index..<(index + 4)]) == mark { return index + 4 }
    return nil
  }
}
