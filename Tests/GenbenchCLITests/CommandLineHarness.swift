import Foundation
import GenBackend
import GenbenchCLI
import Running
import Synchronization
import TestSupport

/// Runs the command line in this process and keeps what it says.
struct CommandLineResult: Sendable {
  var status: ProgramExit
  var out: String
  var err: String

  var lastErrorLine: String { err.split(separator: "\n").last.map(String.init) ?? "" }
  func json() throws -> [String: Any] {
    try JSONSerialization.jsonObject(with: Data(out.utf8)) as? [String: Any] ?? [:]
  }
}

/// Runs words with a scripted backend, or with the engine in the box when it's nil.
func genbench(
  _ words: String..., backend: ScriptedBackend? = ScriptedBackend(), environment: [String: String] = [:],
  interrupts: Interrupts = Interrupts(), style: Console.Style = Console.Style()
) async -> CommandLineResult {
  await genbench(words, backend: backend, environment: environment, interrupts: interrupts, style: style)
}

func genbench(
  _ words: [String], backend: ScriptedBackend? = ScriptedBackend(), environment: [String: String] = [:],
  interrupts: Interrupts = Interrupts(), style: Console.Style = Console.Style()
) async -> CommandLineResult {
  final class Streams: Sendable {
    let out = Mutex("")
    let err = Mutex("")
  }
  let streams = Streams()
  let console = Console(
    style: style, out: { text in streams.out.withLock { $0 += text } }, error: { text in streams.err.withLock { $0 += text } })
  let home = ["GENBENCH_HOME": Fixtures.packageFolder.path, "PATH": ProcessInfo.processInfo.environment["PATH"] ?? ""]
  let context = CommandContext(
    console: console, environment: home.merging(environment) { $1 }, words: words, interrupts: interrupts
  ) { specification in
    guard let backend else { return try await GenbenchCommandLine.makeBackend(specification) }
    backend.specification = specification
    return backend
  }
  let status = await GenbenchCommandLine.run(context)
  return CommandLineResult(status: status, out: streams.out.withLock { $0 }, err: streams.err.withLock { $0 })
}
