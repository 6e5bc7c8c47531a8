import Foundation
import GenBackend
import Running
import Serving

/// Serves an engine to another program.
struct ServeStdioCommand: Command {
  static let configuration = CommandDescription(
    name: "serve-stdio", abstract: "Serve an engine on stdin and stdout, to a program that speaks genbench.backend/1.",
    discussion: """
      The protocol is told in docs/backend-protocol.md. Another genbench uses it as --backend proc:"genbench serve-stdio", so that \
      two builds are judged and measured side by side.
      """,
    options: BackendSpecification.options)

  private let backend: BackendSpecification

  init(_ values: ParsedValues) throws(UsageError) { backend = try BackendSpecification(values) }

  func run(_ context: CommandContext) async throws -> ProgramExit {
    // Answers have stdout for themselves: whatever prints from now on prints to stderr.
    let output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
    guard output >= 0, dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 else {
      throw CommandError(.internalError, "stdout can't be set aside: \(String(cString: strerror(errno)))")
    }
    defer { close(output) }
    let engine = try await context.makeBackend(backend)
    let server = StdioServer(engine, input: STDIN_FILENO, output: output)
    _ = await server.run(cancellation: context.cancellation)
    return .success
  }
}
