import GenBackend
import Running

/// Which model `models show` and `models plan` are about.
struct ModelsSource: Sendable {
  static let options = ModelLocation.options

  private let path: String?
  private let variant: String?
  private let isFullSize: Bool
  private let fixtures: String?

  init(_ values: ParsedValues) throws(UsageError) {
    if let named = values.string("model"), let positional = values.positionals.first, named != positional {
      throw UsageError("Give the model once, as an argument or as --model")
    }
    path = values.positionals.first ?? values.string("model")
    variant = values.string("variant")
    fixtures = values.string("fixtures")
    isFullSize = values.flag("full-size") ?? false
    try ModelLocation.check(model: path, variant: variant, isFullSize: isFullSize)
    if path == nil, variant == nil { throw UsageError("Missing expected argument '<path>' (or '--variant <name>')") }
  }

  func describe(_ context: CommandContext, size: ImageSize? = nil, reducesMemory: Bool = false) throws -> ModelDescription {
    let location = try ModelLocation.resolve(
      model: path, variant: variant, isFullSize: isFullSize, fixtures: fixtures, environment: context.environment)
    if location.isFullSize {
      return try FullSizeWeights.describe(location.variant ?? "", size: size, reducesMemory: reducesMemory)
    }
    return try ModelDescription(path: location.path, variant: location.variant, size: size, reducesMemory: reducesMemory)
  }
}
