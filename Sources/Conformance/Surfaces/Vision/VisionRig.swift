package import Foundation
import GenBackend
import Synchronization

/// A vision implementation with what stands around it.
package typealias VisionRig = Rig<VisionSurface>

extension Rig where Surface == VisionSurface {
  /// Makes a fresh implementation without a model.
  static func make(_ context: CheckContext<VisionSurface>) async throws -> VisionRig {
    let rig = try await context.make(.init(folder: try context.temporaryFolder().appendingPathComponent("store")))
    if let files = rig.scripted?.files {
      try files.main.write(to: rig.files.main)
      try files.projector.write(to: rig.files.projector)
    }
    context.atEnd { [scripted = rig.scripted, implementation = rig.implementation] in
      scripted?.openAllGates()
      await implementation.cancel()
      try? await implementation.unload()
    }
    return rig
  }

  /// Makes an implementation with a model.
  static func loaded(_ context: CheckContext<VisionSurface>) async throws -> VisionRig {
    let rig = try await make(context)
    try await rig.load(rig.model())
    return rig
  }

  /// The check's folder.
  private var folder: URL { setup.folder.deletingLastPathComponent() }

  /// The files of a model that works.
  private var files: (main: URL, projector: URL) {
    guard let files = context.facts.files else {
      return (folder.appendingPathComponent("model.gguf"), folder.appendingPathComponent("mmproj.gguf"))
    }
    return (files.main.resolvingSymlinksInPath(), files.projector.resolvingSymlinksInPath())
  }

  /// Waits until something is so, which it will be; the timeout of the check is the last resort.
  func until(_ expected: String, _ condition: @escaping @Sendable () -> Bool) async throws {
    try await within(expected) { while !condition(), !Task.isCancelled { await Task.yield() } }
  }

  // MARK: - Models

  /// A model of two files that works.
  func model(_ id: String = "vlm") -> VisionSurface.Model {
    VisionSurface.Model(
      id: id,
      files: [
        VisionSurface.File(url: files.main, name: "model.gguf"), VisionSurface.File(url: files.projector, name: "mmproj.gguf"),
      ])
  }

  /// A file of some content.
  func file(_ name: String, _ content: Data) throws -> VisionSurface.File {
    let url = folder.appendingPathComponent("made-\(UUID().uuidString)-\(name)")
    try content.write(to: url)
    return VisionSurface.File(url: url, name: name)
  }

  /// Registers, downloads and loads.
  func load(_ model: VisionSurface.Model) async throws {
    try await must("loading a model that is in order") { implementation in
      try await implementation.register(model)
      try await implementation.download(model.id)
      try await implementation.load(model)
    }
  }

  /// What registering, downloading and loading ends with.
  func failureOfLoading(_ model: VisionSurface.Model) async -> SDKFailure? {
    await failure {
      try await implementation.register(model)
      try await implementation.download(model.id)
      try await implementation.load(model)
    }
  }

  // MARK: - Images

  /// An image of one colour.
  func solid(_ red: UInt8, _ green: UInt8, _ blue: UInt8, width: Int = 32, height: Int = 24) -> VisionSurface.Image {
    .rgb(Data((0..<(width * height)).flatMap { _ in [red, green, blue] }), width: width, height: height)
  }

  /// An image with something in it.
  func picture(_ seed: Int = 1, width: Int = 32, height: Int = 24) -> VisionSurface.Image {
    .rgb(Self.pixels(seed, width: width, height: height), width: width, height: height)
  }

  package static func pixels(_ seed: Int, width: Int, height: Int) -> Data {
    Data(
      (0..<(width * height * 3)).map {
        UInt8(truncatingIfNeeded: ($0 / 3 % width) * 7 * seed + ($0 / 3 / width) * 11 + $0 % 3 * 40)
      })
  }

  // MARK: - Answers

  static var prompt: String { "what is in the picture" }

  /// Makes an answer and waits for its end.
  func answer(
    _ image: VisionSurface.Image? = nil, _ prompt: String = VisionRig.prompt, maxTokens: Int = 64,
    options: VisionSurface.Options = .init()
  ) async throws -> VisionRecord {
    try await start(image, prompt, maxTokens: maxTokens, options: options).value()
  }

  /// Starts an answer, which may wait before a token.
  func start(
    _ image: VisionSurface.Image? = nil, _ prompt: String = VisionRig.prompt, maxTokens: Int = 64,
    options: VisionSurface.Options = .init(), pauseBefore token: Int? = nil, leaveAfter pieces: Int? = nil
  ) -> VisionRunHandle {
    let gate = token.flatMap { scripted?.pauseNextRun(beforeToken: $0) }
    return VisionRunHandle(
      implementation: implementation, image: image ?? picture(), prompt: prompt, maxTokens: maxTokens, options: options,
      gate: gate,
      leaveAfter: pieces, context: context)
  }
}
