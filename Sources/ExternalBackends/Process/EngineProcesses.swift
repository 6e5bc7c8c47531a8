import Synchronization

/// The children of a program, so that all of them can be ended before it ends.
public final class EngineProcesses: Sendable {
  private let connections = Mutex<[ProcessConnection]>([])

  /// Makes an empty set.
  public init() {}

  func add(_ connection: ProcessConnection) {
    connections.withLock { connections in
      connections.removeAll { $0.isFinished }
      connections.append(connection)
    }
  }

  /// Ends all of them: with `bye`, and by force those that don't go.
  public func close() async {
    let all = connections.withLock { connections in
      defer { connections = [] }
      return connections
    }
    for connection in all { connection.closeSoon() }
    for connection in all { await connection.close() }
  }
}
