import ExternalBackends
import GenBackend
import Testing

/// A command's words, as a shell cuts them.
struct CommandWordsTests {
  static let cases: [(String, [String])] = [
    ("python3 x.py", ["python3", "x.py"]),
    ("  a\tb\n c ", ["a", "b", "c"]),
    (#"a 'b c' "d e""#, ["a", "b c", "d e"]),
    (#"a'b'"c"d"#, ["abcd"]),
    (#"a '' """#, ["a", "", ""]),
    (#"a\ b \'c"#, ["a b", "'c"]),
    (#"'a\b' "c\d" "e\"f\\g""#, [#"a\b"#, #"c\d"#, #"e"f\g"#]),
    (#"a "$HOME" `ls` *"#, ["a", "$HOME", "`ls`", "*"]),
    ("проба 'ä ö'", ["проба", "ä ö"]),
  ]

  @Test(arguments: cases)
  func words(_ text: String, _ words: [String]) throws {
    #expect(try CommandWords.split(text) == words)
  }

  @Test(arguments: ["", "   ", "'a", #"a "b"#, #"a\"#, "'' a"])
  func refused(_ text: String) {
    #expect(throws: BackendError.self) { try CommandWords.split(text) }
  }
}
