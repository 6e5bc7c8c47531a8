import TestSupport
import Testing

@testable import Tokenizers

struct BytePairEncoderTests {
  /// The definition: as long as there is one, merge the leftmost pair of lowest rank.
  private func merged(_ symbols: [Int32], _ ranks: [[Int32]: (rank: Int, result: Int32)]) -> [Int] {
    var symbols = symbols
    while true {
      let candidates = symbols.indices.dropLast().compactMap { index in
        ranks[[symbols[index], symbols[index + 1]]].map { (rank: $0.rank, index: index, result: $0.result) }
      }
      guard let best = candidates.min(by: { ($0.rank, $0.index) < ($1.rank, $1.index) }) else { return symbols.map(Int.init) }
      symbols.replaceSubrange(best.index...best.index + 1, with: [best.result])
    }
  }

  @Test func heapAgreesWithDefinition() throws {
    var random = TestRandom(seed: 5)
    for _ in 0..<200 {
      // Random merges over three letters, each of parts that exist by then.
      var tokens = ["a", "b", "c"]
      var merges: [(left: String, right: String)] = []
      for _ in 0..<Int.random(in: 0...15, using: &random) {
        let merge = (left: tokens.randomElement(using: &random) ?? "", right: tokens.randomElement(using: &random) ?? "")
        if !merges.contains(where: { $0 == merge }) { merges.append(merge) }
        if !tokens.contains(merge.left + merge.right) { tokens.append(merge.left + merge.right) }
      }
      merges.shuffle(using: &random)
      var index = TokenIndex(capacity: tokens.count)
      for (id, token) in tokens.enumerated() { index[token] = Int32(id) }
      var ranks: [[Int32]: (rank: Int, result: Int32)] = [:]
      for (rank, merge) in merges.enumerated() {
        let ids = try [merge.left, merge.right, merge.left + merge.right].map { try #require(index[$0]) }
        ranks[[ids[0], ids[1]]] = (rank, ids[2])
      }
      let encoder = try BytePairEncoder(merges: merges, vocabulary: index, source: "test")
      for _ in 0..<50 {
        let symbols = (0..<Int.random(in: 0...24, using: &random)).map { _ in Int32.random(in: 0...2, using: &random) }
        var output: [Int] = [-7]
        encoder.encode(symbols, into: &output)
        #expect(output == [-7] + merged(symbols, ranks))
      }
    }
  }
}
