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
