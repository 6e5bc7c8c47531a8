/// Text to token ids and back.
public protocol Tokenizer: Sendable {
  /// The ids of a text, with the special tokens that the model's tokenizer puts round it.
  func encode(_ text: String) -> [Int]

  /// The text of ids; ids that aren't in the vocabulary are left out.
  func decode(_ ids: [Int], skipsSpecialTokens: Bool) -> String

  /// The number of ids: one more than the largest.
  var vocabularySize: Int { get }
}
