/// Cuts a command into words as a shell does, with quotes and backslashes; nothing is expanded, and no shell is run.
package enum CommandWords {
  /// The words of a command.
  ///
  /// Source of the rules: POSIX 2018, Shell Command Language, 2.2 Quoting.
  ///
  /// - Throws: ``SettingError`` for an open quote and for no word at all.
  package static func split(_ text: String) throws(SettingError) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    var characters = Substring(text)
    while let character = characters.popFirst() {
      switch (quote, character) {
      case ("'", "'"), ("\"", "\""): quote = nil
      case ("'", _): word?.append(character)
      case ("\"", "\\"):
        // Within double quotes the backslash stays, but before these.
        if let next = characters.first, "\"\\$`".contains(next) {
          characters.removeFirst()
          word?.append(next)
        } else {
          word?.append(character)
        }
      case ("\"", _): word?.append(character)
      case (_, "'"), (_, "\""):
        quote = character
        word = word ?? ""
      case (_, "\\"):
        guard let next = characters.popFirst() else {
          throw SettingError("the command '\(text)' ends with a backslash that stands before nothing")
        }
        word = (word ?? "") + String(next)
      case (_, _) where character.isWhitespace:
        if let finished = word { words.append(finished) }
        word = nil
      default: word = (word ?? "") + String(character)
      }
    }
    if let quote { throw SettingError("the command '\(text)' has an open quote: expected another \(quote)") }
    if let word { words.append(word) }
    guard let program = words.first, !program.isEmpty else {
      throw SettingError("the command '\(text)' names no program")
    }
    return words
  }
}
