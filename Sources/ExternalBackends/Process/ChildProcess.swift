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
  /// It inherits no file but its streams, no blocked and no ignored signal.
  ///
  /// - Throws: `BackendError` `.unavailable`.
  static func start(_ words: [String], environment: [String: String]) throws(BackendError) -> ChildProcess {
    func failure(_ code: Int32) -> BackendError {
      BackendError(
        .unavailable, "'\(words.first ?? "")' can't be started: \(String(cString: strerror(code))); is it installed and in PATH?")
    }
    guard words.allSatisfy({ !$0.utf8.contains(0) }) else {
      throw BackendError(.invalidInput, "the command holds a zero byte, which no program can be given")
    }
    var descriptors: [Int32] = []
    func closeAll() { for descriptor in descriptors { close(descriptor) } }
    for _ in 0..<3 {
      var ends: [Int32] = [-1, -1]
      #if canImport(Darwin)
        let result = pipe(&ends)
        for end in ends where end >= 0 { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      #else
        let result = pipe2(&ends, O_CLOEXEC)
      #endif
      guard result == 0 else {
        let code = errno
        closeAll()
        throw failure(code)
      }
      descriptors += ends
    }
    let (childInput, input, output, childOutput, errors, childErrors) = (
      descriptors[0], descriptors[1], descriptors[2], descriptors[3], descriptors[4], descriptors[5]
    )

    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #else
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, childInput, 0)
    posix_spawn_file_actions_adddup2(&actions, childOutput, 1)
    posix_spawn_file_actions_adddup2(&actions, childErrors, 2)
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
    #if canImport(Darwin)
      flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
    #else
      posix_spawn_file_actions_addclosefrom_np(&actions, 3)
    #endif
    posix_spawnattr_setflags(&attributes, Int16(flags))
    posix_spawnattr_setpgroup(&attributes, 0)
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    // This program ignores SIGINT and SIGTERM, to hear them in its own way; a child would inherit that.
    sigfillset(&signals)
    sigdelset(&signals, SIGKILL)
    sigdelset(&signals, SIGSTOP)
    posix_spawnattr_setsigdefault(&attributes, &signals)

    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer {
      for pointer in arguments + variables { free(pointer) }
    }
    var id: pid_t = 0
    let result = posix_spawnp(&id, words[0], &actions, &attributes, &arguments, &variables)
    guard result == 0 else {
      closeAll()
      throw failure(result)
    }
    for descriptor in [childInput, childOutput, childErrors] { close(descriptor) }
    for descriptor in [input, output, errors] {
      _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }
    return ChildProcess(id: id, input: input, output: output, errors: errors)
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
