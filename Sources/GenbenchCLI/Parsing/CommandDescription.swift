/// One option of a command: `--steps <n>`, `--json`, `--safety-checker/--no-safety-checker`.
public struct CommandOption: Sendable, Hashable {
  /// What follows the name.
  public enum Kind: Sendable, Hashable {
    /// Nothing: present or absent.
    case flag
    /// Nothing; `--no-x` says the opposite of `--x`.
    case invertibleFlag
    /// A value, called so in the help.
    case value(String)
  }

  /// The long name without dashes.
  public var name: String
  /// A one-letter name.
  public var short: Character?
  /// What follows the name.
  public var kind: Kind
  /// One sentence.
  public var help: String
  /// The default as it's shown; nil shows none.
  public var defaultText: String?
  /// The only values that are taken; nil takes any.
  public var values: [String]?
  /// Whether it may be given several times, each time adding to the list.
  public var isRepeatable: Bool
  /// Whether the command can't do without.
  public var isRequired: Bool
  /// The heading in the help that it stands under; nil is `OPTIONS`.
  public var section: String?
  /// Whether the help leaves it out.
  public var isHidden = false

  /// Makes an option with a value.
  public static func value(
    _ name: String, short: Character? = nil, _ placeholder: String, _ help: String, default defaultText: String? = nil,
    values: [String]? = nil, isRepeatable: Bool = false, isRequired: Bool = false, section: String? = nil
  ) -> CommandOption {
    CommandOption(
      name: name, short: short, kind: .value(placeholder), help: help, defaultText: defaultText, values: values,
      isRepeatable: isRepeatable, isRequired: isRequired, section: section)
  }

  /// Makes an option without a value.
  public static func flag(_ name: String, short: Character? = nil, _ help: String, section: String? = nil) -> CommandOption {
    CommandOption(
      name: name, short: short, kind: .flag, help: help, defaultText: nil, values: nil, isRepeatable: false, isRequired: false,
      section: section)
  }

  /// Makes a pair `--name` and `--no-name`.
  public static func invertible(_ name: String, _ help: String, default defaultText: String? = nil, section: String? = nil)
    -> CommandOption
  {
    CommandOption(
      name: name, short: nil, kind: .invertibleFlag, help: help, defaultText: defaultText, values: nil, isRepeatable: false,
      isRequired: false, section: section)
  }

  /// The name with its value as usage lines and messages show it: `--steps <n>`.
  var usage: String {
    switch kind {
    case .flag: "--\(name)"
    case .invertibleFlag: "--\(name)/--no-\(name)"
    case .value(let placeholder): "--\(name) <\(placeholder)>"
    }
  }
}

/// An argument without a name.
public struct CommandArgument: Sendable, Hashable {
  /// What it's called in the help.
  public var name: String
  /// One sentence.
  public var help: String
  /// Whether it may be left out.
  public var isOptional: Bool
  /// Whether any number of them may follow.
  public var isRepeatable: Bool

  /// Makes an argument.
  public init(_ name: String, _ help: String, isOptional: Bool = false, isRepeatable: Bool = false) {
    self.name = name
    self.help = help
    self.isOptional = isOptional
    self.isRepeatable = isRepeatable
  }

  var usage: String {
    let text = isRepeatable ? "<\(name)> ..." : "<\(name)>"
    return isOptional ? "[\(text)]" : text
  }
}

/// What a command is called, takes and does.
public struct CommandDescription: Sendable {
  /// The word on the command line.
  public var name: String
  /// One sentence.
  public var abstract: String
  /// Paragraphs below it.
  public var discussion: String
  /// Arguments without a name, in order.
  public var arguments: [CommandArgument]
  /// Options.
  public var options: [CommandOption]
  /// Commands below this one.
  public var subcommands: [any Command.Type]
  /// The one that is meant when none is named.
  public var defaultSubcommand: String?

  /// Makes a description.
  public init(
    name: String, abstract: String, discussion: String = "", arguments: [CommandArgument] = [], options: [CommandOption] = [],
    subcommands: [any Command.Type] = [], defaultSubcommand: String? = nil
  ) {
    self.name = name
    self.abstract = abstract
    self.discussion = discussion
    self.arguments = arguments
    self.options = options
    self.subcommands = subcommands
    self.defaultSubcommand = defaultSubcommand
  }

  func subcommand(_ name: String) -> (any Command.Type)? { subcommands.first { $0.configuration.name == name } }
}

/// A command: made from parsed values, run once.
public protocol Command: Sendable {
  /// What it's called, takes and does.
  static var configuration: CommandDescription { get }

  /// Takes the values; everything that can be refused without touching a file is refused here.
  init(_ values: ParsedValues) throws(UsageError)

  /// Does the work.
  func run(_ context: CommandContext) async throws -> ProgramExit
}
