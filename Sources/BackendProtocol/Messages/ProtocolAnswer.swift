/// What the child says: one line, an event or the reply of a request.
package struct ProtocolAnswer: Sendable {
  /// The kinds of answer, with their keys.
  package enum Body: Sendable {
    case welcome(WelcomeReply)
    case clock(ClockReply)
    case loaded(LoadedReply)
    case images(ImagesReply)
    case text(TextReply)
    case operationResult(OperationReply)
    case ok
    case error(ErrorReply)
    case event(EventMessage)

    /// The `type` of the line.
    package var type: String {
      switch self {
      case .welcome: "welcome"
      case .clock: "clock"
      case .loaded: "loaded"
      case .images: "images"
      case .text: "text"
      case .operationResult: "op_result"
      case .ok: "ok"
      case .error: "error"
      case .event(let event): event.type
      }
    }

    /// All types of replies; the others are events.
    package static let replyTypes = ["welcome", "clock", "loaded", "images", "text", "op_result", "ok", "error"]
  }

  /// The request that is answered; nil for an error about a line that couldn't be read.
  package var id: Int?
  package var body: Body

  package init(id: Int?, _ body: Body) {
    self.id = id
    self.body = body
  }
}

extension ProtocolAnswer: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: HeaderKeys.self)
    let type = try container.decode(String.self, forKey: .type)
    // Only an error may be about no request.
    id = type == "error" ? try container.decodeIfPresent(Int.self, forKey: .id) : try container.decode(Int.self, forKey: .id)
    switch type {
    case "welcome": body = .welcome(try WelcomeReply(from: decoder))
    case "clock": body = .clock(try ClockReply(from: decoder))
    case "loaded": body = .loaded(try LoadedReply(from: decoder))
    case "images": body = .images(try ImagesReply(from: decoder))
    case "text": body = .text(try TextReply(from: decoder))
    case "op_result": body = .operationResult(try OperationReply(from: decoder))
    case "ok": body = .ok
    case "error": body = .error(try ErrorReply(from: decoder))
    default:
      guard let event = try EventMessage(type: type, from: decoder) else {
        throw DecodingError.dataCorruptedError(
          forKey: .type, in: container,
          debugDescription: "unknown answer '\(type)', expected one of "
            + (Body.replyTypes + EventMessage.types).joined(separator: ", "))
      }
      body = .event(event)
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: HeaderKeys.self)
    try container.encode(body.type, forKey: .type)
    try container.encode(id, forKey: .id)
    switch body {
    case .welcome(let message): try message.encode(to: encoder)
    case .clock(let message): try message.encode(to: encoder)
    case .loaded(let message): try message.encode(to: encoder)
    case .images(let message): try message.encode(to: encoder)
    case .text(let message): try message.encode(to: encoder)
    case .operationResult(let message): try message.encode(to: encoder)
    case .error(let message): try message.encode(to: encoder)
    case .event(let message): try message.encode(to: encoder)
    case .ok: break
    }
  }
}
