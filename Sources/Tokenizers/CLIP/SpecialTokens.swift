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
    // Keyed by scalars: canonically equal texts are tokens of their own.
    var declaredByContent: [[Unicode.Scalar]: AddedToken] = [:]
    for token in declared { declaredByContent[Array(token.content.unicodeScalars)] = token }
    var order: [[Unicode.Scalar]] = []
    var tokens: [[Unicode.Scalar]: AddedToken] = [:]
    func add(_ token: AddedToken) {
      let key = Array(token.content.unicodeScalars)
      guard !key.isEmpty, let id = id(token.content) ?? declaredByContent[key]?.id else { return }
      if tokens[key] == nil { order.append(key) }
      tokens[key] = token
      tokens[key]?.id = id
    }
    for token in declared.sorted(by: { $0.id < $1.id }) { add(token) }
    for entry in [beginning, end, unknown, padding] + others {
      switch entry {
      case .text(let content): add(declaredByContent[Array(content.unicodeScalars)] ?? AddedToken(content: content, id: 0))
      case .token(var token):
        token.isSpecial = true
        add(declaredByContent[Array(token.content.unicodeScalars)] ?? token)
      }
    }
    return order.compactMap { tokens[$0] }
  }
}
