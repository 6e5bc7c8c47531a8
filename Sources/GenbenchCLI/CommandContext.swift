import Foundation
public import GenBackend
public import Tensors

/// What a command may use of the world outside.
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

  /// Makes a context.
  public init(
    console: Console, environment: [String: String], words: [String] = [], interrupts: Interrupts = Interrupts(),
    makeBackend: @escaping @Sendable (BackendSpecification) async throws -> any GenBackend
  ) {
    self.console = console
    self.environment = environment
    self.words = words
    self.interrupts = interrupts
    self.makeBackend = makeBackend
  }

  /// Cancelled by the first signal.
  public var cancellation: CancellationToken { interrupts.cancellation }
}
