import Foundation
import GenBackend
import Imaging
import Synchronization
import Tensors

/// A vision implementation with what stands around it, made anew for a check.
struct VisionRig: Sendable {
  let implementation: any VisionImplementation
  /// The engine, when it's a scripted one.
  let engine: ScriptedVisionEngine?
  let context: CheckContext
  private let files: (main: URL, projector: URL)
  private let folder: URL

  /// Makes a fresh implementation without a model.
  static func make(_ context: CheckContext) async throws -> VisionRig {
    let surroundings = try context.surroundings(as: VisionSurroundings.self)
    let folder = try context.temporaryFolder()
    let engine = surroundings.world == .scripted ? ScriptedVisionEngine(log: context.log) : nil
    let implementation = try await surroundings.make(engine, folder.appendingPathComponent("store"))
    var files = surroundings.files ?? (folder.appendingPathComponent("model.gguf"), folder.appendingPathComponent("mmproj.gguf"))
    if surroundings.files == nil {
      try ScriptedVisionEngine.mainFile.write(to: files.main)
      try ScriptedVisionEngine.projectorFile.write(to: files.projector)
    } else {
      files = (files.main.resolvingSymlinksInPath(), files.projector.resolvingSymlinksInPath())
    }
    context.atEnd {
      engine?.openAllGates()
      await implementation.cancel()
      try? await implementation.unload()
    }
    return VisionRig(implementation: implementation, engine: engine, context: context, files: files, folder: folder)
  }

  /// Makes an implementation with a model.
  static func loaded(_ context: CheckContext) async throws -> VisionRig {
    let rig = try await make(context)
    try await rig.load(rig.model())
    return rig
  }

  /// The scripted engine; the check is skipped without one.
  func scripted() throws -> ScriptedVisionEngine {
    guard let engine else { throw CheckSkip("needs a scripted engine") }
    return engine
  }

  func need(_ capability: VisionSurface.Capability) throws {
    guard implementation.capabilities.contains(capability) else {
      throw CheckSkip("the implementation has no \(capability.rawValue)")
    }
  }

  /// Runs something that must not hang.
  func within<Value: Sendable>(_ expected: String, _ operation: @escaping @Sendable () async throws -> Value) async throws
    -> Value
  {
    try await Patience.within(context.patience, expected, operation)
  }

  /// Waits until something is so, which it will be; the patience of the check is the last resort.
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
    try await context.succeed("a model that is in order loads", implementation) {
      try await implementation.register(model)
      try await implementation.download(model.id)
      try await implementation.load(model)
    }
  }

  /// What registering, downloading and loading ends with.
  func failureOfLoading(_ model: VisionSurface.Model) async -> Surface.Failure? {
    await failure {
      try await implementation.register(model)
      try await implementation.download(model.id)
      try await implementation.load(model)
    }
  }

  /// What something fails with; nil when it doesn't.
  func failure(_ body: () async throws -> Void) async -> Surface.Failure? {
    do {
      try await body()
      return nil
    } catch {
      return implementation.failure(of: error)
    }
  }

  /// Fails unless `failure` has one of the codes.
  func expect(_ failure: Surface.Failure?, _ codes: [Surface.Code], _ what: String) throws {
    let wanted = codes.map(\.description).joined(separator: " or ")
    guard let failure else { throw CheckFailure(expected: "\(what): error \(wanted)", seen: "success") }
    try context.expect(codes.contains(failure.code), "\(what): error \(wanted)", seen: failure.description)
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

  static func pixels(_ seed: Int, width: Int, height: Int) -> Data {
    Data(
      (0..<(width * height * 3)).map {
        UInt8(truncatingIfNeeded: ($0 / 3 % width) * 7 * seed + ($0 / 3 / width) * 11 + $0 % 3 * 40)
      })
  }

  // MARK: - Answers

  static let prompt = "what is in the picture"

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
    let gate = token.flatMap { engine?.pauseNextRun(beforeToken: $0) }
    return VisionRunHandle(
      implementation: implementation, image: image ?? picture(), prompt: prompt, maxTokens: maxTokens, options: options,
      gate: gate,
      leaveAfter: pieces, context: context)
  }
}

/// How an answer went.
struct VisionRecord: Sendable {
  var pieces: [String]
  /// What ended the stream, or the call that should have made one; nil for an ordinary end.
  var failure: Surface.Failure?
  /// Whether the call itself threw, so that there never was a stream.
  var isRefused: Bool
  var metrics: VisionSurface.Metrics?

  var joined: String { pieces.joined() }

  /// The text; fails the check when it didn't end well.
  func text(_ what: String = "the answer") throws -> String {
    if let failure { throw CheckFailure(expected: "\(what) succeeds", seen: failure.description) }
    return joined
  }
}

/// An answer at work.
final class VisionRunHandle: Sendable {
  private let task: Task<VisionRecord, Never>
  private let gate: Gate?
  private let context: CheckContext
  private let seen: PieceLog
  private let finished: Flag
  private let left: Flag

  /// The pieces that came.
  final class PieceLog: Sendable {
    private let list = Mutex<[String]>([])
    var all: [String] { list.withLock { $0 } }
    func add(_ piece: String) { list.withLock { $0.append(piece) } }
  }

  init(
    implementation: any VisionImplementation, image: VisionSurface.Image, prompt: String, maxTokens: Int,
    options: VisionSurface.Options, gate: Gate?, leaveAfter: Int?, context: CheckContext
  ) {
    let (seen, finished, left, log) = (PieceLog(), Flag(), Flag(), context.log)
    self.gate = gate
    self.context = context
    self.seen = seen
    self.finished = finished
    self.left = left
    log.note("call: process '\(prompt.prefix(30))', at most \(maxTokens) tokens")
    task = Task {
      var record = VisionRecord(pieces: [], failure: nil, isRefused: true, metrics: nil)
      do {
        let answer = try await implementation.process(image, prompt: prompt, maxTokens: maxTokens, options: options)
        record.isRefused = false
        do {
          try await Self.read(answer.stream, into: seen, leaveAfter: leaveAfter)
          left.set()
          log.note("stream: ends after \(seen.all.count) pieces")
        } catch {
          record.failure = implementation.failure(of: error)
          log.note("stream: throws \(error) after \(seen.all.count) pieces")
        }
        if implementation.capabilities.contains(.metrics) { record.metrics = await answer.metrics() }
      } catch {
        record.failure = implementation.failure(of: error)
        log.note("call: throws \(error)")
      }
      record.pieces = seen.all
      finished.set()
      gate?.abandon()
      return record
    }
  }

  private static func read(_ stream: some AsyncSequence<String, any Error>, into seen: PieceLog, leaveAfter: Int?) async throws {
    for try await piece in stream {
      seen.add(piece)
      if seen.all.count == leaveAfter { return }
    }
  }

  /// All pieces until now.
  var pieces: [String] { seen.all }

  /// Whether it has ended.
  var isFinished: Bool { finished.isSet }

  /// Whether the stream was read to its end, or to where it was left.
  var hasLeft: Bool { left.isSet }

  /// Waits until the engine waits; fails when it ended before.
  func arrived() async throws {
    guard let gate else { return }
    let hasArrived = try await Patience.within(context.patience, "the answer reaches its pause") { await gate.arrival() }
    if !hasArrived {
      let record = await task.value
      throw CheckFailure(
        expected: "the answer is being made", seen: "it ended early: \(record.failure?.description ?? "no error")")
    }
  }

  /// Lets the engine go on.
  func open() { gate?.open() }

  /// Cancels the task that reads.
  func cancelTask() { task.cancel() }

  /// Waits for the end.
  func value() async throws -> VisionRecord {
    let task = task
    return try await Patience.within(context.patience, "the answer ends") { await task.value }
  }

  /// Whether it ends by itself while everything else waits.
  func endsWithoutHelp() async -> Bool {
    await Patience.letOthersRun { isFinished }
    return isFinished
  }
}

extension CheckContext {
  /// Runs something that must succeed; fails the check with the SDK's own words otherwise.
  func succeed(_ what: String, _ implementation: any VisionImplementation, _ body: () async throws -> Void) async throws {
    do { try await body() } catch let failure as CheckFailure { throw failure } catch let skip as CheckSkip { throw skip } catch {
      throw CheckFailure(expected: what, seen: implementation.failure(of: error).description)
    }
  }
}
