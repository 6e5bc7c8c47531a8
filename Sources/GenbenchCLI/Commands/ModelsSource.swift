import GenBackend

/// Which model `models show` and `models plan` are about.
struct ModelsSource: Sendable {
  static let options = ModelLocation.options

  private let path: String?
  private let variant: String?
  private let fixtures: String?

  init(_ values: ParsedValues) throws(UsageError) {
    if let named = values.string("model"), let positional = values.positionals.first, named != positional {
      throw UsageError("Give the model once, as an argument or as --model")
    }
    path = values.positionals.first ?? values.string("model")
    variant = values.string("variant")
    fixtures = values.string("fixtures")
    if path == nil, variant == nil { throw UsageError("Missing expected argument '<path>' (or '--variant <name>')") }
  }

  func describe(_ context: CommandContext, size: ImageSize? = nil, reducesMemory: Bool = false) throws -> ModelDescription {
    let location =
      try path.map { try ModelLocation.user($0, variant: variant) }
      ?? ModelLocation.small(variant ?? "", fixtures: fixtures, environment: context.environment)
    return try ModelDescription(path: location.path, variant: location.variant, size: size, reducesMemory: reducesMemory)
  }
}
