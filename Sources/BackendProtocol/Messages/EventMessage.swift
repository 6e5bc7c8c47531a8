package import GenBackend

/// Something that happens while a request runs.
package enum EventMessage: Sendable {
  /// A stage begins or ends.
  package struct Stage: Sendable, Codable {
    /// Which of the two.
    package enum Phase: String, Sendable, Codable {
      case begin, end
    }

    package var stage: String
    package var phase: Phase
    package var index: Int?
    package var timeNs: UInt64

    package init(stage: String, phase: Phase, index: Int?, timeNs: UInt64) {
      self.stage = stage
      self.phase = phase
      self.index = index
      self.timeNs = timeNs
    }

    private enum CodingKeys: String, CodingKey {
      case stage, phase, index
      case timeNs = "time_ns"
    }
  }

  /// A denoising step is complete.
  package struct Progress: Sendable, Codable {
    package var step: Int
    package var total: Int
    package var timeNs: UInt64

    package init(step: Int, total: Int, timeNs: UInt64) {
      self.step = step
      self.total = total
      self.timeNs = timeNs
    }

    private enum CodingKeys: String, CodingKey {
      case step, total
      case timeNs = "time_ns"
    }
  }

  /// An intermediate image.
  package struct Preview: Sendable, Codable {
    package var step: Int
    package var image: TensorReference
    package var safety: String

    package init(step: Int, image: TensorReference, safety: String) {
      self.step = step
      self.image = image
      self.safety = safety
    }
  }

  /// A token was made.
  package struct Token: Sendable, Codable {
    package var token: Int
    package var text: String
    package var timeNs: UInt64

    package init(token: Int, text: String, timeNs: UInt64) {
      self.token = token
      self.text = text
      self.timeNs = timeNs
    }

    private enum CodingKeys: String, CodingKey {
      case token, text
      case timeNs = "time_ns"
    }
  }

  /// What the engine holds now.
  package struct Memory: Sendable, Codable {
    package var residentBytes: UInt64?
    package var deviceBytes: UInt64?
    package var timeNs: UInt64

    package init(residentBytes: UInt64?, deviceBytes: UInt64?, timeNs: UInt64) {
      self.residentBytes = residentBytes
      self.deviceBytes = deviceBytes
      self.timeNs = timeNs
    }

    private enum CodingKeys: String, CodingKey {
      case residentBytes = "resident_bytes"
      case deviceBytes = "device_bytes"
      case timeNs = "time_ns"
    }
  }

  /// Something that a user should know.
  package struct Warning: Sendable, Codable {
    package var message: String

    package init(message: String) { self.message = message }
  }

  case stage(Stage)
  case progress(Progress)
  case preview(Preview)
  case token(Token)
  case memory(Memory)
  case warning(Warning)

  /// The `type` of the line.
  package var type: String {
    switch self {
    case .stage: "stage"
    case .progress: "progress"
    case .preview: "preview"
    case .token: "token"
    case .memory: "memory"
    case .warning: "warning"
    }
  }

  /// All types.
  package static let types = ["stage", "progress", "preview", "token", "memory", "warning"]

  /// Reads the keys of a type; nil when there's no such event.
  init?(type: String, from decoder: any Decoder) throws {
    switch type {
    case "stage": self = .stage(try Stage(from: decoder))
    case "progress": self = .progress(try Progress(from: decoder))
    case "preview": self = .preview(try Preview(from: decoder))
    case "token": self = .token(try Token(from: decoder))
    case "memory": self = .memory(try Memory(from: decoder))
    case "warning": self = .warning(try Warning(from: decoder))
    default: return nil
    }
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .stage(let event): try event.encode(to: encoder)
    case .progress(let event): try event.encode(to: encoder)
    case .preview(let event): try event.encode(to: encoder)
    case .token(let event): try event.encode(to: encoder)
    case .memory(let event): try event.encode(to: encoder)
    case .warning(let event): try event.encode(to: encoder)
    }
  }
}

extension EventMessage {
  /// The message of a backend's event; nil for a preview that can't be written.
  package init?(_ event: GenerationEvent, folder: ExchangeFolder) {
    switch event {
    case .began(let stage, let index, let timeNs):
      self = .stage(Stage(stage: stage.rawValue, phase: .begin, index: index, timeNs: timeNs))
    case .ended(let stage, let index, let timeNs):
      self = .stage(Stage(stage: stage.rawValue, phase: .end, index: index, timeNs: timeNs))
    case .progress(let step, let total, let timeNs): self = .progress(Progress(step: step, total: total, timeNs: timeNs))
    case .preview(let step, let image, let safety):
      guard let reference = try? folder.write(image, as: "preview") else { return nil }
      self = .preview(Preview(step: step, image: reference, safety: safety.rawValue))
    case .token(let id, let text, let timeNs): self = .token(Token(token: id, text: text, timeNs: timeNs))
    case .warning(let text): self = .warning(Warning(message: text))
    }
  }
}
