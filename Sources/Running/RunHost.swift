package import GenBackend
package import Measurement
package import Reporting
package import Tensors

/// What a run uses of the program around it: engines, models, and somebody to tell.
package protocol RunHost: Sendable {
  /// The environment variables.
  var environment: [String: String] { get }
  /// The words of the command line, for the record.
  var words: [String] { get }
  /// The program's version, for the record.
  var version: String { get }
  /// The program that sessions are started from; nil measures in this process.
  var executable: String? { get }
  /// Cancelled when the run shall stop.
  var cancellation: CancellationToken { get }
  /// The signal that stopped it, if one did.
  var signal: Int32? { get }
  /// Makes the engine that a specification describes.
  var makeBackend: @Sendable (BackendSpecification) async throws -> any GenBackend { get }

  /// Tells the user something.
  func say(_ text: String)
  /// Warns the user.
  func warn(_ text: String)
  /// Begins to show how far some work is.
  func beginProgress(_ title: String, total: Int) -> any RunProgress

  /// The user's model: a path, or the id of a model that is downloaded.
  func userModel(_ path: String, variant: String?) throws -> ModelLocation
  /// Whether a file holds a language model.
  func holdsLanguageModel(_ path: String) -> Bool
  /// What both sides of an image must be multiples of; nil when the model's files don't tell.
  func sizeMultiple(of subject: RunPlan.Subject) -> Int?
  /// Writes a published model with generated weights, and gives its folder.
  func writeFullSizeModel(_ variant: String, fixtures: String?) throws -> String
  /// Operations and bytes of an image by stage; nil for models whose networks aren't known here.
  func work(of subject: RunPlan.Subject, size: ImageSize) -> [String: StageWork]?
  /// What the machine reaches when it does one simple thing; nil when that isn't known.
  func probeMachine(threads: Int?) -> EnvironmentRecord.Probe?
  /// How a command ends that an error stopped.
  func exit(for error: any Error) -> RunDocument.Exit
}

/// Shows how far some work is.
package protocol RunProgress: Sendable {
  /// Says that so many units are complete.
  func update(done: Int, detail: String)
  /// Says that it's over.
  func finish()
}
