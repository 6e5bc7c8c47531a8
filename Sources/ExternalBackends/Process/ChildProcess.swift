import CProcessGroup
import Foundation
import GenBackend

/// A child process that leads a process group of its own, with pipes to its three streams.
///
/// Foundation's `Process` can't set a group, and without one the processes that the child starts outlive it.
struct ChildProcess: Sendable {
  /// How it ended.
  enum End: Sendable, Hashable, CustomStringConvertible {
    case exited(Int32)
    case signalled(Int32)

    var description: String {
      switch self {
      case .exited(let code): "ended with exit code \(code)"
      case .signalled(let number): "was ended by signal \(number) (\(String(cString: strsignal(number))))"
      }
    }
  }

  /// The child, and its group.
  let id: pid_t
  /// Our end of its stdin, non-blocking.
  let input: Int32
  /// Our end of its stdout, non-blocking.
  let output: Int32
  /// Our end of its stderr, non-blocking.
  let errors: Int32

  /// Starts a program, found as a shell finds it.
  ///
  /// It inherits no file but its streams, no blocked and no ignored signal (see `CProcessGroup.h`).
  ///
  /// - Throws: `BackendError` `.unavailable`.
  static func start(_ words: [String], environment: [String: String]) throws(BackendError) -> ChildProcess {
    guard words.allSatisfy({ !$0.utf8.contains(0) }) else {
      throw BackendError(.invalidInput, "the command holds a zero byte, which no program can be given")
    }
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for pointer in arguments + variables { free(pointer) } }
    var id: pid_t = 0
    var streams: [Int32] = [-1, -1, -1]
    let code = genbench_spawn_group(&id, &arguments, &variables, &streams)
    guard code == 0 else {
      throw BackendError(
        .unavailable, "'\(words.first ?? "")' can't be started: \(String(cString: strerror(code))); is it installed and in PATH?")
    }
    return ChildProcess(id: id, input: streams[0], output: streams[1], errors: streams[2])
  }

  /// Whether it has ended; it stays a zombie until ``reap()``, so that its number and its group's aren't given away.
  var hasEnded: Bool {
    var info = siginfo_t()
    return waitid(P_PID, id_t(id), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_signo == SIGCHLD
  }

  /// Sends a signal to all of its group.
  func signal(_ number: Int32) { kill(-id, number) }

  /// Ends what is left of the group, and collects the child, which must have ended.
  func reap() -> End {
    signal(SIGKILL)
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0, errno == EINTR {}
    let number = status & 0x7F
    return number == 0 ? .exited(status >> 8 & 0xFF) : .signalled(number)
  }

  /// Closes our ends of the streams.
  func closeStreams() { for descriptor in [input, output, errors] { close(descriptor) } }
}
