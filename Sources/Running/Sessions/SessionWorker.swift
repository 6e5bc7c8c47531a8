package import Foundation
import GenBackend
package import Reporting
import Synchronization

/// The program as a session of a run: reads an assignment, measures, tells events on stdout, one a line.
package enum SessionWorker {
  /// The first word of its command line; no command, as nobody types it.
  package static let word = "--session"

  /// Does an assignment and returns how it went.
  ///
  /// - Parameter write: Takes each line of its stdout.
  package static func run(_ host: any RunHost, write: @escaping @Sendable (Data) throws -> Void) async -> RunDocument.Exit {
    guard host.words.count == 2, let data = FileManager.default.contents(atPath: host.words[1]),
      let assignment = try? JSONDecoder().decode(SessionAssignment.self, from: data)
    else { return .init(code: ExitCode.internalError.rawValue, reason: "--session FILE: expected the assignment of a run") }
    endWithParent()
    let lock = Mutex(())
    let runner = SessionRunner(assignment: assignment, host: host) { event in
      var line = try Journal.line(event)
      line.append(UInt8(ascii: "\n"))
      try lock.withLock { _ in try write(line) }
    }
    do {
      try await runner.run()
      return .init(code: ExitCode.success.rawValue, reason: nil)
    } catch {
      return host.exit(for: error)
    }
  }

  /// Ends this process when the one that started it is gone: its end of stdin closes then.
  private static func endWithParent() {
    let thread = Thread {
      var byte: UInt8 = 0
      while true {
        let count = read(STDIN_FILENO, &byte, 1)
        if count > 0 || (count < 0 && errno == EINTR) { continue }
        _exit(ExitCode.incomplete.rawValue)
      }
    }
    thread.name = "parent watch"
    thread.stackSize = 256 << 10
    thread.start()
  }
}
