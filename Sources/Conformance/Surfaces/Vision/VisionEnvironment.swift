public import Foundation
public import GenBackend

extension VisionSurface {
  /// An SDK's vision-language models.
  public typealias Implementation = VisionImplementation
  /// An engine that follows a script.
  public typealias TestDouble = any ScriptedTextEngine

  /// How an implementation is made for a check.
  public struct Setup: Sendable {
    /// A folder for its models.
    public var folder: URL
    /// Makes a setup.
    public init(folder: URL) { self.folder = folder }
  }

  /// An engine's models.
  public struct Facts: Sendable {
    /// The files of a model that works; nil for made-up ones that the scripted engine takes.
    public var files: (main: URL, projector: URL)?
    /// Makes facts.
    public init(files: (main: URL, projector: URL)? = nil) { self.files = files }
  }

  /// What a scripted engine does out of the ordinary.
  public struct Script: Sendable {
    /// A failure of the next answers: before which token, from 0, and what.
    public var failure: (token: Int, error: BackendError)?
    /// Says one word over and over, so often.
    public var repetitions: Int?
    /// Tokens of an answer that ends by itself.
    public var naturalLength = 24
    /// Virtual nanoseconds of the parts of the work.
    public var encodeNsPerPixel: UInt64 = 100
    /// See ``encodeNsPerPixel``.
    public var prefillNsPerToken: UInt64 = 1_000_000
    /// See ``encodeNsPerPixel``.
    public var tokenNs: UInt64 = 20_000_000
    /// Makes a script of an engine that does all as it should.
    public init() {}
  }
}

/// What checks see of a vision-language engine that follows a script: it tells the colour of an image, and what was asked.
public protocol ScriptedTextEngine: AnyObject, GenBackend {
  /// What it does; may be changed between requests.
  var script: VisionSurface.Script { get set }
  /// All loads that were asked for.
  var loads: [LoadRequest] { get }
  /// All requests.
  var runs: [ScriptedTextRun] { get }
  /// Whether a request is at work.
  var isRunning: Bool { get }
  /// Nanoseconds of its own clock.
  var nowNs: UInt64 { get }
  /// The contents of the two files that make its model.
  var files: (main: Data, projector: Data) { get }
  /// Tokens that an image takes in the prompt.
  var imageTokens: Int { get }
  /// The text of each token of the answer to a request: that of a character's first half is empty.
  func pieces(of request: TextRequest) -> [String]
  /// Makes the next request wait before a token, from 0.
  func pauseNextRun(beforeToken token: Int) -> Gate
  /// Opens all gates, so that nothing is left waiting.
  func openAllGates()
}

/// What became of a request for text.
public struct ScriptedTextRun: Sendable {
  /// What was asked.
  public var request: TextRequest
  /// Tokens that were made.
  public var tokens = 0
  /// Whether it has ended.
  public var isOver = false
  /// The error that ended it.
  public var error: BackendError?
  /// Makes a run that begins.
  public init(request: TextRequest) { self.request = request }
}
