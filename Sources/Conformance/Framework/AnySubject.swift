/// A subject of any of the APIs.
public struct AnySubject: Sendable {
  /// The implementation's name.
  public let name: String
  /// Its version.
  public let version: String
  /// The heading of its column.
  public let title: String
  /// The API that it offers; only checks of that one judge it.
  public let surface: SurfaceKind
  /// Where its checks run.
  public let environment: EnvironmentKind

  // One a surface; the one of `surface` is there.
  var diffusion: Subject<DiffusionSurface>?
  var vision: Subject<VisionSurface>?
  var registry: Subject<RegistrySurface>?
  var playground: Subject<PlaygroundSurface>?
  var tsai: Subject<TSAISurface>?

  /// Takes a subject of one API.
  public init<Surface: APISurface>(_ subject: Subject<Surface>) {
    name = subject.name
    version = subject.version
    title = "\(subject.name) over \(subject.environment.name)"
    surface = Surface.kind
    environment = subject.environment.kind
    self[keyPath: Surface.slot] = subject
  }

  /// This subject with a change to what it is behind one API; another API's stays as it is.
  package func changed<Surface: APISurface>(_ change: (inout Subject<Surface>) -> Void) -> AnySubject {
    guard var subject = self[keyPath: Surface.slot] else { return self }
    change(&subject)
    return AnySubject(subject)
  }
}
