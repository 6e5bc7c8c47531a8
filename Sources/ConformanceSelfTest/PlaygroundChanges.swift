import Conformance

/// The closures that changes of Image Playground are made of.
enum PlaygroundChange {
  /// Calls one of the app's handlers.
  typealias Notify = @Sendable (PlaygroundSurface.Callback) -> Void
}

extension PlaygroundImplementation {
  typealias Notify = PlaygroundChange.Notify

  /// Changes what the sheet is presented with.
  func mappingPresentation(_ change: @escaping @Sendable (inout PlaygroundSurface.Presentation) -> Void) -> Self {
    var copy = self
    let inner = present
    copy.present = { presentation, notify in
      var presentation = presentation
      change(&presentation)
      return try await inner(presentation, notify)
    }
    return copy
  }

  /// Changes concepts, those of the creator too.
  func mappingConcepts(_ change: @escaping @Sendable (PlaygroundSurface.Concept) -> PlaygroundSurface.Concept?) -> Self {
    var copy = mappingPresentation { $0.concepts = $0.concepts.compactMap(change) }
    copy = copy.mappingCreator { creator in
      let inner = creator.images
      creator.images = { concepts, style, limit in inner(concepts.compactMap(change), style, limit) }
    }
    return copy
  }

  /// Changes the calls of the app's handlers.
  func mappingCallbacks(_ change: @escaping @Sendable (@escaping Notify) -> Notify) -> Self {
    var copy = self
    let inner = present
    copy.present = { presentation, notify in try await inner(presentation, change(notify)) }
    return copy
  }

  /// Changes the session; what it's presented with and whom it tells are known.
  func mappingSession(
    _ change: @escaping @Sendable (inout PlaygroundSheet, PlaygroundSurface.Presentation, @escaping Notify) -> Void
  ) -> Self {
    var copy = self
    let inner = present
    copy.present = { presentation, notify in
      guard let session = try await inner(presentation, notify) else { return nil }
      var changed = session
      change(&changed, presentation, notify)
      return changed
    }
    return copy
  }

  /// Changes the creator.
  func mappingCreator(_ change: @escaping @Sendable (inout PlaygroundCreator) -> Void) -> Self {
    var copy = self
    let inner = makeCreator
    copy.makeCreator = {
      var creator = try await inner()
      change(&creator)
      return creator
    }
    return copy
  }
}

extension Mutant {
  /// Makes a mutant of an implementation of Image Playground.
  init(
    playground id: String, _ fault: String, breaks: [String],
    change: @escaping @Sendable (inout PlaygroundImplementation, FaultContext<PlaygroundSurface>) -> Void
  ) { self.init(id, fault, breaks: breaks, change) }

  /// Makes a mutant that takes its setup for another one.
  init(
    playground id: String, _ fault: String, breaks: [String],
    setup change: @escaping @Sendable (inout PlaygroundSurface.Setup) -> Void
  ) { self.init(id, fault, breaks: breaks, of: PlaygroundSurface.self, setup: change) }
}
