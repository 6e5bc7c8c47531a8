import Foundation
import Synchronization

/// A registry implementation over a folder and a server.
package typealias RegistryRig = Rig<RegistrySurface>

extension Rig where Surface == RegistrySurface {
  /// Makes a fresh implementation over an empty folder.
  static func make(
    _ context: CheckContext<RegistrySurface>, freeBytes: Int? = nil, isInitialized: Bool = true
  ) async throws -> RegistryRig {
    let (log, waits) = (context.log, RegistrySurface.WaitLog())
    let server = try context.facts.startServer()
    context.atEnd { server.stop() }
    return try await context.make(
      .init(
        folder: try context.temporaryFolder().appendingPathComponent("store"), freeBytes: freeBytes,
        isInitialized: isInitialized,
        wait: {
          waits.add($0)
          log.note("waits \($0) s")
        }, server: server, waits: waits))
  }

  /// An implementation over the same folder, as after a restart.
  func restarted() async throws -> RegistryRig { try await context.make(setup) }

  /// The server.
  var server: any ScriptedModelServer { setup.server }
  /// The check's folder.
  var folder: URL { setup.folder.deletingLastPathComponent() }
  /// The seconds that it waited before trying again.
  var waits: RegistrySurface.WaitLog { setup.waits }

  // MARK: - Models

  /// Bytes that look like no other's.
  static func content(_ count: Int, seed: UInt64 = 1) -> Data {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    var data = Data(capacity: count)
    for _ in 0..<count {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      data.append(UInt8(truncatingIfNeeded: state >> 56))
    }
    return data
  }

  /// Puts a file on the server, and gives what registers it.
  @discardableResult func put(
    _ name: String, _ content: Data, faults: [ServerFault] = [], tellsLength: Bool = true
  ) -> RegistrySurface.File {
    var resource = ServedFile(content)
    resource.faults = faults
    resource.tellsLength = tellsLength
    server.put("/" + name, resource)
    return file(name)
  }

  /// What registers a file that the server may not have.
  func file(_ name: String) -> RegistrySurface.File {
    RegistrySurface.File(url: server.url("/" + name).absoluteString, name: name)
  }

  /// The main file and the projector of a model, as `a.gguf` and `b.gguf`.
  func pair(_ first: Int = 3000, _ second: Int = 2000) -> [RegistrySurface.File] {
    [
      put("a.gguf", Data("GGUF".utf8) + Self.content(first - 4)),
      put("b.gguf", Data("GGUF".utf8) + Self.content(second - 4, seed: 2)),
    ]
  }

  func register(_ registration: RegistrySurface.Registration) async throws {
    if let failure = await failure({ try await implementation.register(registration) }) {
      throw CheckFailure(expected: "registering '\(registration.id)' succeeds", seen: failure.description)
    }
  }

  /// A registered model; nil when it isn't listed.
  func listed(_ id: String) async throws -> RegistrySurface.Model? {
    do { return try await implementation.available().first { $0.id == id } } catch {
      throw CheckFailure(expected: "the list of models", seen: implementation.failure(error).description)
    }
  }

  /// A registered model; fails when it isn't listed.
  func model(_ id: String) async throws -> RegistrySurface.Model {
    guard let model = try await listed(id) else { throw CheckFailure(expected: "'\(id)' listed", seen: "it isn't") }
    return model
  }

  // MARK: - Downloads

  /// How a download went.
  struct Download: Sendable {
    var fractions: [Double]
    var failure: SDKFailure?
  }

  /// A download at work.
  final class Handle: Sendable {
    private let list = Mutex<[Double]>([])
    private let task = Mutex<Task<SDKFailure?, Never>?>(nil)
    private let timeout: Duration

    init(_ implementation: RegistryImplementation, _ id: String, _ context: CheckContext<RegistrySurface>) {
      timeout = context.timeout
      let log = context.log
      log.note("call: download '\(id)'")
      let made = Task { [self] () -> SDKFailure? in
        do {
          try await implementation.download(id) { fraction in self.list.withLock { $0.append(fraction) } }
          log.note("call: download returns")
          return nil
        } catch {
          log.note("call: download throws \(error)")
          return implementation.failure(error)
        }
      }
      task.withLock { $0 = made }
    }

    var fractions: [Double] { list.withLock { $0 } }
    func cancelTask() { task.withLock { $0 }?.cancel() }

    func value() async throws -> Download {
      let made = task.withLock { $0 }
      let failure = try await Timeout.within(timeout, "the download ends") { await made?.value }
      return Download(fractions: fractions, failure: failure)
    }
  }

  func start(_ id: String) -> Handle { Handle(implementation, id, context) }

  func download(_ id: String) async throws -> Download { try await start(id).value() }

  /// Downloads; fails when that fails.
  @discardableResult func fetch(_ id: String) async throws -> RegistrySurface.Model {
    let download = try await download(id)
    if let failure = download.failure {
      throw CheckFailure(expected: "the download of '\(id)' succeeds", seen: failure.description)
    }
    return try await model(id)
  }

  /// Waits until a server's answer waits.
  func arrived(_ gate: Gate) async throws {
    _ = try await within("the transfer begins") { await gate.arrival() }
  }

  /// The events of a download, to the end.
  func events(_ stream: AsyncStream<RegistrySurface.Event>) async throws -> [RegistrySurface.Event] {
    try await within("the events end") {
      var list: [RegistrySurface.Event] = []
      for await event in stream { list.append(event) }
      return list
    }
  }

  /// The files below the check's folder whose content is `content`.
  func copies(of content: Data) -> [String] {
    let walker = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    return (walker?.compactMap { $0 as? URL } ?? []).filter { (try? Data(contentsOf: $0)) == content }.map(\.lastPathComponent)
  }
}
