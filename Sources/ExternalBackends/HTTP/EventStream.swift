import GenBackend

/// Takes a stream of server-sent events apart.
///
/// Source: the HTML standard, section 9.2.6.
struct EventStream {
  /// The most bytes of one event.
  static let longestEvent = 16 << 20

  private var line: [UInt8] = []
  private var data: [UInt8]?
  private var isAfterReturn = false

  /// Whether there are bytes of an event that hasn't ended.
  var hasRest: Bool { !line.isEmpty || data != nil }

  /// The data of the events that end within the next bytes.
  ///
  /// - Throws: `BackendError` `.processingFailed` for an event without end.
  mutating func take(_ bytes: [UInt8]) throws(BackendError) -> [[UInt8]] {
    var events: [[UInt8]] = []
    for byte in bytes {
      if byte == 10, isAfterReturn {
        isAfterReturn = false
        continue
      }
      isAfterReturn = byte == 13
      guard byte == 10 || byte == 13 else {
        line.append(byte)
        guard line.count + (data?.count ?? 0) <= Self.longestEvent else {
          throw BackendError(.processingFailed, "an event of the stream has more than \(Self.longestEvent) bytes")
        }
        continue
      }
      if line.isEmpty {
        if let data { events.append(data) }
        data = nil
      } else if line.starts(with: Array("data:".utf8)) {
        var value = line.dropFirst(5)
        if value.first == 0x20 { value.removeFirst() }
        data = data.map { $0 + [10] + value } ?? Array(value)
      } else if line.starts(with: Array("error:".utf8)) {
        // llama-server once told its errors in a field of this name.
        data = Array(#"{"error": "#.utf8) + line.dropFirst(6) + Array("}".utf8)
      }
      line = []
    }
    return events
  }
}
