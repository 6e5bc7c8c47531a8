/// Picks the phrases that a text is about: RAKE (Rose, Engel, Cramer and Cowley 2010, "Automatic keyword extraction from
/// individual documents").
///
/// 1. The text is cut into candidate phrases at punctuation and at stop words (English ones; texts in other languages are cut at
///    punctuation alone).
/// 2. Each word scores degree(w) / frequency(w): how many words stand in its phrases, itself included, for each time that it
///    occurs. A phrase scores the sum of its words.
/// 3. Words of the title count twice, and a title of its own comes first.
/// 4. Phrases are taken from the best on, until there are `phraseLimit` or `wordLimit` would be passed, and told in the order of
///    the text. A phrase within another one is left out.
///
/// A text of at most `shortTextLimit` words is used whole. The result depends on nothing but text and title.
public struct KeyPhraseExtractor: Sendable, Hashable {
  /// Words up to which a text is used whole.
  public var shortTextLimit: Int
  /// The most phrases.
  public var phraseLimit: Int
  /// The most words of all phrases together; the encoder of Stable Diffusion holds 75 tokens.
  public var wordLimit: Int
  /// The most words of one phrase; longer candidates are cut.
  public var phraseLength: Int

  /// Makes an extractor.
  public init(shortTextLimit: Int = 12, phraseLimit: Int = 6, wordLimit: Int = 24, phraseLength: Int = 5) {
    self.shortTextLimit = max(0, shortTextLimit)
    self.phraseLimit = max(1, phraseLimit)
    self.wordLimit = max(1, wordLimit)
    self.phraseLength = max(1, phraseLength)
  }

  private struct Candidate {
    var words: [String]
    var text: String
    var place: Int
  }

  /// The phrases, in the order of the text; a title of its own comes first.
  public func phrases(of text: String, title: String? = nil) -> [String] {
    let whole = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    let heading = title.map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }.flatMap { $0.isEmpty ? nil : $0 }
    if whole.split(separator: " ").count <= shortTextLimit {
      return [heading, whole].compactMap { $0.flatMap { $0.isEmpty ? nil : $0 } }
    }

    let candidates = candidates(in: text)
    let scores = wordScores(candidates, titleWords: Set((heading ?? "").lowercased().split(separator: " ").map(String.init)))
    let ranked = unique(candidates).map { (candidate: $0, score: $0.words.reduce(0) { $0 + scores[$1, default: 0] }) }
      .sorted { ($1.score, $0.candidate.place) < ($0.score, $1.candidate.place) }
    var chosen: [Candidate] = []
    var wordsLeft = wordLimit - (heading?.split(separator: " ").count ?? 0)
    for (candidate, _) in ranked where chosen.count < phraseLimit && candidate.words.count <= wordsLeft {
      if chosen.contains(where: { contains($0.words, candidate.words) }) { continue }
      chosen.append(candidate)
      wordsLeft -= candidate.words.count
    }
    return [heading].compactMap { $0 } + chosen.sorted { $0.place < $1.place }.map(\.text)
  }

  /// Runs of words without stop words and punctuation between them.
  private func candidates(in text: String) -> [Candidate] {
    var found: [Candidate] = []
    var run: [String] = []
    func end() {
      if !run.isEmpty {
        let cut = Array(run.prefix(phraseLength))
        found.append(Candidate(words: cut.map { $0.lowercased() }, text: cut.joined(separator: " "), place: found.count))
      }
      run = []
    }
    var word = ""
    func endWord() {
      // An apostrophe or hyphen belongs to a word only within it.
      let trimmed = word.trimmingEdges { "'’-".contains($0) }
      word = ""
      guard !trimmed.isEmpty else { return }
      if Self.stopWords.contains(trimmed.lowercased().replacing("’", with: "'")) { end() } else { run.append(trimmed) }
    }
    for character in text {
      if character.isLetter || character.isNumber || "'’-".contains(character) {
        word.append(character)
      } else {
        endWord()
        if !character.isWhitespace { end() }
      }
    }
    endWord()
    end()
    return found
  }

  private func wordScores(_ candidates: [Candidate], titleWords: Set<String>) -> [String: Double] {
    var degree: [String: Int] = [:]
    var frequency: [String: Int] = [:]
    for candidate in candidates {
      for word in candidate.words {
        degree[word, default: 0] += candidate.words.count
        frequency[word, default: 0] += 1
      }
    }
    return degree.reduce(into: [:]) { scores, entry in
      let score = Double(entry.value) / Double(frequency[entry.key] ?? 1)
      scores[entry.key] = titleWords.contains(entry.key) ? 2 * score : score
    }
  }

  /// The first of phrases with the same words.
  private func unique(_ candidates: [Candidate]) -> [Candidate] {
    var seen: Set<[String]> = []
    return candidates.filter { seen.insert($0.words).inserted }
  }

  /// Whether the words stand next to each other in others.
  private func contains(_ words: [String], _ part: [String]) -> Bool {
    guard part.count <= words.count else { return false }
    return (0...(words.count - part.count)).contains { Array(words[$0..<($0 + part.count)]) == part }
  }
}

extension String {
  fileprivate func trimmingEdges(_ isEdge: (Character) -> Bool) -> String {
    guard let start = firstIndex(where: { !isEdge($0) }), let end = lastIndex(where: { !isEdge($0) }) else { return "" }
    return String(self[start...end])
  }
}
