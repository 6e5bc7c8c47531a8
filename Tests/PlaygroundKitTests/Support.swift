import Conformance
import ConformanceDoubles
import Foundation
import GenBackend
import PlaygroundKit
import Synchronization
import Tensors

/// A system over an engine that follows a script.
func scriptedSystem(
  _ script: Script = Script(), environment: PlaygroundEnvironment = PlaygroundEnvironment(),
  externalProvider: (any ExternalImageProvider)? = nil, safety: LoadRequest.SafetyPolicy = .off,
  _ change: (inout ImagePlaygroundSystem.Settings) -> Void = { _ in }
) async throws -> (ImagePlaygroundSystem, ScriptedBackend) {
  let backend = ScriptedBackend(script: script)
  let model = try await backend.load(LoadRequest(path: "scripted:/sd15", safety: safety), control: GenerationControl())
  var settings = ImagePlaygroundSystem.Settings()
  settings.steps = 4
  settings.seed = 7
  change(&settings)
  let system = ImagePlaygroundSystem(
    backend: backend, model: model, environment: environment, externalProvider: externalProvider, settings: settings)
  return (system, backend)
}

/// A picture of one colour.
func plain(_ width: Int, _ height: Int, _ color: [UInt8] = [127, 127, 127]) -> Bitmap {
  Bitmap(width: width, height: height, samples: (0..<(width * height)).flatMap { _ in color })
}

extension Bitmap {
  /// The samples of a pixel.
  func pixel(_ x: Int, _ y: Int) -> [UInt8] { Array(samples[((y * width + x) * channels)..<((y * width + x + 1) * channels)]) }
}

/// A value that several threads change.
final class Locked<Value: Sendable>: Sendable {
  private let content: Mutex<Value>
  init(_ value: Value) { content = Mutex(value) }
  var value: Value { content.withLock { $0 } }
  func change(_ body: @Sendable (inout Value) -> Void) { content.withLock { body(&$0) } }
}
