import GenBackend

/// Reads one of an enumeration's words out of a message.
///
/// - Throws: `invalidInput` with the words that are known.
func choice<Choice: RawRepresentable & CaseIterable>(_ key: String, _ text: String) throws(BackendError) -> Choice
where Choice.RawValue == String {
  guard let choice = Choice(rawValue: text) else {
    let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
    throw BackendError(.invalidInput, "\(key): expected one of \(known), found '\(text)'")
  }
  return choice
}
