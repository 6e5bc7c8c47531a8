import Conformance
import Foundation
import GenBackend
import Running
import TSAIKit

extension ConformSubjects {
  /// `TSAIKit` over a scripted provider.
  static var scriptedTSAI: Subject {
    Subject(
      name: "TSAIKit", version: version,
      surroundings: .surface(
        TSAISurroundings(.scripted { service, scheduler in TSAIKitImplementation(service: service, scheduler: scheduler) })))
  }

  /// `TSAIKit` over the engine with the smallest model at hand; nil without one.
  func tsaiOverEngine() throws -> Subject? {
    guard let model = smallImageModel else { return nil }
    let surroundings = TSAISurroundings(
      .engine(backend.kind.rawValue) { [backend, makeBackend] in
        let engine = try await makeBackend(backend)
        let info = try await engine.load(LoadRequest(path: model, safety: .off), control: GenerationControl())
        return TSAIKitImplementation(provider: BackendImageProvider(backend: engine, model: info, steps: 2, seed: 7))
      })
    return Subject(name: "TSAIKit", version: Self.version, surroundings: .surface(surroundings))
  }

  /// The folder of the smallest image model; nil without one.
  var smallImageModel: String? {
    let path = fixtures.appendingPathComponent("Models/sd15").path
    return FileManager.default.fileExists(atPath: path + "/model_index.json") ? path : nil
  }
}
