import Conformance
import GenBackend
import PlaygroundKit
import Running

extension ConformSubjects {
  /// `PlaygroundKit` over a scripted engine.
  static var scriptedPlayground: Subject {
    Subject(
      name: "PlaygroundKit", version: version,
      surroundings: .surface(
        PlaygroundSurroundings(
          .scripted { backend, environment in
            try await PlaygroundKitImplementation(backend: backend, environment: environment)
          })))
  }

  /// `PlaygroundKit` over the engine with the smallest model at hand; nil without one.
  func playgroundOverEngine() throws -> Subject? {
    guard let model = smallImageModel else { return nil }
    let surroundings = PlaygroundSurroundings(
      .engine(backend.kind.rawValue) { [backend, makeBackend] in
        let engine = try await makeBackend(backend)
        let info = try await engine.load(LoadRequest(path: model, safety: .off), control: GenerationControl())
        var settings = ImagePlaygroundSystem.Settings()
        settings.steps = 2
        settings.seed = 7
        return PlaygroundKitImplementation(system: ImagePlaygroundSystem(backend: engine, model: info, settings: settings))
      })
    return Subject(name: "PlaygroundKit", version: Self.version, surroundings: .surface(surroundings))
  }
}
