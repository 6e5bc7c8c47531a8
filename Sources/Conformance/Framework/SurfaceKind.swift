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
