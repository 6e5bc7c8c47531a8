public import GenBackend

/// Families of image models.
public enum DiffusionModelVariant: String, Sendable, Hashable, Codable, CaseIterable {
  /// Stable Diffusion 1.5.
  case sd15
  /// Stable Diffusion 2.0.
  case sd20
  /// Stable Diffusion XL.
  case sdxl

  /// The engine's word for it.
  var family: ModelVariant {
    switch self {
    case .sd15: .sd15
    case .sd20: .sd20
    case .sdxl: .sdxl
    }
  }

  /// The sizes that the family is made for, the default first.
  public var recommendedSizes: [ImageSize] {
    switch self {
    case .sd15: [ImageSize(width: 512, height: 512)]
    case .sd20: [ImageSize(width: 512, height: 512), ImageSize(width: 768, height: 768)]
    case .sdxl: [ImageSize(width: 1024, height: 1024)]
    }
  }
}

/// How a diffusion model is loaded.
public struct DiffusionConfiguration: Sendable, Hashable, Codable {
  /// The family of the model.
  public let modelVariant: DiffusionModelVariant
  /// Whether images are checked; a model without a checker then fails to load.
  public let enableSafetyChecker: Bool
  /// Whether to need less memory at the price of some speed; the images stay the same.
  public let reduceMemory: Bool

  /// Makes a configuration.
  public init(modelVariant: DiffusionModelVariant = .sd15, enableSafetyChecker: Bool = true, reduceMemory: Bool = false) {
    self.modelVariant = modelVariant
    self.enableSafetyChecker = enableSafetyChecker
    self.reduceMemory = reduceMemory
  }
}
