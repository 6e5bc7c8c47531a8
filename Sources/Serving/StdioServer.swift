import BackendProtocol
import Checkpoints
import Foundation
public import GenBackend
import Synchronization
public import Tensors

/// Any backend, served as `genbench.backend/1` over two file descriptors.
///
/// Requests are read on a thread of their own, so that `cancel` and `clock` are heard while the engine works.
public final class StdioServer: Sendable {
  /// Why serving ended.
  public enum End: Sendable, Hashable {
    /// The client said `bye`.
    case bye
    /// The client closed its end.
    case closed
  }

  private struct Work {
    var id: Int
    var model: ModelID?
    var cancellation: CancellationToken
    var task: Task<Void, Never>?
  }

  private struct State {
    var exchange: ExchangeFolder?
    var lastID = Int.min
    var running: Work?
    /// Unloading, which runs beside.
    var others: [Task<Void, Never>] = []
  }

  private let backend: any GenBackend
  private let input: Int32
  private let output: AnswerWriter
  private let state = Mutex(State())

  /// Makes a server; the descriptors stay the caller's.
  public init(_ backend: any GenBackend, input: Int32, output: Int32) {
    self.backend = backend
    self.input = input
    self.output = AnswerWriter(output)
  }

  /// Serves until the client says `bye` or is gone; a running request is cancelled then and waited for.
  ///
  /// From now on the process ignores SIGPIPE: a client that's gone is an error of writing.
  ///
  /// - Parameter cancellation: Ends it as if the client were gone.
  public func run(cancellation: CancellationToken = CancellationToken()) async -> End {
    signal(SIGPIPE, SIG_IGN)
    let bye: Int? = await withCheckedContinuation { continuation in
      let thread = Thread { [self] in continuation.resume(returning: readAll(cancellation)) }
      thread.name = "requests"
      thread.stackSize = 4 << 20
      thread.start()
    }
    let (work, others) = state.withLock { ($0.running, $0.others) }
    work?.cancellation.cancel()
    await work?.task?.value
    for other in others { await other.value }
    await backend.close()
    if let bye { output.send(ProtocolAnswer(id: bye, .ok)) }
    return bye == nil ? .closed : .bye
  }

  // MARK: - Reading

  /// Handles lines until the last one; the id of `bye`, nil at the end of the input.
  private func readAll(_ cancellation: CancellationToken) -> Int? {
    var lines = LineBuffer()
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while !output.isBroken {
      do {
        while let line = try lines.next() {
          if let bye = take(line) { return bye }
        }
      } catch {
        refuse(nil, BackendError(.invalidInput, "a line is longer than \(BackendProtocol.longestLine) bytes"))
        continue
      }
      var descriptor = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
      while poll(&descriptor, 1, 100) <= 0 {
        if cancellation.isCancelled || output.isBroken { return nil }
      }
      let count = read(input, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return nil }
      lines.append(buffer[0..<count])
    }
    return nil
  }

  private func refuse(_ id: Int?, _ error: BackendError) { output.send(ProtocolAnswer(id: id, .error(ErrorReply(error)))) }

  /// Handles a line; the id of `bye`.
  private func take(_ line: Data) -> Int? {
    let header: MessageCoding.Header
    do { header = try MessageCoding.header(of: line) } catch {
      refuse(nil, error)
      return nil
    }
    guard let id = header.id, let type = header.type else {
      refuse(nil, BackendError(.invalidInput, "expected 'type', a string, and 'id', a whole number"))
      return nil
    }
    let lastID = state.withLock { state in
      defer { state.lastID = max(state.lastID, id) }
      return state.lastID
    }
    guard id > lastID else {
      refuse(id, BackendError(.invalidInput, "id: expected more than \(lastID), the last one, found \(id)"))
      return nil
    }
    guard ProtocolRequest.Body.types.contains(type) else {
      let known = ProtocolRequest.Body.types.joined(separator: ", ")
      refuse(id, BackendError(.notSupported, "there's no request '\(type)': expected one of \(known)"))
      return nil
    }
    do {
      let request = try MessageCoding.message(ProtocolRequest.self, line)
      if case .bye = request.body { return id }
      try handle(id, request.body)
    } catch {
      refuse(id, error)
    }
    return nil
  }

  private func handle(_ id: Int, _ body: ProtocolRequest.Body) throws(BackendError) {
    let exchange = state.withLock { $0.exchange }
    if case .hello(let hello) = body { return try greet(id, hello, isFirst: exchange == nil) }
    guard let exchange else {
      throw BackendError(.invalidInput, "'\(body.type)' came before 'hello', which is the first request")
    }
    switch body {
    case .clock: output.send(ProtocolAnswer(id: id, .clock(ClockReply(timeNs: MonotonicTime.nanoseconds()))))
    case .cancel(let message):
      state.withLock { if let running = $0.running, running.id == message.target { running.cancellation.cancel() } }
      output.send(ProtocolAnswer(id: id, .ok))
    case .unload(let message): unload(id, ModelID(message.model))
    case .load(let message):
      let request = try message.request()
      try work(id, model: nil, exchange) { [backend] control in
        .loaded(LoadedReply(try await backend.load(request, control: control)))
      }
    case .generateImages(let message):
      let request = try message.request(ExchangeReader(exchange, code: .invalidInput))
      try work(id, model: request.model, exchange) { [backend] control in
        .images(try ImagesReply(try await backend.generateImages(request, control: control), folder: exchange))
      }
    case .generateText(let message):
      let request = try message.request(ExchangeReader(exchange, code: .invalidInput))
      try work(id, model: request.model, exchange) { [backend] control in
        .text(TextReply(try await backend.generateText(request, control: control)))
      }
    case .operation(let message):
      guard let computer = backend as? any OperatorBackend else {
        throw BackendError(.notSupported, "op: the engine computes no single operators")
      }
      let inputs = try ExchangeReader(exchange, code: .invalidInput).tensors(message.inputs)
      let attributes = message.attributes?.text(indent: nil) ?? "{}"
      try work(id, model: nil, exchange) { _ in
        let result = try await computer.compute(message.op, attributes: attributes, inputs: inputs)
        return .operationResult(OperationReply(outputs: try exchange.write(result.outputs), elapsedNs: result.elapsedNs))
      }
    case .hello, .bye: break
    }
  }

  private func greet(_ id: Int, _ hello: HelloRequest, isFirst: Bool) throws(BackendError) {
    guard isFirst else { throw BackendError(.invalidInput, "'hello' came twice") }
    guard hello.protocols.contains(BackendProtocol.version) else {
      throw BackendError(
        .notSupported,
        "protocols: expected \(BackendProtocol.version) among them, found \(hello.protocols.joined(separator: ", "))")
    }
    let folder = try ExchangeFolder.open(hello.exchange)
    // Later requests wait for the greeting: it's the engine's own description.
    let answer = blocking { [backend] () -> ProtocolAnswer in
      do {
        let operators = try await (backend as? any OperatorBackend)?.operators ?? []
        return ProtocolAnswer(id: id, .welcome(WelcomeReply(try await backend.info, operators: operators)))
      } catch {
        return ProtocolAnswer(id: id, .error(ErrorReply(Self.translated(error))))
      }
    }
    if case .welcome = answer.body { state.withLock { $0.exchange = folder } }
    output.send(answer)
  }

  /// Runs async work on the thread of the requests, which waits.
  private func blocking<Result: Sendable>(_ work: @escaping @Sendable () async -> Result) -> Result {
    let done = DispatchSemaphore(value: 0)
    let result = Mutex<Result?>(nil)
    Task {
      let value = await work()
      result.withLock { $0 = value }
      done.signal()
    }
    while true {
      done.wait()
      if let value = result.withLock({ $0 }) { return value }
    }
  }

  private static func translated(_ error: any Error) -> BackendError {
    error as? BackendError ?? BackendError(.processingFailed, "\(error)")
  }

  // MARK: - Working

  private func work(
    _ id: Int, model: ModelID?, _ exchange: ExchangeFolder,
    _ body: @escaping @Sendable (GenerationControl) async throws -> ProtocolAnswer.Body
  ) throws(BackendError) {
    let cancellation = CancellationToken()
    let busy = state.withLock { state -> Int? in
      if let running = state.running { return running.id }
      state.running = Work(id: id, model: model, cancellation: cancellation)
      return nil
    }
    if let busy { throw BackendError(.busy, "request \(busy) is running; wait for it or cancel it") }
    let control = GenerationControl(cancellation: cancellation) { [output] event in
      if let event = EventMessage(event, folder: exchange) { output.send(ProtocolAnswer(id: id, .event(event))) }
    }
    let task = Task { [self] in
      let reply: ProtocolAnswer.Body
      do { reply = try await body(control) } catch { reply = .error(ErrorReply(Self.translated(error))) }
      // The next request may come as soon as the reply is seen.
      state.withLock { if $0.running?.id == id { $0.running = nil } }
      output.send(ProtocolAnswer(id: id, reply))
    }
    state.withLock { if $0.running?.id == id { $0.running?.task = task } }
  }

  private func unload(_ id: Int, _ model: ModelID) {
    let running = state.withLock { state -> Work? in
      guard let running = state.running, running.model == model else { return nil }
      running.cancellation.cancel()
      return running
    }
    let task = Task { [backend, output] in
      await running?.task?.value
      await backend.unload(model)
      output.send(ProtocolAnswer(id: id, .ok))
    }
    state.withLock { $0.others.append(task) }
  }
}
