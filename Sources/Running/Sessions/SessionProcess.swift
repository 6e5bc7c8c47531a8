import Foundation
import Synchronization
import Tensors

/// A child process that tells lines on its stdout, watched from a thread of its own.
struct SessionProcess: Sendable {
  /// How it ended.
  enum End: Sendable, Hashable {
    case exited(Int32)
    /// By a signal that this program didn't send.
    case signalled(Int32)
    /// It said nothing for so long that it was ended.
    case silent
    /// It was stopped because the whole run is.
    case stopped
    /// It couldn't be started.
    case failed(String)
  }

  var executable: String
  var arguments: [String]
  var environment: [String: String]
  /// How long it may say nothing.
  var timeoutNs: UInt64
  var isCancelled: @Sendable () -> Bool

  /// Runs it to its end.
  ///
  /// - Parameters:
  ///   - onLine: Sees each whole line of its stdout, in order; returning false ends the process.
  /// - Returns: How it ended, and the last of what it wrote to stderr.
  func run(onLine: @escaping @Sendable (Data) -> Bool) async -> (end: End, errors: String) {
    await withCheckedContinuation { continuation in
      let thread = Thread { continuation.resume(returning: watch(onLine: onLine)) }
      thread.name = "session process"
      thread.stackSize = 2 << 20
      thread.start()
    }
  }

  private func watch(onLine: (Data) -> Bool) -> (end: End, errors: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    // A crash is told by its message. Swift's own backtrace of it is a process that outlives the crashed one, keeps Foundation
    // from seeing the end, and takes minutes on a busy machine.
    process.environment = environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { own, _ in own }
    let (input, output, errors) = (Pipe(), Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    process.standardError = errors
    do { try process.run() } catch { return (.failed("\(executable) can't be started: \(error.localizedDescription)"), "") }
    // The child's ends belong to the child: only without them does the end of its output come here.
    try? output.fileHandleForWriting.close()
    try? errors.fileHandleForWriting.close()
    try? input.fileHandleForReading.close()
    defer { try? input.fileHandleForWriting.close() }

    var reader = LineReader(
      output: output.fileHandleForReading.fileDescriptor, errors: errors.fileHandleForReading.fileDescriptor)
    var lastNs = MonotonicTime.nanoseconds()
    var stopNs: UInt64?
    var isSilent = false
    var isKilled = false
    var isRefused = false
    while reader.isOpen {
      let lines = reader.wait(milliseconds: 100)
      let now = MonotonicTime.nanoseconds()
      if reader.hadOutput { lastNs = now }
      if !isRefused { for line in lines where !onLine(line) { isRefused = true } }
      if stopNs == nil, isRefused || isCancelled() {
        stopNs = now
        kill(process.processIdentifier, SIGTERM)
      }
      if let stopNs, !isKilled, now - stopNs > 10_000_000_000 {
        isKilled = true
        kill(process.processIdentifier, SIGKILL)
      }
      if stopNs == nil, !isSilent, now - min(lastNs, now) > timeoutNs {
        isSilent = true
        kill(process.processIdentifier, SIGKILL)
      }
      // A grandchild may hold the pipes open: the child's end is the end.
      if !process.isRunning, lines.isEmpty, !reader.hadOutput { break }
    }
    process.waitUntilExit()
    let said = reader.errorTail
    if isSilent { return (.silent, said) }
    if stopNs != nil { return (.stopped, said) }
    return process.terminationReason == .uncaughtSignal
      ? (.signalled(process.terminationStatus), said) : (.exited(process.terminationStatus), said)
  }
}

/// Reads two pipes without blocking on either: whole lines of the first, the last of the second.
private struct LineReader {
  private let output: Int32
  private let errors: Int32
  private var isOutputOpen = true
  private var areErrorsOpen = true
  private var pending = Data()
  private var said = Data()
  /// Whether the last wait brought anything on stdout.
  private(set) var hadOutput = false

  init(output: Int32, errors: Int32) {
    self.output = output
    self.errors = errors
  }

  var isOpen: Bool { isOutputOpen || areErrorsOpen }

  /// What was said last on stderr, without the lines of a trap's register dump.
  var errorTail: String {
    let lines = String(decoding: said, as: UTF8.self).split(separator: "\n").map(String.init)
    let telling = lines.first { $0.contains("Fatal error") || $0.contains("fatal error") } ?? lines.last
    return telling.map { String($0.prefix(400)) } ?? ""
  }

  mutating func wait(milliseconds: Int32) -> [Data] {
    hadOutput = false
    var descriptors = [
      pollfd(fd: isOutputOpen ? output : -1, events: Int16(POLLIN), revents: 0),
      pollfd(fd: areErrorsOpen ? errors : -1, events: Int16(POLLIN), revents: 0),
    ]
    guard poll(&descriptors, 2, milliseconds) > 0 else { return [] }
    var lines: [Data] = []
    if descriptors[0].revents != 0 {
      if let bytes = Self.take(output) {
        hadOutput = true
        pending.append(bytes)
        while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
          lines.append(Data(pending[pending.startIndex..<end]))
          pending = Data(pending[pending.index(after: end)...])
        }
      } else {
        isOutputOpen = false
      }
    }
    if descriptors[1].revents != 0 {
      if let bytes = Self.take(errors) {
        said.append(bytes)
        // Enough for the message of a crash, which comes before its dump.
        if said.count > 1 << 18 { said = Data(said.prefix(1 << 17)) }
      } else {
        areErrorsOpen = false
      }
    }
    return lines
  }

  /// The next bytes; nil at the end.
  private static func take(_ descriptor: Int32) -> Data? {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      return count > 0 ? Data(buffer[0..<count]) : nil
    }
  }
}
