import Foundation

/// A connection that waits in short steps, so that it notices when it's to stop.
final class SocketConnection {
  private let descriptor: Int32
  private let name: String
  private let idleTimeout: Double
  private let stop: Blocking.Stop
  /// Milliseconds between two looks at `stop`.
  private static let step: Int32 = 50

  /// Connects to the first address that answers.
  ///
  /// - Parameter name: What messages call the other side.
  /// - Throws: ``RegistryError`` `networkFailed`, `CancellationError`.
  init(to addresses: [SocketAddress], name: String, idleTimeout: Double, stop: Blocking.Stop) throws {
    (self.name, self.idleTimeout, self.stop) = (name, idleTimeout, stop)
    var reason = "nobody answers there"
    for address in addresses {
      let candidate = socket(address.family, SocketAddress.streamSocket, 0)
      guard candidate >= 0 else {
        reason = "no socket can be had: \(String(cString: strerror(errno)))"
        continue
      }
      _ = fcntl(candidate, F_SETFD, FD_CLOEXEC)
      _ = fcntl(candidate, F_SETFL, fcntl(candidate, F_GETFL) | O_NONBLOCK)
      #if canImport(Darwin)
        var on: Int32 = 1
        setsockopt(candidate, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
      #endif
      do {
        if let failure = try Self.connect(candidate, address, idleTimeout, stop) {
          reason = "nobody answers there: \(String(cString: strerror(failure)))"
          close(candidate)
          continue
        }
      } catch {
        close(candidate)
        throw error
      }
      descriptor = candidate
      return
    }
    throw RegistryError(.networkFailed, "\(name): \(reason)")
  }

  deinit { close(descriptor) }

  /// The number of the error; nil once it's connected.
  private static func connect(
    _ descriptor: Int32, _ address: SocketAddress, _ timeout: Double, _ stop: Blocking.Stop
  ) throws -> Int32? {
    let result = address.bytes.withUnsafeBytes { bytes -> Int32 in
      guard let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return -1 }
      return Foundation.connect(descriptor, pointer, socklen_t(bytes.count))
    }
    if result == 0 { return nil }
    guard errno == EINPROGRESS || errno == EINTR else { return errno }
    guard try wait(descriptor, Int16(POLLOUT), timeout, stop) else { return ETIMEDOUT }
    var failure: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &length) == 0 else { return errno }
    return failure == 0 ? nil : failure
  }

  /// Whether it became ready before the time was over.
  private static func wait(_ descriptor: Int32, _ events: Int16, _ timeout: Double, _ stop: Blocking.Stop) throws -> Bool {
    let start = ContinuousClock.now
    while true {
      try stop.check()
      var entry = pollfd(fd: descriptor, events: events, revents: 0)
      let count = poll(&entry, 1, step)
      if count > 0 { return true }
      if count < 0, errno != EINTR { return true }
      if ContinuousClock.now - start >= .seconds(timeout) { return false }
    }
  }

  private func silence() -> RegistryError {
    RegistryError(.networkFailed, "\(name): no byte came or went for \(idleTimeout) seconds")
  }

  /// Sends all bytes.
  ///
  /// - Throws: ``RegistryError`` `networkFailed`, `CancellationError`.
  func send(_ bytes: [UInt8]) throws {
    #if canImport(Darwin)
      let flags: Int32 = 0
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    var done = 0
    while done < bytes.count {
      guard try Self.wait(descriptor, Int16(POLLOUT), idleTimeout, stop) else { throw silence() }
      let count = bytes[done...].withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, flags) }
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      guard count > 0 else {
        throw RegistryError(.networkFailed, "\(name): the connection broke: \(String(cString: strerror(errno)))")
      }
      done += count
    }
  }

  /// Receives what is there, at least a byte; 0 when the other side has ended the connection.
  ///
  /// - Throws: ``RegistryError`` `networkFailed`, `CancellationError`.
  func receive(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    while true {
      guard try Self.wait(descriptor, Int16(POLLIN), idleTimeout, stop) else { throw silence() }
      let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      if count >= 0 { return count }
      if errno == EINTR || errno == EAGAIN { continue }
      throw RegistryError(.networkFailed, "\(name): the connection broke: \(String(cString: strerror(errno)))")
    }
  }
}
