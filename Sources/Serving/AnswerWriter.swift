import BackendProtocol
import Foundation
import GenBackend
import Synchronization

/// Writes answers as whole lines, from any thread.
final class AnswerWriter: Sendable {
  private let descriptor: Int32
  private let broken = Mutex(false)

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Whether nobody reads any more.
  var isBroken: Bool { broken.withLock { $0 } }

  /// Writes a line; one that can't be made is answered by an error in its place.
  func send(_ answer: ProtocolAnswer) {
    let line: Data
    do { line = try MessageCoding.line(answer) } catch {
      // An event that can't be told is left out; a reply must come.
      if case .event = answer.body { return }
      let reply = ErrorReply(BackendError(.processingFailed, "the reply can't be told: \(error.message)"))
      guard let other = try? MessageCoding.line(ProtocolAnswer(id: answer.id, .error(reply))) else { return }
      return write(other)
    }
    write(line)
  }

  private func write(_ line: Data) {
    broken.withLock { isBroken in
      if isBroken { return }
      let bytes = Array(line) + [UInt8(ascii: "\n")]
      var offset = 0
      while offset < bytes.count {
        let count = bytes[offset...].withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        if count <= 0 {
          isBroken = true
          return
        }
        offset += count
      }
    }
  }
}
