import TSAIKit
import Testing

/// Tags and languages.
struct LanguageTests {
  @Test(arguments: TSAILanguage.allCases.filter { $0.tag != nil })
  func tagsLeadBack(_ language: TSAILanguage) { #expect(TSAILanguage(tag: language.tag ?? "") == language) }

  @Test(arguments: [
    ("zh-Hant-TW", TSAILanguage.chineseTraditional), ("zh_HK", .chineseTraditional), ("zh-Hans", .chineseSimplified),
    ("en", .englishUS), ("en_AU", .englishUK), ("FR-ca", .french), ("de", .german),
  ])
  func otherTagsAreUnderstood(_ tag: String, _ language: TSAILanguage) { #expect(TSAILanguage(tag: tag) == language) }

  @Test(arguments: ["", "-", "xx-YY", "english"])
  func unknownTagsAreNone(_ tag: String) { #expect(TSAILanguage(tag: tag) == nil) }

  @Test func theAppHasALanguage() { #expect(TSAILanguage.ofApp.tag != nil) }
}
