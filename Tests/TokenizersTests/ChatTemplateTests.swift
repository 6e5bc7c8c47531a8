import Goldens
import TestSupport
import Testing

@testable import Tokenizers

struct ChatTemplateTests {
  struct Attributes: Decodable {
    var template: String
  }

  struct Row: Decodable {
    struct Message: Decodable {
      struct Part: Decodable {
        var type: String
        var text: String?
      }

      var role: String
      var content: [Part]
    }

    var messages: [Message]
    var addsGenerationPrompt: Bool
    var rendered: String

    func conversation() throws -> [ChatMessage] {
      try messages.map { message in
        ChatMessage(
          try #require(ChatMessage.Role(rawValue: message.role)),
          try message.content.map { $0.type == "image" ? .image : .text(try #require($0.text)) })
      }
    }
  }

  @Test(arguments: try Fixtures.cases(in: "tokenizers/chat"))
  func rendersAsJinjaDoes(golden: GoldenCase) throws {
    let attributes: Attributes = try golden.attributes()
    let template = try #require(ChatTemplate(jinja: attributes.template))
    for row in try rows(of: golden, as: Row.self) {
      #expect(try template.render(row.conversation(), addsGenerationPrompt: row.addsGenerationPrompt) == row.rendered)
    }
  }

  @Test func familiesAreTold() throws {
    let templates = try Dictionary(
      uniqueKeysWithValues: Fixtures.cases(in: "tokenizers/chat").map { golden in
        let attributes: Attributes = try golden.attributes()
        return (golden.id, attributes.template)
      })
    #expect(ChatTemplate(jinja: try #require(templates["tokenizers/chat/smolvlm"])) == .smolVLM)
    #expect(ChatTemplate(jinja: try #require(templates["tokenizers/chat/qwen2vl"])) == .qwen2VL)
    #expect(ChatTemplate(jinja: try #require(templates["tokenizers/chat/smollm2"])) == .smolLM2)
    #expect(
      ChatTemplate(jinja: "{% for m in messages %}<|im_start|>{{m.role}}<|im_end|>{% endfor %}")
        == .chatML(defaultSystemPrompt: nil))
    #expect(
      ChatTemplate(jinja: #"{{ '<|im_start|>system\nBe kind.<|im_end|>\n' }}"#) == .chatML(defaultSystemPrompt: "Be kind."))
    #expect(ChatTemplate(jinja: "[INST] {{ x }} [/INST]") == nil)
    #expect(ChatTemplate(jinja: "") == nil)
  }

  @Test func withoutADefaultSystemPrompt() throws {
    let text = try ChatTemplate.chatML(defaultSystemPrompt: nil).render([ChatMessage(.user, "Hi")])
    #expect(text == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
  }

  @Test func textModelsRefuseImages() {
    let message = ChatMessage(.user, [.text("What is this?"), .image])
    expectError(.unsupported, "image") { _ = try ChatTemplate.smolLM2.render([message]) }
  }

  @Test func emptyConversations() throws {
    #expect(try ChatTemplate.smolVLM.render([]) == "<|im_start|>Assistant:")
    #expect(try ChatTemplate.qwen2VL.render([]) == "<|im_start|>assistant\n")
    #expect(try ChatTemplate.smolLM2.render([], addsGenerationPrompt: false) == "")
    #expect(try ChatTemplate.smolVLM.render([ChatMessage(.user, [])]) == "<|im_start|>User: <end_of_utterance>\nAssistant:")
  }
}
