import Conformance
import Foundation
import GenBackend
import ModelRegistry
import RunAnywhere
import Running

extension ConformSubjects {
  /// The vision part of `RunAnywhere` over a scripted engine.
  static var scriptedVision: Subject {
    Subject(
      name: "RunAnywhere", version: version,
      surroundings: .surface(
        VisionSurroundings(world: .scripted, foundation: "a vision script") { engine, folder in
          guard let engine else { throw CheckSkip("needs the scripted engine") }
          let registry = ModelRegistry(folder: folder, policy: DownloadPolicy(waitsForDisk: false))
          return RunAnywhereVisionImplementation(
            session: VLMSession(backend: engine, registry: registry) { engine.clock.nowNs }, registry: registry)
        }))
  }

  /// The vision part of `RunAnywhere` over the engine, with each small vision-language model that is at hand.
  func visionOverEngine() -> [Subject] {
    ["smolvlm", "qwen2vl"].compactMap { variant in
      let folder = fixtures.appendingPathComponent("Models/\(variant)")
      let files = (main: folder.appendingPathComponent("model.gguf"), projector: folder.appendingPathComponent("mmproj.gguf"))
      guard FileManager.default.fileExists(atPath: files.main.path), FileManager.default.fileExists(atPath: files.projector.path)
      else { return nil }
      let (backend, makeBackend) = (backend, makeBackend)
      return Subject(
        name: "RunAnywhere", version: Self.version,
        surroundings: .surface(
          VisionSurroundings(world: .engine, foundation: "\(backend.kind.rawValue) with \(variant)", files: files) { _, store in
            let registry = ModelRegistry(folder: store, policy: DownloadPolicy(waitsForDisk: false))
            return RunAnywhereVisionImplementation(
              session: VLMSession(backend: try await makeBackend(backend), registry: registry), registry: registry)
          }))
    }
  }

  /// The models of `RunAnywhere` over a server that follows a script.
  static var scriptedRegistry: Subject {
    Subject(
      name: "RunAnywhere", version: version,
      surroundings: .surface(
        RegistrySurroundings { setup in
          guard setup.isInitialized else { return RunAnywhereRegistryImplementation(models: ModelLibrary(registry: nil)) }
          var policy = DownloadPolicy(waitsForDisk: false, wait: setup.wait)
          if let free = setup.freeBytes { policy.freeBytes = { _ in free } }
          return RunAnywhereRegistryImplementation(
            models: ModelLibrary(registry: ModelRegistry(folder: setup.folder, policy: policy)))
        }))
  }
}
