/// The help of one command, in swift-argument-parser's layout.
struct HelpText {
  let path: [String]
  let command: CommandDescription
  let columns: Int

  private static let labelColumns = 26
  private var isRoot: Bool { path.count == 1 }

  /// `genbench run [--variant <name>] [--json]`; more than 12 options become `[<options>]`.
  var usage: String {
    var parts = path
    if !command.subcommands.isEmpty {
      parts.append(command.defaultSubcommand == nil ? "<subcommand>" : "[<subcommand>]")
      return parts.joined(separator: " ")
    }
    let required = command.options.filter(\.isRequired)
    if command.options.count > 12 {
      parts.append("[<options>]")
      parts += required.map(\.usage)
    } else {
      parts += command.options.map { option in
        let text = option.isRepeatable ? option.usage + " ..." : option.usage
        return option.isRequired ? text : "[\(text)]"
      }
    }
    parts += command.arguments.map(\.usage)
    return parts.joined(separator: " ")
  }

  /// The whole help.
  var text: String {
    var blocks = [wrapped("OVERVIEW: " + command.abstract)]
    if !command.discussion.isEmpty {
      blocks += command.discussion.split(separator: "\n\n").map { $0.hasPrefix(" ") ? String($0) : wrapped(String($0)) }
    }
    blocks.append(wrapped("USAGE: " + usage, continuation: "  "))
    if !command.arguments.isEmpty {
      blocks.append(list("ARGUMENTS", command.arguments.map { ("<\($0.name)>", $0.help) }))
    }
    var sections: [String] = []
    for option in command.options where !option.isHidden {
      if let section = option.section, !sections.contains(section) { sections.append(section) }
    }
    for section in sections {
      blocks.append(list(section, command.options.filter { $0.section == section && !$0.isHidden }.map { (label($0), help($0)) }))
    }
    var general = command.options.filter { $0.section == nil && !$0.isHidden }.map { (label($0), help($0)) }
    if isRoot { general.append(("--version", "Show the version.")) }
    general.append(("-h, --help", "Show help information."))
    blocks.append(list("OPTIONS", general))
    if !command.subcommands.isEmpty {
      let rows = command.subcommands.map { type -> (String, String) in
        let configuration = type.configuration
        let mark = configuration.name == command.defaultSubcommand ? " (default)" : ""
        return (configuration.name + mark, configuration.abstract)
      }
      blocks.append(list("SUBCOMMANDS", rows))
      let words = (path.dropFirst() + ["<subcommand>"]).joined(separator: " ")
      blocks.append("  See '\(path[0]) help \(words)' for detailed help.")
    }
    return blocks.joined(separator: "\n\n")
  }

  private func label(_ option: CommandOption) -> String { (option.short.map { "-\($0), " } ?? "") + option.usage }

  private func help(_ option: CommandOption) -> String {
    var notes: [String] = []
    if let values = option.values { notes.append("values: " + values.joined(separator: ", ")) }
    if let text = option.defaultText { notes.append("default: " + text) }
    return notes.isEmpty ? option.help : option.help + " (" + notes.joined(separator: "; ") + ")"
  }

  private func list(_ title: String, _ rows: [(String, String)]) -> String {
    let lines = rows.map { label, help -> String in
      let indent = String(repeating: " ", count: Self.labelColumns)
      let text = HelpText.wrap(help, columns: max(20, columns - Self.labelColumns)).joined(separator: "\n" + indent)
      if text.isEmpty { return "  " + label }
      let head = "  " + label
      if head.count >= Self.labelColumns { return head + "\n" + indent + text }
      return head + String(repeating: " ", count: Self.labelColumns - head.count) + text
    }
    return "\(title):\n" + lines.joined(separator: "\n")
  }

  private func wrapped(_ text: String, continuation: String = "") -> String {
    HelpText.wrap(text, columns: columns - continuation.count).joined(separator: "\n" + continuation)
  }

  /// Cuts text into lines at spaces; words in brackets stay whole.
  static func wrap(_ text: String, columns: Int) -> [String] {
    var lines: [String] = []
    for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
      var line = ""
      for word in paragraph.split(separator: " ") {
        if !line.isEmpty, line.count + 1 + word.count > columns {
          lines.append(line)
          line = ""
        }
        line += (line.isEmpty ? "" : " ") + word
      }
      lines.append(line)
    }
    return lines
  }
}
