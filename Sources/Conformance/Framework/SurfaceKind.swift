/// The APIs that can be judged; each subject offers one of them.
public enum SurfaceKind: String, Sendable, Hashable, Codable, CaseIterable {
  /// Image generation in RunAnywhere's shape.
  case diffusion
  /// Vision-language models in RunAnywhere's shape.
  case vision
  /// Registering, downloading and deleting models in RunAnywhere's shape.
  case registry
  /// Image Playground and ImageCreator.
  case playground
  /// TSAI image generation.
  case tsai
}

/// What an implementation of another API than the diffusion one stands on, and how it's made anew for each check.
///
/// Each API has a type of its own, which its checks ask for with ``CheckContext/surroundings(as:)``.
public protocol SurfaceSurroundings: Sendable {
  /// The API.
  var kind: SurfaceKind { get }
  /// Where its checks run.
  var world: Check.World { get }
  /// What the implementation stands on, for headings: `script`, `ref`.
  var foundation: String { get }
}

extension CheckContext {
  /// The surroundings of the subject; the check is skipped when they're of another API.
  public func surroundings<Surroundings: SurfaceSurroundings>(as type: Surroundings.Type = Surroundings.self) throws
    -> Surroundings
  {
    guard case .surface(let surface) = subject.surroundings, let surroundings = surface as? Surroundings else {
      throw CheckSkip("\(subject.name) is judged by its \(subject.surface.rawValue) API alone")
    }
    return surroundings
  }
}
