public import GenBackend

/// What a scripted engine does out of the ordinary.
public struct Script: Sendable {
  /// Images of a batch, from 0, that the checker flags.
  public var flaggedImages: Set<Int> = []
  /// Whether the checker says nothing though it was asked for.
  public var isCheckerSilent = false
  /// A failure of the next generations: before which step, from 1, and what.
  public var failure: (step: Int, error: BackendError)?
  /// A failure of the next loads.
  public var loadFailure: BackendError?
  /// What the models can do.
  public var capabilities = Set(Capability.allCases)
  /// Virtual nanoseconds of the parts of the work.
  public var textNs: UInt64 = 40_000_000
  /// See ``textNs``.
  public var stepNs: UInt64 = 100_000_000
  /// See ``textNs``.
  public var decodeNs: UInt64 = 60_000_000
  /// See ``textNs``.
  public var safetyNs: UInt64 = 25_000_000
  /// See ``textNs``.
  public var previewNs: UInt64 = 50_000_000
  /// Whether pictures show what the prompt says; otherwise they are patterns.
  public var paintsPrompt = false
  /// Tokens of a prompt, counted as words, that the text encoder sees.
  public var promptWindow = 75

  /// Makes a script of an engine that does all as it should.
  public init() {}
}

/// What checks see of an engine that follows a script: it computes nothing, fails on demand, and waits at gates.
///
/// It knows models under the paths of ``ScriptedModels``.
public protocol ScriptedImageEngine: AnyObject, GenBackend {
  /// What it does; may be changed between requests.
  var script: Script { get set }
  /// All loads that were asked for.
  var loads: [LoadRequest] { get }
  /// All generations.
  var runs: [ScriptedImageRun] { get }
  /// Whether a generation is at work.
  var isRunning: Bool { get }
  /// Models in memory.
  var loadedModels: Int { get }
  /// Nanoseconds of its own clock.
  var nowNs: UInt64 { get }
  /// Its memory, by the same rules as a real engine's.
  var memory: MemoryMeter { get }
  /// Makes the next generation wait after so many steps.
  func pauseNextRun(afterSteps steps: Int) -> Gate
  /// Opens all gates, so that nothing is left waiting.
  func openAllGates()
}

/// What became of a generation.
public struct ScriptedImageRun: Sendable {
  /// What was asked.
  public var request: ImageRequest
  /// Steps that were done.
  public var stepsDone = 0
  /// Previews that were decoded.
  public var previews = 0
  /// Whether it has ended.
  public var isOver = false
  /// The error that ended it.
  public var error: BackendError?
  /// Makes a run that begins.
  public init(request: ImageRequest) { self.request = request }
}

/// The paths of the models that a scripted engine knows; beside them, folders whose `model_index.json` names one as `scripted`.
public enum ScriptedModels {
  /// A variant's name behind it is a model that works: `scripted:/sd15`.
  public static let root = "scripted:/"
  /// No such model.
  public static let missing = root + "none"
  /// One that doesn't fit into memory.
  public static let huge = root + "huge"
  /// One whose tokenizer is missing.
  public static let withoutTokenizer = root + "sd15-no-tokenizer"
  /// One without a safety checker.
  public static let withoutChecker = root + "sd15-no-checker"
  /// One with defaults of its own.
  public static let distilled = root + "sd15-distilled"
}
