public import Foundation

/// How a conversation becomes the text that a chat model was trained on: the model's own Jinja template, as transformers'
/// `apply_chat_template` renders it, without tools and documents.
///
/// A template that does what isn't supported is refused by name; its text is never guessed.
public struct ChatTemplate: Sendable {
  /// The form in which a template takes what is said.
  public enum ContentForm: String, Sendable, CaseIterable {
    /// `"content": "…"`, for models of text.
    case text
    /// `"content": [{"type": "text", "text": "…"}, {"type": "image"}]`, for models with eyes.
    case parts
  }

  /// The form in which the template shows what is said; ``ContentForm/text`` where it takes both.
  public let contentForm: ContentForm
  private let body: [JinjaStatement]
  private let variables: [(name: String, text: String)]
  private let source: String

  /// Reads a template, such as a GGUF's `tokenizer.chat_template`.
  ///
  /// - Parameters:
  ///   - jinja: The template.
  ///   - specialTokens: Texts that templates know by name, such as `bos_token`.
  ///   - source: The file, for error messages.
  /// - Throws: ``TokenizerError`` when it's no template, does what isn't supported, or shows neither form of a message.
  public init(jinja: String, specialTokens: [(name: String, text: String)] = [], source: String = "chat template")
    throws(TokenizerError)
  {
    self.source = source
    variables = specialTokens
    do {
      body = try JinjaParser.parse(jinja)
    } catch {
      throw Self.failure(error, source)
    }
    // Which form the template shows is seen from what becomes of a word; a form that it can't take may fail.
    let probe = "q7Vx"
    var problem: TokenizerError?
    for form in ContentForm.allCases {
      do throws(TokenizerError) {
        let text = try Self.render(
          body, variables, [ChatMessage(.user, probe)], form, source, addsGenerationPrompt: true, now: Date())
        // A list that is printed as it is isn't shown as a text.
        if text.contains(probe), !(form == .parts && text.contains("'\(probe)'")) {
          contentForm = form
          return
        }
      } catch {
        problem = problem ?? error
      }
    }
    throw problem
      ?? TokenizerError(.unsupported, source: source, "chat template: it doesn't show what the user says; use the raw prompt")
  }

  /// The text of a conversation.
  ///
  /// - Parameters:
  ///   - addsGenerationPrompt: Ends with the beginning of the assistant's turn.
  ///   - form: Instead of the template's own form; with an image it's always ``ContentForm/parts``.
  ///   - now: What `strftime_now` tells, in the time zone of the machine.
  /// - Throws: ``TokenizerError`` when the template refuses the conversation or does what isn't supported.
  public func render(
    _ messages: [ChatMessage], addsGenerationPrompt: Bool = true, form: ContentForm? = nil, now: Date = Date()
  ) throws(TokenizerError) -> String {
    let hasImage = messages.contains { $0.parts.contains(.image) }
    return try Self.render(
      body, variables, messages, form ?? (hasImage ? .parts : contentForm), source, addsGenerationPrompt: addsGenerationPrompt,
      now: now)
  }

  private static func render(
    _ body: [JinjaStatement], _ tokens: [(name: String, text: String)], _ messages: [ChatMessage], _ form: ContentForm,
    _ source: String, addsGenerationPrompt: Bool, now: Date
  ) throws(TokenizerError) -> String {
    do {
      var variables: [(name: String, value: JinjaValue)] = tokens.map { ($0.name, .string($0.text)) }
      variables += [
        ("messages", try .list(messages.map { try value(of: $0, form) })), ("tools", .none), ("documents", .none),
        ("add_generation_prompt", .bool(addsGenerationPrompt)),
      ]
      // Long conversations may take more work than short ones.
      let size = messages.reduce(0) { $0 + $1.parts.count + $1.size }
      let budget = JinjaBudget(JinjaBudget.standard + min(size, 1 << 32) * 4)
      var evaluator = JinjaEvaluator(variables: variables, clock: JinjaClock(now: now, timeZone: .current), budget: budget)
      return try evaluator.render(body)
    } catch {
      throw failure(error, source)
    }
  }

  private static func value(of message: ChatMessage, _ form: ContentForm) throws -> JinjaValue {
    let content: JinjaValue
    switch form {
    case .text:
      content = .string(
        try message.parts.map { part in
          guard case .text(let text) = part else {
            throw JinjaError.unsupported("an image in a message for a model of text")
          }
          return text
        }.joined())
    case .parts:
      content = try .list(
        message.parts.map { part in
          switch part {
          case .text(let text):
            .dictionary(try JinjaDictionary([(.string("type"), .string("text")), (.string("text"), .string(text))]))
          case .image: .dictionary(try JinjaDictionary([(.string("type"), .string("image"))]))
          }
        })
    }
    return .dictionary(
      try JinjaDictionary([(.string("role"), .string(message.role.rawValue)), (.string("content"), content)]))
  }

  private static func failure(_ error: any Error, _ source: String) -> TokenizerError {
    guard let error = error as? JinjaError else { return TokenizerError(.invalid, source: source, "chat template: \(error)") }
    let place = error.line > 0 ? "line \(error.line): " : ""
    let remedy = "; use the raw prompt"
    switch error.kind {
    case .invalid: return TokenizerError(.invalid, source: source, "chat template: \(place)\(error.message)\(remedy)")
    case .unsupported:
      return TokenizerError(.unsupported, source: source, "chat template: \(place)\(error.message) isn't supported\(remedy)")
    case .raised:
      return TokenizerError(.invalid, source: source, "the chat template refuses the conversation: \(error.message)")
    case .tooMuch: return TokenizerError(.unsupported, source: source, "chat template: \(place)\(error.message)\(remedy)")
    }
  }
}

extension ChatMessage {
  /// The bytes of its texts.
  fileprivate var size: Int {
    parts.reduce(0) { size, part in
      if case .text(let text) = part { size + text.utf8.count } else { size }
    }
  }
}
