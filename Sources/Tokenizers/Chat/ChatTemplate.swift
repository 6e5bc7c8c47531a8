/// How a conversation becomes the text that a chat model was trained on, as transformers renders the model's template.
public enum ChatTemplate: Sendable, Hashable {
  /// SmolVLM and Idefics3: `<|im_start|>` once, then `User: …<end_of_utterance>`.
  case smolVLM
  /// Qwen2-VL: ChatML with a default system prompt and `<|vision_start|><|image_pad|><|vision_end|>` for an image.
  case qwen2VL
  /// ChatML for text: every turn between `<|im_start|>` and `<|im_end|>`; the system prompt is used when the first turn isn't one.
  case chatML(defaultSystemPrompt: String?)

  /// SmolLM2's instruction models.
  public static let smolLM2 = chatML(
    defaultSystemPrompt: "You are a helpful AI assistant named SmolLM, trained by Hugging Face")

  /// Tells the family of a Jinja template, such as a GGUF's `tokenizer.chat_template`.
  ///
  /// The template itself isn't run; what counts is which markers it writes and its default system prompt.
  ///
  /// - Returns: nil for a template of another family.
  public init?(jinja template: String) {
    if template.contains("<end_of_utterance>") {
      self = .smolVLM
    } else if template.contains("<|vision_start|>") {
      self = .qwen2VL
    } else if template.contains("<|im_start|>"), template.contains("<|im_end|>") {
      self = .chatML(defaultSystemPrompt: Self.defaultSystemPrompt(in: template))
    } else {
      return nil
    }
  }

  /// The marker that stands for an image in a rendered text; nil where the model takes no images.
  public var imageMarker: String? {
    switch self {
    case .smolVLM: "<image>"
    case .qwen2VL: "<|vision_start|><|image_pad|><|vision_end|>"
    case .chatML: nil
    }
  }

  /// The text of a conversation.
  ///
  /// - Parameter addsGenerationPrompt: Ends with the beginning of the assistant's turn.
  /// - Throws: ``TokenizerError`` when there is an image and the model takes none.
  public func render(_ messages: [ChatMessage], addsGenerationPrompt: Bool = true) throws -> String {
    switch self {
    case .smolVLM: return try renderSmolVLM(messages, addsGenerationPrompt)
    case .qwen2VL:
      return try renderChatML(messages, addsGenerationPrompt, defaultSystemPrompt: "You are a helpful assistant.")
    case .chatML(let defaultSystemPrompt):
      return try renderChatML(messages, addsGenerationPrompt, defaultSystemPrompt: defaultSystemPrompt)
    }
  }

  private func renderSmolVLM(_ messages: [ChatMessage], _ addsGenerationPrompt: Bool) throws -> String {
    var text = "<|im_start|>"
    for message in messages {
      let name =
        switch message.role {
        case .system: "System"
        case .user: "User"
        case .assistant: "Assistant"
        }
      text += name + (message.parts.first == .image ? ":" : ": ") + (try content(of: message)) + "<end_of_utterance>\n"
    }
    return addsGenerationPrompt ? text + "Assistant:" : text
  }

  private func renderChatML(_ messages: [ChatMessage], _ addsGenerationPrompt: Bool, defaultSystemPrompt: String?) throws
    -> String
  {
    var text = ""
    if let defaultSystemPrompt, let first = messages.first, first.role != .system {
      text += "<|im_start|>system\n\(defaultSystemPrompt)<|im_end|>\n"
    }
    for message in messages {
      text += "<|im_start|>\(message.role.rawValue)\n\(try content(of: message))<|im_end|>\n"
    }
    return addsGenerationPrompt ? text + "<|im_start|>assistant\n" : text
  }

  private func content(of message: ChatMessage) throws -> String {
    try message.parts.map { part in
      switch part {
      case .text(let text): return text
      case .image:
        guard let imageMarker else {
          throw TokenizerError(
            .unsupported, source: "chat message", "image: expected text only, found an image; a text model can't see it")
        }
        return imageMarker
      }
    }.joined()
  }

  /// The text between the system marker and the next end marker, where the template writes it out.
  private static func defaultSystemPrompt(in template: String) -> String? {
    for lineEnd in ["\n", "\\n"] {
      guard let start = template.range(of: "<|im_start|>system" + lineEnd)?.upperBound,
        let end = template.range(of: "<|im_end|>", in: start..<template.endIndex)?.lowerBound
      else { continue }
      let prompt = template[start..<end]
      // A quote or brace means that an expression follows instead of a written-out prompt.
      if !prompt.isEmpty, !prompt.contains(where: { "'\"{}+".contains($0) }) { return String(prompt) }
    }
    return nil
  }
}

extension String {
  /// The first place of a text, compared by UTF-8 bytes.
  fileprivate func range(of needle: String, in range: Range<Index>? = nil) -> Range<Index>? {
    let bytes = utf8[range ?? startIndex..<endIndex]
    return bytes.firstRange(of: needle.utf8)
  }
}
