import Foundation
import GenBackend
import Synchronization
import Tensors

/// An implementation of image generation with what stands around it.
package typealias DiffusionRig = Rig<DiffusionSurface>

extension Rig where Surface == DiffusionSurface {
  /// Reads the engine's memory.
  package var memory: MemoryMeter? { scripted?.memory ?? context.facts.memory }

  /// The clock that durations are judged by.
  package var nowNs: UInt64 { clock() }

  private var clock: @Sendable () -> UInt64 {
    guard let scripted else { return { MonotonicTime.nanoseconds() } }
    return { scripted.nowNs }
  }

  // MARK: - Model

  /// Loads a variant's model; an error fails the check.
  package func load(_ configuration: DiffusionSurface.Configuration, path: String? = nil, id: String? = nil) async throws {
    if let failure = try await tryLoad(configuration, path: path, id: id) {
      throw CheckFailure(expected: "the model of \(configuration.variant.rawValue) loads", seen: failure.description)
    }
  }

  /// Loads a model and gives the error, if one was thrown.
  package func tryLoad(_ configuration: DiffusionSurface.Configuration, path: String? = nil, id: String? = nil) async throws
    -> SDKFailure?
  {
    let path = try path ?? context.modelPath(configuration.variant)
    context.log.note("call: load \(path) as \(id ?? configuration.variant.rawValue)")
    do {
      try await implementation.load(
        path, id ?? configuration.variant.rawValue, "Model \(configuration.variant.rawValue)", configuration)
      return nil
    } catch {
      let failure = implementation.failure(error)
      context.log.note("call: load throws \(failure)")
      return failure
    }
  }

  // MARK: - Images

  /// Generates to the end.
  ///
  /// - Parameter handler: Sees each update and its number from 1; false asks for the end.
  package func run(
    _ options: DiffusionSurface.Options, prompt: String? = nil,
    handler: @escaping @Sendable (DiffusionSurface.Update, Int) -> Bool = { _, _ in true }
  ) async throws -> RunRecord {
    let handle = start(options, prompt: prompt, handler: handler)
    return try await handle.value()
  }

  /// Generates, and gives the result; an error fails the check.
  package func image(_ options: DiffusionSurface.Options) async throws -> DiffusionSurface.Result {
    try await run(options).result()
  }

  /// Starts a generation.
  ///
  /// - Parameter pauseAfterUpdates: The engine then waits until ``RunHandle/open()``.
  package func start(
    _ options: DiffusionSurface.Options, prompt: String? = nil, pauseAfterUpdates: Int? = nil,
    handler: @escaping @Sendable (DiffusionSurface.Update, Int) -> Bool = { _, _ in true }
  ) -> RunHandle {
    var gate: Gate?
    var handler = handler
    if let count = pauseAfterUpdates {
      if let scripted {
        gate = scripted.pauseNextRun(afterSteps: count)
      } else {
        let own = Gate()
        let inner = handler
        handler = { update, number in
          let goesOn = inner(update, number)
          if number == count { own.passBlocking() }
          return goesOn
        }
        context.atEnd { own.open() }
        gate = own
      }
    }
    return RunHandle(
      implementation: implementation, options: options, prompt: prompt ?? options.prompt, gate: gate, context: context,
      nowNs: clock, handler: handler)
  }
}

extension CheckContext where Surface == DiffusionSurface {
  /// Makes a fresh implementation without a model.
  package func rig(_ script: Script = Script(), setup: DiffusionSurface.Setup = .init()) async throws -> DiffusionRig {
    var setup = setup
    setup.script = script
    let rig = try await make(setup)
    if let scripted = rig.scripted {
      atEnd { scripted.openAllGates() }
    } else {
      atEnd { [implementation = rig.implementation] in try? await implementation.unload() }
    }
    return rig
  }

  /// Makes an implementation with a model.
  package func loaded(
    _ variant: DiffusionSurface.Variant = .sd15, checksSafety: Bool = false, reducesMemory: Bool = false,
    script: Script = Script(), setup: DiffusionSurface.Setup = .init()
  ) async throws -> DiffusionRig {
    let rig = try await rig(script, setup: setup)
    try await rig.load(.init(variant: variant, checksSafety: checksSafety, reducesMemory: reducesMemory))
    return rig
  }

  /// The folder of a variant's model.
  package func modelPath(_ variant: DiffusionSurface.Variant) throws -> String {
    guard let path = facts.models[variant] else { throw CheckSkip("no model of \(variant.rawValue) is at hand") }
    return path
  }

  /// The size that a variant is asked for here.
  func size(_ variant: DiffusionSurface.Variant = .sd15) -> ImageSize {
    switch variant {
    case .sd15: ImageSize(width: 512, height: 512)
    case .sd20: ImageSize(width: 768, height: 768)
    case .sdxl: ImageSize(width: 1024, height: 1024)
    }
  }

  /// Options that every implementation should take: ten steps, seed 7 where seeds are known.
  package func options(_ prompt: String = "a red boat on a quiet lake", _ variant: DiffusionSurface.Variant = .sd15)
    -> DiffusionSurface.Options
  {
    var options = DiffusionSurface.Options(prompt: prompt)
    (options.width, options.height) = (size(variant).width, size(variant).height)
    options.steps = 10
    options.guidanceScale = 7.5
    options.seed = 7
    return options
  }

  /// Those options, changed.
  package func options(_ change: (inout DiffusionSurface.Options) -> Void) -> DiffusionSurface.Options {
    var options = options()
    change(&options)
    return options
  }
  /// Fails unless `record` ended with one of the codes.
  @discardableResult
  package func expectFailure(_ record: RunRecord, _ codes: [ErrorCode], _ what: String) throws -> SDKFailure {
    let wanted = codes.map(\.description).joined(separator: " or ")
    switch record.outcome {
    case .success: throw CheckFailure(expected: "\(what): error \(wanted)", seen: "success")
    case .failure(let failure):
      try expect(failure.code.map(codes.contains) ?? false, "\(what): error \(wanted)", seen: failure.description)
      return failure
    }
  }
}
