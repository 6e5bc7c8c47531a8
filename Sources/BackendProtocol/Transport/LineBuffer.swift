package import Foundation

/// Cuts a stream of bytes into lines of bounded length.
package struct LineBuffer {
  /// A line is longer than ``BackendProtocol/longestLine``; it's dropped to its end, and the next one can be read.
  package struct TooLong: Error {}

  private var pending: [UInt8] = []
  private var start = 0
  /// Up to where there's no end of a line.
  private var searched = 0
  private var isDropping = false

  package init() {}

  /// Whether there are bytes of a line that hasn't ended.
  package var hasRest: Bool { start < pending.count }

  /// Adds bytes.
  package mutating func append(_ bytes: some Collection<UInt8>) {
    if start > 0 {
      pending.removeFirst(start)
      searched -= start
      start = 0
    }
    pending.append(contentsOf: bytes)
  }

  /// The next whole line without its end; nil when it isn't there yet.
  package mutating func next() throws(TooLong) -> Data? {
    while searched < pending.count {
      defer { searched += 1 }
      guard pending[searched] == UInt8(ascii: "\n") else { continue }
      let line = pending[start..<searched]
      start = searched + 1
      if isDropping {
        isDropping = false
        continue
      }
      guard line.count < BackendProtocol.longestLine else { throw TooLong() }
      return Data(line)
    }
    if isDropping {
      start = searched
    } else if searched - start >= BackendProtocol.longestLine {
      isDropping = true
      start = searched
      throw TooLong()
    }
    return nil
  }
}
