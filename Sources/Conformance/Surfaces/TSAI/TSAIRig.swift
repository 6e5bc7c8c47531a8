import Dispatch

/// An implementation of TSAI with what stands around it.
package typealias TSAIRig = Rig<TSAISurface>

extension Rig where Surface == TSAISurface {
  typealias StylesLog = CompletionLog<[TSAISurface.Style], TSAISurface.Failure>
  typealias ImagesLog = CompletionLog<TSAISurface.Result, TSAISurface.Failure>

  // MARK: - Calls

  /// A thread to call from.
  enum Caller: String, CaseIterable {
    case main, background
  }

  /// Fetches the styles and waits for the completion.
  @discardableResult
  func fetch(from caller: Caller = .background) async throws -> StylesLog.Call {
    let log = try await startFetch(from: caller)
    return try await only(log, "the completion of the fetch")
  }

  /// Starts a fetch of the styles.
  func startFetch(from caller: Caller = .background) async throws -> StylesLog {
    let log = StylesLog("styles", context.log)
    context.log.note("call: fetchAvailableStyles")
    context.atEnd { log.close() }
    try await call(from: caller) { [implementation] in
      log.during { implementation.fetchAvailableStyles(log.block) }
    }
    return log
  }

  /// A task that was started.
  struct Started: Sendable {
    var taskId: String
    var log: ImagesLog
  }

  /// Starts a generation.
  func start(
    _ prompt: String = "a red boat", _ config: TSAISurface.Config? = nil, thenChanging changed: TSAISurface.Config? = nil,
    from caller: Caller = .background
  ) async throws -> Started {
    let log = ImagesLog("images of '\(prompt.prefix(20))'", context.log)
    let config = config ?? Self.config()
    context.atEnd { log.close() }
    let taskId = try await call(from: caller) { [implementation, context] in
      context.log.note("call: generateImages '\(prompt.prefix(20))'")
      return log.during {
        implementation.generateImages(prompt, config, changed, log.block)
      }
    }
    return Started(taskId: taskId, log: log)
  }

  /// Generates and waits for the completion.
  func generate(_ prompt: String = "a red boat", _ config: TSAISurface.Config? = nil) async throws -> ImagesLog.Call {
    try await only(try await start(prompt, config).log, "the completion of the generation")
  }

  /// Generates, and gives what was made; an error fails the check.
  func images(_ prompt: String = "a red boat", _ config: TSAISurface.Config? = nil) async throws -> TSAISurface.Result {
    let call = try await generate(prompt, config)
    guard let result = call.value, call.failure == nil else {
      throw CheckFailure(expected: "images", seen: call.failure.map { "\($0)" } ?? "neither images nor an error")
    }
    return result
  }

  /// Cancels a task.
  func cancel(_ taskId: String, from caller: Caller = .background) async throws {
    context.log.note("call: cancelImageGeneration")
    try await call(from: caller) { [implementation] in implementation.cancelImageGeneration(taskId) }
  }

  /// Calls from a thread; a call that doesn't return fails the check, and holds no thread of Swift's pool.
  func call<Value: Sendable>(from caller: Caller = .background, _ body: @escaping @Sendable () -> Value) async throws -> Value {
    try await Timeout.within(context.timeout, "the call returns, however slow the provider is") {
      switch caller {
      case .main: return await MainActor.run { body() }
      case .background:
        return await withCheckedContinuation { continuation in
          DispatchQueue.global().async { continuation.resume(returning: body()) }
        }
      }
    }
  }

  // MARK: - Waiting

  /// Waits for the first call of a completion.
  func first<Value, Failure>(_ log: CompletionLog<Value, Failure>, _ what: String) async throws
    -> CompletionLog<Value, Failure>.Call
  {
    try await Timeout.within(context.timeout, "\(what) runs") { await log.first() }
    guard let call = log.calls.first else { throw CheckFailure(expected: "\(what) runs", seen: "it doesn't") }
    return call
  }

  /// Waits for the first call of a completion, and for a second one that mustn't come.
  @discardableResult
  func only<Value, Failure>(_ log: CompletionLog<Value, Failure>, _ what: String) async throws
    -> CompletionLog<Value, Failure>.Call
  {
    let call = try await first(log, what)
    await settle()
    try context.expectEqual(log.calls.count, 1, "\(what): calls")
    try context.expect(call.isOnMain, "\(what): on the main thread", seen: "on another one")
    try context.expect(!call.isDuringCall, "\(what): later than the call", seen: "within it")
    try context.expect(
      (call.value == nil) != (call.failure == nil), "\(what): a value or an error",
      seen: call.value == nil ? "neither" : "both")
    return call
  }

  /// Waits until the service has seen something.
  func reaches(_ what: String, _ condition: @escaping @Sendable (any ScriptedTSAIProvider) -> Bool) async throws {
    let service = try testDouble
    try await Timeout.within(context.timeout, what) { await service.reaches(condition) }
    try context.expect(condition(service), what, seen: "it doesn't")
  }

  // MARK: - Values

  /// A small image, so that nothing takes time.
  static func config(_ change: (inout TSAISurface.Config) -> Void = { _ in }) -> TSAISurface.Config {
    var config = TSAISurface.Config(width: 64, height: 48)
    change(&config)
    return config
  }
}

extension CheckContext where Surface == TSAISurface {
  /// Makes a fresh implementation of TSAI.
  func tsai() async throws -> TSAIRig {
    let rig = try await make(.init())
    if let service = rig.scripted { atEnd { service.close() } }
    return rig
  }

  /// Fails unless a completion ended with an error of a code.
  func expectFailure(_ call: TSAIRig.ImagesLog.Call, _ code: TSAISurface.Code, _ what: String) throws {
    try expect(call.failure?.code == code, "\(what): error \(code)", seen: call.failure.map { "\($0)" } ?? "images")
  }

  /// Fails unless a completion ended with an error of a code.
  func expectFailure(_ call: TSAIRig.StylesLog.Call, _ code: TSAISurface.Code, _ what: String) throws {
    try expect(call.failure?.code == code, "\(what): error \(code)", seen: call.failure.map { "\($0)" } ?? "styles")
  }
}
