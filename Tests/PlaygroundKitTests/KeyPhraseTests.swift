import PlaygroundKit
import Testing

/// What is taken out of longer texts.
struct KeyPhraseTests {
  private let text = """
    We spent the whole week in a small fishing village. Every morning the harbour was full of wooden boats, and the old
    lighthouse keeper told us stories of storms. I wish you could have seen the wooden boats.
    """

  @Test func phrasesAreThoseOfTheText() {
    let phrases = KeyPhraseExtractor().phrases(of: text)
    #expect(phrases.contains("small fishing village") && phrases.contains("wooden boats"))
    #expect(phrases.contains("old lighthouse keeper told"))
    #expect(!phrases.contains { $0.lowercased().hasPrefix("the ") || $0.contains("wish") })
    #expect(Set(phrases).count == phrases.count)
  }

  /// By hand: "red kite flying" and "kite" give red 3, kite (3+1)/2 = 2, flying 3: 8 against 2, so the longer one covers the shorter.
  @Test func scoresAreDegreeOverFrequency() {
    let extractor = KeyPhraseExtractor(shortTextLimit: 0, phraseLimit: 1)
    #expect(extractor.phrases(of: "the kite and the red kite flying, the sea") == ["red kite flying"])
    // A word of the title counts twice: sea 2 · 1 against kite 1.
    #expect(extractor.phrases(of: "the kite and the sea", title: "Sea") == ["Sea", "sea"])
    // A tie goes to the one that comes first.
    #expect(extractor.phrases(of: "the kite and the sea") == ["kite"])
  }

  @Test func shortTextsAreUsedWhole() {
    #expect(KeyPhraseExtractor().phrases(of: "  The cat,\n on the mat. ") == ["The cat, on the mat."])
    #expect(KeyPhraseExtractor().phrases(of: "a cat", title: "Pets") == ["Pets", "a cat"])
  }

  @Test func limitsHold() {
    let long = (0..<500).map { "word\($0) number\($0)" }.joined(separator: ", ")
    for limit in [1, 3, 10] {
      let phrases = KeyPhraseExtractor(phraseLimit: limit, wordLimit: 12).phrases(of: long)
      #expect(phrases.count <= limit && phrases.joined(separator: " ").split(separator: " ").count <= 12)
      #expect(!phrases.isEmpty)
    }
    let run = (0..<40).map { "w\($0)" }.joined(separator: " ")
    #expect(KeyPhraseExtractor().phrases(of: run) == ["w0 w1 w2 w3 w4"])
  }

  @Test(arguments: ["", " \n", "…!?", "the and of to"])
  func textsWithoutIdeasGiveNothingNew(_ text: String) {
    let extractor = KeyPhraseExtractor(shortTextLimit: 0)
    #expect(extractor.phrases(of: text) == [])
    #expect(extractor.phrases(of: text, title: "Boats") == ["Boats"])
  }

  @Test func otherLanguagesAreCutAtPunctuation() {
    let text =
      "Der alte Leuchtturm am Hafen, die Kirschblüten im Frühling, kleine Segelboote; und viele Grüße aus der Ferne von uns allen"
    let phrases = KeyPhraseExtractor().phrases(of: text)
    #expect(phrases.contains { $0.contains("Leuchtturm") } && phrases.contains { $0.contains("Segelboote") })
    #expect(phrases.joined(separator: " ").split(separator: " ").count <= 24)
  }

  @Test func wordsKeepTheirApostrophesAndHyphens() {
    let extractor = KeyPhraseExtractor(shortTextLimit: 0)
    #expect(
      extractor.phrases(of: "the 'well-worn' sailor’s coat") == ["well-worn", "sailor’s coat"]
        || extractor.phrases(of: "the 'well-worn' sailor’s coat") == ["well-worn sailor’s coat"])
  }
}
