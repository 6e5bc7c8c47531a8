import Foundation
import Synchronization
import Testing

@testable import Running

@Suite struct SessionProcessEndTests {
  private func run(_ script: String, timeoutNs: UInt64 = 60_000_000_000, cancels: Bool = false) async -> (
    SessionProcess.End, String, [String]
  ) {
    let lines = Mutex<[String]>([])
    let process = SessionProcess(
      executable: "/bin/sh", arguments: ["-c", script], environment: ["PATH": "/usr/bin:/bin"], timeoutNs: timeoutNs,
      isCancelled: { cancels && lines.withLock { !$0.isEmpty } })
    let (end, errors) = await process.run { line in
      lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
      return true
    }
    return (end, errors, lines.withLock { $0 })
  }

  @Test func endsAreToldApart() async {
    #expect(await run("echo a; echo b; exit 0").0 == .exited(0))
    let failed = await run("echo one; echo oh no >&2; exit 9")
    #expect(failed.0 == .exited(9) && failed.1 == "oh no" && failed.2 == ["one"])
    #expect(await run("kill -SEGV $$").0 == .signalled(11))
    #expect(await run("kill -KILL $$").0 == .signalled(9))
    #expect(await run("exec sleep 600", timeoutNs: 300_000_000).0 == .silent)
    #expect(await run("echo x; exec sleep 600", cancels: true).0 == .stopped)
  }

  @Test func longLinesArriveWhole() async {
    let result = await run("head -c 300000 /dev/zero | tr '\\0' x; echo; echo end")
    #expect(result.2.map(\.count) == [300_000, 3])
  }

  @Test func aMissingProgramIsTold() async {
    let process = SessionProcess(
      executable: "/nowhere/genbench", arguments: [], environment: [:], timeoutNs: 1, isCancelled: { false })
    guard case .failed(let message) = await process.run(onLine: { _ in true }).end else {
      Issue.record("it ran")
      return
    }
    #expect(message.contains("/nowhere/genbench"))
  }
}
