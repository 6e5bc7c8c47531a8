/// The special tokens of a CLIP tokenizer, with the meaning that transformers gives to the files' entries.
///
/// Every named token is cut out of texts before the split into words, the padding token included: with the `!` that
/// Stable Diffusion 2 and the second tokenizer of XL pad with, each exclamation mark of a prompt becomes that very id.
struct SpecialTokens {
  /// A named token: its bare text, or an entry with matching rules.
  enum Entry {
    case text(String)
    case token(AddedToken)  // its id isn't used

    var content: String {
      switch self {
      case .text(let content): content
      case .token(let token): token.content
      }
    }
  }

  var beginning = Entry.text("<|startoftext|>")
  var end = Entry.text("<|endoftext|>")
  var unknown = Entry.text("<|endoftext|>")
  var padding = Entry.text("<|endoftext|>")
  /// Other named tokens (separator, classification, mask) and the list of further special tokens.
  var others: [Entry] = []
  /// Tokens that the files list with their ids.
  var declared: [AddedToken] = []

  /// All tokens to cut out: a later entry for the same text replaces an earlier one.
  ///
  /// - Parameter id: The id of a text in the vocabulary; tokens that aren't there keep their declared id.
  func addedTokens(id: (String) -> Int?) -> [AddedToken] {
    let declaredByContent = Dictionary(declared.map { ($0.content, $0) }) { $1 }
    var order: [String] = []
    var tokens: [String: AddedToken] = [:]
    func add(_ token: AddedToken) {
      guard !token.content.isEmpty, let id = id(token.content) ?? declaredByContent[token.content]?.id else { return }
      if tokens[token.content] == nil { order.append(token.content) }
      tokens[token.content] = token
      tokens[token.content]?.id = id
    }
    for token in declared.sorted(by: { $0.id < $1.id }) { add(token) }
    for entry in [beginning, end, unknown, padding] + others {
      switch entry {
      case .text(let content): add(declaredByContent[content] ?? AddedToken(content: content, id: 0))
      case .token(var token):
        token.isSpecial = true
        add(declaredByContent[token.content] ?? token)
      }
    }
    return order.compactMap { tokens[$0] }
  }
}
