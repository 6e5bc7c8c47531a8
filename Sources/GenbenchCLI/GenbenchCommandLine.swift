import ExternalBackends
import Foundation
import GenBackend
import InputFiles
import Reporting
import Running
import Tensors

/// The command line of genbench.
public enum GenbenchCommandLine {
  /// The version that `--version` and every record show.
  public static let version = "0.1.0"

  /// The program: parses the process's arguments, runs the command, ends the process.
  public static func main() async -> Never {
    let environment = ProcessInfo.processInfo.environment
    let interrupts = Interrupts()
    let sources = interrupts.listen()
    let processes = EngineProcesses()
    let context = CommandContext(
      console: Console(style: .detect(environment: environment)), environment: environment,
      words: Array(CommandLine.arguments.dropFirst()), interrupts: interrupts, executable: ownPath(),
      makeBackend: { try await makeBackend($0, processes: processes) })
    let status = await run(context)
    await processes.close()
    withExtendedLifetime(sources) {}
    exit(status.code)
  }

  /// The file of this program, so that it can start itself.
  private static func ownPath() -> String? {
    #if os(Linux)
      if let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") { return path }
    #endif
    return Bundle.main.executablePath
  }

  /// Runs the words of a context; prints the reason when it isn't success.
  public static func run(_ context: CommandContext) async -> ProgramExit {
    let console = context.console
    let parser = ArgumentParser(root: GenbenchCommand.self, version: version, columns: console.style.columns)
    var status: ProgramExit
    if context.words.first == SessionWorker.word {
      let exit = await SessionWorker.run(context) { line in
        let code = Console.write(String(decoding: line, as: UTF8.self), toErrors: false)
        guard code == 0 else { throw CommandError(.cannotWrite, "stdout can't be written: \(String(cString: strerror(code)))") }
      }
      if let reason = exit.reason { _ = Console.write(reason + "\n", toErrors: true) }
      return ProgramExit(exit)
    }
    do {
      switch try parser.parse(context.words) {
      case .text(let text):
        console.print(text)
        status = .success
      case .command(let command, _):
        // A reader that waits for a stream gives up when the work is cancelled.
        let cancellation = context.cancellation
        let isCancelled: @Sendable () -> Bool = { cancellation.isCancelled }
        status = try await InputFile.$isCancelled.withValue(isCancelled) {
          try await ModelLocation.$leases.withValue(ModelLocation.Leases()) { try await command.run(context) }
        }
      }
    } catch let error where error is UsageError || error is SettingError {
      let error = error as? UsageError ?? UsageError("\(error)")
      let path = error.path.isEmpty ? [GenbenchCommand.configuration.name] : error.path
      console.say("Error: \(error.message)")
      console.say("Usage: \(parser.usage(of: path))")
      console.say("  See '\((path + ["--help"]).joined(separator: " "))' for more information.")
      status = ProgramExit(error)
    } catch {
      status = ProgramExit(error, signal: context.interrupts.signal)
    }
    console.clearTransient()
    if let failure = console.outputFailure { status = ProgramExit(.cannotWrite, "stdout can't be written: \(failure)") }
    if let reason = status.reason, status.code != 0, let kind = ProgramExit.Kind(rawValue: status.code) {
      console.say("genbench: exit \(status.code) (\(kind.word)): \(reason.replacingOccurrences(of: "\n", with: " "))")
    }
    return status
  }
}
