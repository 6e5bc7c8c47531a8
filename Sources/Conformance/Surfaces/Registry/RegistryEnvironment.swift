public import Foundation
import Synchronization

extension RegistrySurface {
  /// An SDK's store of models.
  public typealias Implementation = RegistryImplementation
  /// Nothing stands below: what it downloads from is a ``ScriptedModelServer`` beside it.
  public typealias TestDouble = Never

  /// How an implementation is made for a check.
  public struct Setup: Sendable {
    /// Where it keeps everything; the same for an implementation that is started anew.
    public var folder: URL
    /// Bytes that it's to believe are free; nil for what there is.
    public var freeBytes: Int?
    /// Whether the SDK is initialised.
    public var isInitialized = true
    /// What it's to wait by before it tries again, in seconds.
    public var wait: @Sendable (Double) async throws -> Void
    let server: any ScriptedModelServer
    let waits: WaitLog
  }

  /// What stands beside an implementation.
  public struct Facts: Sendable {
    /// Starts a server.
    public var startServer: @Sendable () throws -> any ScriptedModelServer
    /// Makes a zip archive; names are taken as they are.
    public var zip: @Sendable ([(name: String, content: Data)]) -> Data
    /// Makes facts.
    public init(
      startServer: @escaping @Sendable () throws -> any ScriptedModelServer,
      zip: @escaping @Sendable ([(name: String, content: Data)]) -> Data
    ) {
      self.startServer = startServer
      self.zip = zip
    }
  }

  /// The seconds that an implementation waited before it tried again.
  final class WaitLog: Sendable {
    private let list = Mutex<[Double]>([])
    var all: [Double] { list.withLock { $0 } }
    func add(_ seconds: Double) { list.withLock { $0.append(seconds) } }
  }
}

/// An HTTP server that hands out made-up files, and misbehaves on demand.
public protocol ScriptedModelServer: AnyObject, Sendable {
  /// All that was asked.
  var requests: [ServerRequest] { get }
  /// Puts a file at a path, in place of one that's there.
  func put(_ path: String, _ resource: ServedFile)
  /// The address of a path.
  func url(_ path: String) -> URL
  /// How often a path was asked for by `GET`.
  func count(_ path: String) -> Int
  /// Ends it; whatever is being sent is cut off.
  func stop()
}
