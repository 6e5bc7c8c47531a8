/// What the client asks for: one line.
package struct ProtocolRequest: Sendable {
  /// The kinds of request, with their keys.
  package enum Body: Sendable {
    case hello(HelloRequest)
    case clock
    case load(LoadMessage)
    case generateImages(ImageMessage)
    case generateText(TextMessage)
    case operation(OperationMessage)
    case cancel(CancelMessage)
    case unload(UnloadMessage)
    case bye

    /// The `type` of the line.
    package var type: String {
      switch self {
      case .hello: "hello"
      case .clock: "clock"
      case .load: "load"
      case .generateImages: "generate_images"
      case .generateText: "generate_text"
      case .operation: "op"
      case .cancel: "cancel"
      case .unload: "unload"
      case .bye: "bye"
      }
    }

    /// All types.
    package static let types = [
      "hello", "clock", "load", "generate_images", "generate_text", "op", "cancel", "unload", "bye",
    ]
  }

  package var id: Int
  package var body: Body

  package init(id: Int, _ body: Body) {
    self.id = id
    self.body = body
  }
}

/// The keys that every line has.
enum HeaderKeys: String, CodingKey {
  case type, id
}

extension ProtocolRequest: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: HeaderKeys.self)
    id = try container.decode(Int.self, forKey: .id)
    let type = try container.decode(String.self, forKey: .type)
    switch type {
    case "hello": body = .hello(try HelloRequest(from: decoder))
    case "clock": body = .clock
    case "load": body = .load(try LoadMessage(from: decoder))
    case "generate_images": body = .generateImages(try ImageMessage(from: decoder))
    case "generate_text": body = .generateText(try TextMessage(from: decoder))
    case "op": body = .operation(try OperationMessage(from: decoder))
    case "cancel": body = .cancel(try CancelMessage(from: decoder))
    case "unload": body = .unload(try UnloadMessage(from: decoder))
    case "bye": body = .bye
    default:
      throw DecodingError.dataCorruptedError(
        forKey: .type, in: container,
        debugDescription: "unknown request '\(type)', expected one of \(Body.types.joined(separator: ", "))")
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: HeaderKeys.self)
    try container.encode(body.type, forKey: .type)
    try container.encode(id, forKey: .id)
    switch body {
    case .hello(let message): try message.encode(to: encoder)
    case .load(let message): try message.encode(to: encoder)
    case .generateImages(let message): try message.encode(to: encoder)
    case .generateText(let message): try message.encode(to: encoder)
    case .operation(let message): try message.encode(to: encoder)
    case .cancel(let message): try message.encode(to: encoder)
    case .unload(let message): try message.encode(to: encoder)
    case .clock, .bye: break
    }
  }
}
