import Conformance

extension DiffusionImplementation {
  /// Changes the options before the call.
  func mappingOptions(_ change: @escaping @Sendable (inout DiffusionSurface.Options) -> Void) -> Self {
    var copy = self
    let inner = generate
    copy.generate = { prompt, options, handler in
      var options = options
      change(&options)
      return try await inner(prompt, options, handler)
    }
    return copy
  }

  /// Changes the result after the call.
  func mappingResult(_ change: @escaping @Sendable (inout DiffusionSurface.Result, DiffusionSurface.Options) throws -> Void)
    -> Self
  {
    var copy = self
    let inner = generate
    copy.generate = { prompt, options, handler in
      var result = try await inner(prompt, options, handler)
      try change(&result, options)
      return result
    }
    return copy
  }

  /// Changes the handler.
  func mappingHandler(_ change: @escaping @Sendable (@escaping Handler) -> Handler) -> Self {
    var copy = self
    let inner = generate
    copy.generate = { prompt, options, handler in try await inner(prompt, options, change(handler)) }
    return copy
  }

  /// Changes the configuration before the load.
  func mappingConfiguration(_ change: @escaping @Sendable (inout DiffusionSurface.Configuration) -> Void) -> Self {
    var copy = self
    let inner = load
    copy.load = { path, id, name, configuration in
      var configuration = configuration
      change(&configuration)
      try await inner(path, id, name, configuration)
    }
    return copy
  }
}
