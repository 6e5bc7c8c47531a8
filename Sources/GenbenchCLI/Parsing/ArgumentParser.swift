import Running

/// Turns words into a command, as swift-argument-parser does: `--x value`, `--x=value`, `-xyz`, `--no-x`, `--`, `help`.
public struct ArgumentParser: Sendable {
  /// What the words ask for.
  public enum Outcome: Sendable {
    /// Run this.
    case command(any Command, path: [String])
    /// Print this text and stop: help or version.
    case text(String)
  }

  private let root: any Command.Type
  private let version: String
  private let columns: Int

  /// Makes a parser.
  ///
  /// - Parameters:
  ///   - root: The command that all others are below.
  ///   - version: What `--version` prints.
  ///   - columns: Width that help is wrapped to.
  public init(root: any Command.Type, version: String, columns: Int = 80) {
    self.root = root
    self.version = version
    self.columns = columns
  }

  /// Parses the words after the program's name.
  ///
  /// - Throws: ``UsageError`` whose path names the command that refused.
  public func parse(_ words: [String]) throws(UsageError) -> Outcome {
    var type = root
    var path = [root.configuration.name]
    var rest = words[...]
    if rest.first == "help" {
      return .text(try help(for: Array(rest.dropFirst())))
    }
    while !type.configuration.subcommands.isEmpty {
      let description = type.configuration
      if let word = rest.first, let next = description.subcommand(word) {
        type = next
        path.append(word)
        rest = rest.dropFirst()
        continue
      }
      if let word = rest.first, word == "-h" || word == "--help" {
        return .text(HelpText(path: path, command: description, columns: columns).text)
      }
      if path.count == 1, rest.first == "--version" { return .text(version) }
      if let word = rest.first, !word.hasPrefix("-") {
        let known = description.subcommands.map { $0.configuration.name } + (path.count == 1 ? ["help"] : [])
        throw UsageError("Unknown command '\(word)'\(Suggestion.text(for: word, among: known))", path: path)
      }
      guard let name = description.defaultSubcommand, let next = description.subcommand(name) else {
        throw UsageError("Missing expected subcommand", path: path)
      }
      type = next
      path.append(name)
    }
    do {
      guard let values = try Self.values(of: rest, for: type.configuration) else {
        return .text(HelpText(path: path, command: type.configuration, columns: columns).text)
      }
      return .command(try type.init(values), path: path)
    } catch {
      throw UsageError(error.message, path: path)
    }
  }

  /// The help of the command that the words name; `help models plan`.
  private func help(for words: [String]) throws(UsageError) -> String {
    var description = root.configuration
    var path = [description.name]
    for word in words where word != "-h" && word != "--help" {
      guard let next = description.subcommand(word) else {
        let known = description.subcommands.map { $0.configuration.name }
        throw UsageError("Unknown command '\(word)'\(Suggestion.text(for: word, among: known))", path: path)
      }
      description = next.configuration
      path.append(word)
    }
    return HelpText(path: path, command: description, columns: columns).text
  }

  /// The usage line of a command, for error messages.
  public func usage(of path: [String]) -> String {
    var description = root.configuration
    for word in path.dropFirst() {
      guard let next = description.subcommand(word) else { break }
      description = next.configuration
    }
    return HelpText(path: path, command: description, columns: columns).usage
  }

  /// Sorts words into options and arguments; nil when help was asked for.
  static func values(of words: ArraySlice<String>, for command: CommandDescription) throws(UsageError) -> ParsedValues? {
    var values = ParsedValues(command: command)
    var rest = words
    var isLiteral = false
    while let word = rest.popFirst() {
      if isLiteral || !word.hasPrefix("-") || word == "-" || isNegativeNumber(word) {
        values.positionals.append(word)
      } else if word == "--" {
        isLiteral = true
      } else if word.hasPrefix("--") {
        let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts.first ?? "")
        if name == "help" { return nil }
        try take(name, shown: "--" + name, attached: parts.count > 1 ? String(parts[1]) : nil, rest: &rest, into: &values)
      } else {
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
          if letter == "h" { return nil }
          guard let option = command.options.first(where: { $0.short == letter }) else {
            throw UsageError("Unknown option '-\(letter)'")
          }
          // The last letter of a group takes the value; `-s=5` is the same as `-s 5`.
          var attached: String?
          if case .value = option.kind, letters.first == "=" {
            attached = String(letters.dropFirst())
            letters = ""
          }
          try take(option.name, shown: "-\(letter)", attached: attached, rest: &rest, into: &values)
        }
      }
    }
    try values.checkCounts()
    return values
  }

  private static func isNegativeNumber(_ word: String) -> Bool {
    word.count > 1 && word.dropFirst().first.map { $0.isNumber || $0 == "." } == true && Double(word) != nil
  }

  private static func take(
    _ name: String, shown: String, attached: String?, rest: inout ArraySlice<String>, into values: inout ParsedValues
  ) throws(UsageError) {
    let options = values.command.options
    if name.hasPrefix("no-"), let option = options.first(where: { $0.kind == .invertibleFlag && "no-" + $0.name == name }) {
      guard attached == nil else { throw UsageError("The option '\(shown)' takes no value") }
      values.set(option, false)
      return
    }
    guard let option = options.first(where: { $0.name == name }) else {
      let known = options.flatMap { $0.kind == .invertibleFlag ? ["--" + $0.name, "--no-" + $0.name] : ["--" + $0.name] }
      throw UsageError("Unknown option '\(shown)'\(Suggestion.text(for: shown, among: known + ["--help"]))")
    }
    guard case .value = option.kind else {
      guard attached == nil else { throw UsageError("The option '\(shown)' takes no value") }
      values.set(option, true)
      return
    }
    if let attached {
      try values.add(option, attached)
    } else if let next = rest.first, !next.hasPrefix("-") || next == "-" || isNegativeNumber(next) {
      rest = rest.dropFirst()
      try values.add(option, next)
    } else {
      let hint = rest.isEmpty ? "" : "; write \(shown)=VALUE when it begins with a dash"
      throw UsageError("Missing value for '\(option.usage)'\(hint)")
    }
  }
}
