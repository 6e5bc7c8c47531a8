import Checkpoints
public import Foundation
public import GenBackend
import Imaging
import Synchronization
public import Tensors

/// What the body of a check works with: fresh implementations, and a log of what happens.
public final class CheckContext: Sendable {
  /// The subject.
  public let subject: Subject
  /// What happened.
  public let log = EvidenceLog()
  /// How long something may hang before that's called a failure.
  public let patience: Duration
  /// The one race to run of those that checks run by seed; nil runs all.
  public let raceSeed: UInt64?
  private let mutant: Mutant?
  private let rigs = Mutex<[Rig]>([])
  private let noteList = Mutex<[String]>([])
  private let folders = Mutex<[ScratchFolder]>([])
  private let endings = Mutex<[@Sendable () async -> Void]>([])

  init(subject: Subject, mutant: Mutant? = nil, patience: Duration, raceSeed: UInt64? = nil) {
    self.subject = subject
    self.mutant = mutant
    self.patience = patience
    self.raceSeed = raceSeed
  }

  var notes: [String] { noteList.withLock { $0 } }

  /// Tells something that is worth knowing though the check passes.
  public func note(_ text: String) { noteList.withLock { $0.append(text) } }

  /// Makes a fresh implementation without a model.
  public func rig(_ script: Script = Script(), setup: EngineUnderTest.Setup = .init()) async throws -> Rig {
    let rig: Rig
    switch subject.surroundings {
    case .scripted(let make):
      let scripted = ScriptedBackend(script: script, log: log, unitOffset: setup.unit == nil ? 0 : 1)
      let implementation = make(scripted)
      rig = Rig(
        implementation: mutant?.wrap(implementation, scripted, setup) ?? implementation,
        backend: mutant?.wrapBackend(scripted, setup) ?? scripted, scripted: scripted, memory: scripted.memory, context: self)
    case .engine(let engine):
      let parts = try await engine.make(setup)
      rig = Rig(
        implementation: parts.implementation, backend: parts.backend, scripted: nil, memory: engine.memory, context: self)
    case .surface: throw CheckSkip("\(subject.name) has no diffusion API")
    }
    rigs.withLock { $0.append(rig) }
    return rig
  }

  /// Makes an implementation with a model.
  public func loaded(
    _ variant: Surface.Variant = .sd15, checksSafety: Bool = false, reducesMemory: Bool = false, script: Script = Script(),
    setup: EngineUnderTest.Setup = .init()
  ) async throws -> Rig {
    let rig = try await rig(script, setup: setup)
    try await rig.load(
      Surface.Configuration(variant: variant, checksSafety: checksSafety, reducesMemory: reducesMemory))
    return rig
  }

  /// The folder of a variant's model.
  public func modelPath(_ variant: Surface.Variant) throws -> String {
    switch subject.surroundings {
    case .scripted: return ScriptedModel.root + variant.rawValue
    case .engine(let engine):
      guard let path = engine.models[variant] else { throw CheckSkip("no model of \(variant.rawValue) is at hand") }
      return path
    case .surface: throw CheckSkip("\(subject.name) has no diffusion API")
    }
  }

  /// The size that a variant is asked for here.
  public func size(_ variant: Surface.Variant = .sd15) -> ImageSize {
    switch variant {
    case .sd15: ImageSize(width: 512, height: 512)
    case .sd20: ImageSize(width: 768, height: 768)
    case .sdxl: ImageSize(width: 1024, height: 1024)
    }
  }

  /// What a vision-language model says of a picture; over a script, what counting pixels says.
  ///
  /// - Throws: `CheckSkip` when no such model is at hand.
  func describe(_ picture: Bitmap) async throws -> String {
    guard case .engine(let engine) = subject.surroundings else { return PictureReader.read(picture).sentence }
    guard let describe = engine.describe else { throw CheckSkip("no vision-language model is at hand") }
    return try await describe(picture)
  }

  /// Options that every implementation should take: ten steps, seed 7 where seeds are known.
  public func options(_ prompt: String = "a red boat on a quiet lake", _ variant: Surface.Variant = .sd15) -> Surface.Options {
    var options = Surface.Options(prompt: prompt)
    (options.width, options.height) = (size(variant).width, size(variant).height)
    options.steps = 10
    options.guidanceScale = 7.5
    options.seed = 7
    return options
  }

  /// Those options, changed.
  public func options(_ change: (inout Surface.Options) -> Void) -> Surface.Options {
    var options = options()
    change(&options)
    return options
  }

  /// A folder that goes with the check.
  public func temporaryFolder() throws -> URL {
    let folder = try ScratchFolder("check")
    folders.withLock { $0.append(folder) }
    return folder.url
  }

  /// Does something when the check is over, however it ended; the last one first.
  public func atEnd(_ action: @escaping @Sendable () async -> Void) { endings.withLock { $0.append(action) } }

  /// Lets go of everything that may still wait, and of the implementations: they know the context, so it mustn't keep them.
  func finish() async {
    func taken<Element: Sendable>(_ list: borrowing Mutex<[Element]>) -> [Element] {
      list.withLock { list in
        defer { list = [] }
        return list
      }
    }
    for action in taken(endings).reversed() { await action() }
    let rigs = taken(rigs)
    for rig in rigs { rig.openAllGates() }
    for rig in rigs where rig.scripted == nil { try? await rig.implementation.unload() }
    _ = taken(folders)
  }

  // MARK: - Expectations

  /// Fails unless `condition` holds.
  public func expect(_ condition: Bool, _ expected: @autoclosure () -> String, seen: @autoclosure () -> String) throws {
    if !condition { throw CheckFailure(expected: expected(), seen: seen()) }
  }

  /// Fails unless both are equal.
  public func expectEqual<Value: Equatable>(_ actual: Value, _ wanted: Value, _ what: String) throws {
    if actual != wanted { throw CheckFailure(expected: "\(what) \(Self.shown(wanted))", seen: Self.shown(actual)) }
  }

  /// A value for people: what an optional holds, or `nothing`.
  static func shown<Value>(_ value: Value) -> String {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else { return "\(value)" }
    return mirror.children.first.map { shown($0.value) } ?? "nothing"
  }

  /// Fails unless `record` ended with one of the codes.
  @discardableResult
  public func expectFailure(_ record: RunRecord, _ codes: [Surface.Code], _ what: String) throws -> Surface.Failure {
    let wanted = codes.map(\.description).joined(separator: " or ")
    switch record.outcome {
    case .success: throw CheckFailure(expected: "\(what): error \(wanted)", seen: "success")
    case .failure(let failure):
      try expect(codes.contains(failure.code), "\(what): error \(wanted)", seen: failure.description)
      return failure
    }
  }

  /// Decodes an image; fails when it's neither PNG nor JPEG.
  public func decode(_ data: Data, _ what: String = "imageData") throws -> Bitmap {
    do {
      return try ImageFile.decode([UInt8](data), file: what)
    } catch {
      throw CheckFailure(expected: "\(what): a PNG or JPEG file", seen: "\(data.count) bytes: \(error.message)")
    }
  }
}

/// Collects the updates of one run, and may hold it up.
final class UpdateLog: Sendable {
  private struct State {
    var updates: [Surface.Update] = []
    var atWork = 0
    var mostAtWork = 0
    var mainThreadCalls = 0
  }
  private let state = Mutex(State())

  var updates: [Surface.Update] { state.withLock { $0.updates } }
  var mostAtWork: Int { state.withLock { $0.mostAtWork } }

  func enter(_ update: Surface.Update) -> Int {
    state.withLock { state in
      state.updates.append(update)
      state.atWork += 1
      state.mostAtWork = max(state.mostAtWork, state.atWork)
      return state.updates.count
    }
  }

  func leave() { state.withLock { $0.atWork -= 1 } }
}

/// How a run went.
public struct RunRecord: Sendable {
  /// All calls of the handler, up to the return.
  public var updates: [Surface.Update]
  /// What was returned or thrown.
  public var outcome: Swift.Result<Surface.Result, Surface.Failure>
  /// From the call to the return, in nanoseconds of the subject's clock.
  public var elapsedNs: UInt64
  /// The most handler calls that were at work at once.
  public var mostHandlersAtWork: Int

  /// The result; fails the check when there's none.
  public func result(_ what: String = "the generation") throws -> Surface.Result {
    switch outcome {
    case .success(let result): return result
    case .failure(let failure): throw CheckFailure(expected: "\(what) succeeds", seen: failure.description)
    }
  }
}
