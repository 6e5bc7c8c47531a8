import Foundation
public import GenBackend
public import Running
public import Tensors

/// What a command may use of the process around it.
public struct CommandContext: Sendable {
  /// Results and talk.
  public var console: Console
  /// The environment variables.
  public var environment: [String: String]
  /// The words of the command line, for the record.
  public var words: [String]
  /// Ctrl-C and termination.
  public var interrupts: Interrupts
  /// Makes the engine that a `--backend` describes.
  public var makeBackend: @Sendable (BackendSpecification) async throws -> any GenBackend
  /// The program that sessions of a run are started from; nil measures in this process.
  public var executable: String?

  /// Makes a context.
  public init(
    console: Console, environment: [String: String], words: [String] = [], interrupts: Interrupts = Interrupts(),
    executable: String? = nil,
    makeBackend: @escaping @Sendable (BackendSpecification) async throws -> any GenBackend
  ) {
    self.console = console
    self.environment = environment
    self.words = words
    self.interrupts = interrupts
    self.executable = executable
    self.makeBackend = makeBackend
  }

  /// Cancelled by the first signal.
  public var cancellation: CancellationToken { interrupts.cancellation }
}
