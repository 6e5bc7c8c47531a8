import Foundation
import GenBackend
import Reporting
import Synchronization

/// The program as a session of a run: reads an assignment, measures, tells events on stdout, one a line.
enum SessionWorker {
  /// The first word of its command line; no command, as nobody types it.
  static let word = "--session"

  /// Does an assignment and returns how it went.
  static func run(_ context: CommandContext) async -> ProgramExit {
    guard context.words.count == 2, let data = FileManager.default.contents(atPath: context.words[1]),
      let assignment = try? JSONDecoder().decode(SessionAssignment.self, from: data)
    else { return ProgramExit(.internalError, "--session FILE: expected the assignment of a run") }
    endWithParent()
    let lock = Mutex(())
    let runner = SessionRunner(assignment: assignment, context: context) { event in
      var line = try Journal.line(event)
      line.append(UInt8(ascii: "\n"))
      lock.withLock { _ in Console.write(String(decoding: line, as: UTF8.self), toErrors: false) }
    }
    do {
      try await runner.run()
      return .success
    } catch {
      let status = ProgramExit(error, signal: context.interrupts.signal)
      Console.write((status.reason ?? "failed") + "\n", toErrors: true)
      return status
    }
  }

  /// Ends this process when the one that started it is gone: its end of stdin closes then.
  private static func endWithParent() {
    let thread = Thread {
      var byte: UInt8 = 0
      while true {
        let count = read(STDIN_FILENO, &byte, 1)
        if count > 0 || (count < 0 && errno == EINTR) { continue }
        _exit(ProgramExit.Kind.incomplete.rawValue)
      }
    }
    thread.name = "parent watch"
    thread.stackSize = 256 << 10
    thread.start()
  }
}
