/// One of the APIs that can be judged: what an implementation of it is, and what its checks need around one.
public protocol APISurface: Sendable {
  /// Functions that call an SDK; the owner of the SDK writes them.
  associatedtype Implementation: SurfaceImplementation
  /// What a check decides when an implementation is made.
  associatedtype Setup: Sendable
  /// What checks see of the test double below an implementation.
  associatedtype TestDouble: Sendable
  /// What an environment offers beside implementations: models, files, servers.
  associatedtype Facts: Sendable
  /// Which API it is.
  static var kind: SurfaceKind { get }
  /// Its place in ``AnySubject``.
  static var slot: any WritableKeyPath<AnySubject, Subject<Self>?> & Sendable { get }
}

/// An SDK's functions behind one API.
///
/// Each function calls the SDK and translates values, nothing else: one that repairs what the SDK does would be judged in its
/// place.
public protocol SurfaceImplementation: Sendable {
  /// What an SDK can do beyond the documented minimum.
  associatedtype Capability: Hashable, Sendable, RawRepresentable<String>
  /// What this one can do; checks that need more are skipped.
  var capabilities: Set<Capability> { get }
}

/// An implementation whose functions throw the SDK's own errors.
public protocol ThrowingImplementation: SurfaceImplementation {
  /// The codes of the documentation.
  associatedtype Code: Hashable, Sendable
  /// Translates an error that was thrown by its code, never by its text.
  var failure: @Sendable (any Error) -> Failure<Code> { get set }
}

/// The facts of environments that have nothing to say.
public struct NoFacts: Sendable {
  /// Makes none.
  public init() {}
}
