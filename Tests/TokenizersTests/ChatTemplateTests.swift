import Foundation
import Goldens
import TestSupport
import Testing

@testable import Tokenizers

struct ChatTemplateTests {
  struct Attributes: Decodable {
    var template: String
    var bos: String?
    var eos: String?
    var now: String?

    func chatTemplate() throws -> ChatTemplate {
      let tokens = [("bos_token", bos), ("eos_token", eos)].compactMap { name, text in
        text.flatMap { $0.isEmpty ? nil : (name: name, text: $0) }
      }
      return try ChatTemplate(jinja: template, specialTokens: tokens)
    }
  }

  struct Row: Decodable {
    struct Message: Decodable {
      struct Part: Decodable {
        var type: String
        var text: String?
      }

      enum CodingKeys: String, CodingKey { case role, content }

      var role: String
      var parts: [Part]
      /// Whether the content is a text and no list.
      var isText = false

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        role = try container.decode(String.self, forKey: .role)
        if let text = try? container.decode(String.self, forKey: .content) {
          parts = [Part(type: "text", text: text)]
          isText = true
        } else {
          parts = try container.decode([Part].self, forKey: .content)
        }
      }
    }

    var messages: [Message]
    var addsGenerationPrompt: Bool
    var rendered: String?
    var refused: String?

    func conversation() throws -> [ChatMessage] {
      try messages.map { message in
        ChatMessage(
          try #require(ChatMessage.Role(rawValue: message.role)),
          try message.parts.map { $0.type == "image" ? .image : .text(try #require($0.text)) })
      }
    }
  }

  @Test func everyTemplateIsThere() throws {
    #expect(try Fixtures.cases(in: "tokenizers/chat-templates").count >= 40)
    #expect(try Fixtures.cases(in: "tokenizers/chat").count == 3)
  }

  @Test(arguments: try Fixtures.cases(in: "tokenizers/chat") + Fixtures.cases(in: "tokenizers/chat-templates"))
  func rendersAsTransformersDoes(golden: GoldenCase) throws {
    let attributes: Attributes = try golden.attributes()
    let template = try attributes.chatTemplate()
    // strftime_now tells the time of the machine's zone.
    let now = try attributes.now.map { text in
      let greenwich = try JinjaTests.time(text)
      return greenwich.addingTimeInterval(-Double(TimeZone.current.secondsFromGMT(for: greenwich)))
    }
    for row in try rows(of: golden, as: Row.self) {
      let form = row.messages.first.map {
        $0.isText ? ChatTemplate.ContentForm.text : golden.id.contains("chat-templates") ? .parts : nil
      }
      do {
        let text = try template.render(
          row.conversation(), addsGenerationPrompt: row.addsGenerationPrompt, form: form ?? nil, now: now ?? Date())
        let rendered = try #require(row.rendered, "expected a refusal (\(row.refused ?? "")), found '\(text)'")
        #expect(Array(text.utf8) == Array(rendered.utf8), "expected '\(rendered)', found '\(text)'")
      } catch let error as TokenizerError {
        #expect(row.rendered == nil, "\(error)")
        #expect(error.code == .invalid, "\(error)")
      }
    }
  }

  @Test func theFormOfAMessageIsSeenFromTheTemplate() throws {
    for (id, form) in [
      ("tokenizers/chat/smolvlm", ChatTemplate.ContentForm.parts), ("tokenizers/chat/qwen2vl", .text),
      ("tokenizers/chat/smollm2", .text),
      ("tokenizers/chat-templates/llava", .parts), ("tokenizers/chat-templates/gemma-3", .text),
      ("tokenizers/chat-templates/joined-parts", .text), ("tokenizers/chat-templates/llama-2", .text),
    ] {
      let golden = try #require(try Fixtures.cases(in: id).first)
      #expect(try golden.attributes(Attributes.self).chatTemplate().contentForm == form, "\(id)")
    }
  }

  @Test func textModelsRefuseImages() throws {
    let golden = try #require(try Fixtures.cases(in: "tokenizers/chat/smollm2").first)
    let template = try golden.attributes(Attributes.self).chatTemplate()
    let message = ChatMessage(.user, [.text("What is this?"), .image])
    expectError(.invalid, "list") { _ = try template.render([message]) }
    expectError(.unsupported, "image") { _ = try template.render([message], form: .text) }
  }

  @Test func whatATemplateRaisesIsTold() throws {
    let golden = try #require(try Fixtures.cases(in: "tokenizers/chat-templates/gemma").first { $0.id.hasSuffix("/gemma") })
    let template = try golden.attributes(Attributes.self).chatTemplate()
    expectError(.invalid, "refuses the conversation: There is no system role") {
      _ = try template.render([ChatMessage(.system, "Be brief."), ChatMessage(.user, "Hi")])
    }
  }

  @Test func whatIsNotSupportedIsNamed() throws {
    for (jinja, word) in [
      ("{% include 'other' %}", "include"), ("{{ messages[0].content | wordwrap }}", "wordwrap"), ("{{ 'a'.zfill(3) }}", "zfill"),
      ("{{ joiner() }}", "joiner"), ("{{ strftime_now('%f') }}", "%f"),
    ] { expectError(.unsupported, word) { _ = try ChatTemplate(jinja: jinja) } }
    // Where it isn't reached, it doesn't matter.
    let unreached = try ChatTemplate(jinja: "{% if tools %}{{ tools | xmlattr }}{% endif %}{{ messages[0].content }}")
    #expect(try unreached.render([ChatMessage(.user, "Hi")]) == "Hi")
  }

  @Test func templatesThatShowNothingAreRefused() {
    for jinja in ["", "fixed", "{{ bos_token }}", "{{ messages | length }}"] {
      expectError(.unsupported, "doesn't show what the user says") { _ = try ChatTemplate(jinja: jinja) }
    }
    expectError(.invalid, "line 2") { _ = try ChatTemplate(jinja: "\n{% if %}") }
  }

  @Test func longConversations() throws {
    let template = try ChatTemplate(jinja: "{% for m in messages %}{{ m.role ~ m.content | trim }}{% endfor %}")
    let text = String(repeating: "long ", count: 400_000)
    let turns = (0..<400).flatMap { _ in [ChatMessage(.user, "a"), ChatMessage(.assistant, "b")] }
    #expect(try template.render(turns + [ChatMessage(.user, text)]).utf8.count == 400 * (5 + 10) + 4 + text.utf8.count - 1)
  }
}
