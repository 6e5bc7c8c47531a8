import Testing

@testable import Running

@Suite struct PromptsTests {
  @Test func thereAreAtLeastFortyAndTheyDiffer() {
    for set in [Prompts.standard, Prompts.shapes] {
      #expect(set.count == 48 && Set(set).count == set.count)
      #expect(set.allSatisfy { !$0.isEmpty && !$0.contains("\n") })
    }
  }

  @Test(arguments: [
    ("A red bicycle!", "a-red-bicycle"), ("日本", "prompt"), ("", "prompt"), ("x/../y", "x-y"),
    ("one two three four five six seven eight nine ten", "one-two-three-four-five-six"),
  ])
  func slugsAreFileNames(prompt: String, slug: String) { #expect(Prompts.slug(prompt) == slug) }
}
