package import Checkpoints
package import GenBackend

/// `hello`: who asks, what it speaks, where tensors are exchanged.
package struct HelloRequest: Sendable, Codable {
  /// A program and its version.
  package struct Program: Sendable, Codable {
    package var name: String
    package var version: String

    package init(name: String, version: String) {
      self.name = name
      self.version = version
    }
  }

  package var protocols: [String]
  package var client: Program
  /// An absolute path.
  package var exchange: String

  package init(protocols: [String] = [BackendProtocol.version], client: Program, exchange: String) {
    self.protocols = protocols
    self.client = client
    self.exchange = exchange
  }
}

/// `welcome`: what the engine is and can do.
package struct WelcomeReply: Sendable, Codable {
  package var version: String
  package var name: String
  package var `protocol`: String
  package var capabilities: [String]
  package var device: String?
  package var threads: Int?
  package var details: [String: String]?
  package var schedulers: [String]?
  package var ops: [String]?
  package var unavailable: [String: String]?

  package init(_ info: BackendInfo, operators: [String]) {
    name = info.name
    version = info.version
    `protocol` = BackendProtocol.version
    capabilities = info.capabilities.map(\.rawValue).sorted()
    var details = info.details
    device = details.removeValue(forKey: "device")
    threads = details["threads"].flatMap { Int($0) }
    if threads != nil { details["threads"] = nil }
    self.details = details.isEmpty ? nil : details
    ops = operators
  }

  /// The description as a backend's; capabilities of later protocols are left out.
  package var info: BackendInfo {
    var details = details ?? [:]
    details["device"] = device
    details["threads"] = threads.map(String.init) ?? details["threads"]
    return BackendInfo(
      name: name, version: version, capabilities: Set(capabilities.compactMap { Capability(rawValue: $0) }), details: details)
  }
}

/// `clock`: the child's monotonic clock.
package struct ClockReply: Sendable, Codable {
  package var timeNs: UInt64

  package init(timeNs: UInt64) { self.timeNs = timeNs }

  private enum CodingKeys: String, CodingKey {
    case timeNs = "time_ns"
  }
}

/// `cancel`: the request that is to stop.
package struct CancelMessage: Sendable, Codable {
  package var target: Int

  package init(target: Int) { self.target = target }
}

/// `unload`: the model that is to go.
package struct UnloadMessage: Sendable, Codable {
  package var model: String

  package init(model: String) { self.model = model }
}

/// `error`: why a request failed.
package struct ErrorReply: Sendable, Codable {
  package var code: String
  package var message: String

  package init(_ error: BackendError) {
    code = error.code.rawValue
    message = error.message
  }

  /// The error as a backend's; a code of a later protocol is told in the message.
  package var error: BackendError {
    guard let code = BackendError.Code(rawValue: code) else { return BackendError(.processingFailed, "\(self.code): \(message)") }
    return BackendError(code, message)
  }
}

/// `op`: one operator or block on given tensors.
package struct OperationMessage: Sendable, Codable {
  package var op: String
  package var attributes: JSONValue?
  /// A file of the exchange folder.
  package var inputs: String

  package init(op: String, attributes: JSONValue?, inputs: String) {
    self.op = op
    self.attributes = attributes
    self.inputs = inputs
  }
}

/// `op_result`: what it computed.
package struct OperationReply: Sendable, Codable {
  /// A file of the exchange folder.
  package var outputs: String
  package var elapsedNs: UInt64?

  package init(outputs: String, elapsedNs: UInt64?) {
    self.outputs = outputs
    self.elapsedNs = elapsedNs
  }

  private enum CodingKeys: String, CodingKey {
    case outputs
    case elapsedNs = "elapsed_ns"
  }
}
