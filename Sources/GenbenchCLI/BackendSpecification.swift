import ExternalBackends
import GenBackend

/// Which engine, and how it's set up: `--backend`, `--kernels`, `--threads`.
public struct BackendSpecification: Sendable, Hashable {
  /// The engines that can be named.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The engine in the box.
    case reference = "ref"
    /// An engine that does nothing, for what the harness itself costs.
    case null
    /// A program that speaks `genbench.backend/1` on its stdin and stdout.
    case process = "proc"
  }

  /// The engine.
  public var kind: Kind
  /// The kernel set: `fast` or `reference`; nil is the engine's choice.
  public var kernels: String?
  /// Worker threads; nil is one for each core, or the other program's choice.
  public var threads: Int?
  /// Whether `GENBENCH_FAULT` has no say: for the engine that others are judged by.
  public var isFaultless = false
  /// The program of ``Kind/process`` with its arguments, as a shell takes them.
  public var command: String?
  /// How long a request may take, in ns; nil is the usual limit.
  public var timeoutNs: UInt64?
  /// How long the engine may say nothing during a request, in ns; nil is the usual limit.
  public var silenceNs: UInt64?

  /// Makes a specification.
  public init(kind: Kind = .reference, kernels: String? = nil, threads: Int? = nil, isFaultless: Bool = false) {
    self.kind = kind
    self.isFaultless = isFaultless
    self.kernels = kernels
    self.threads = threads
  }

  static let kernelSets = ["fast", "reference"]
  private static let forms = "ref, null or proc:COMMAND"

  /// Reads `ref`, `ref:threads=1,kernels=reference`, `proc:COMMAND` or `proc,timeout=60s,silence=10s,threads=2:COMMAND`.
  public init(parsing text: String) throws(UsageError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let head = parts[0].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard let kind = Kind(rawValue: head[0]), kind == .process || head.count == 1 else {
      throw UsageError("The value '\(text)' is invalid for '--backend <spec>': expected \(Self.forms)")
    }
    self.init(kind: kind)
    guard kind == .process else {
      for setting in parts.count > 1 ? parts[1].split(separator: ",").map(String.init) : [] { try set(setting) }
      return
    }
    guard parts.count == 2 else {
      throw UsageError("The value '\(text)' is invalid for '--backend <spec>': expected a program, as in proc:\"python engine.py\"")
    }
    for setting in head.dropFirst() { try set(setting) }
    command = parts[1]
    do { _ = try CommandWords.split(parts[1]) } catch {
      throw UsageError("The value '\(text)' is invalid for '--backend <spec>': \(error.message)")
    }
  }

  private mutating func set(_ setting: String) throws(UsageError) {
    let pair = setting.split(separator: "=", maxSplits: 1).map(String.init)
    let option = "--backend \(kind.rawValue)"
    switch (pair.first, pair.last, kind) {
    case ("threads", let value?, _) where pair.count == 2 && (1...1024).contains(Int(value) ?? 0): threads = Int(value)
    case ("kernels", let value?, .reference) where pair.count == 2 && Self.kernelSets.contains(value): kernels = value
    case ("timeout", let value?, .process) where pair.count == 2: timeoutNs = try RunOptions.duration(value, option: option)
    case ("silence", let value?, .process) where pair.count == 2: silenceNs = try RunOptions.duration(value, option: option)
    default:
      let known = kind == .process ? "timeout=TIME, silence=TIME or threads=N" : "threads=N or kernels=fast|reference"
      throw UsageError("The setting '\(setting)' is invalid for '\(option)': expected \(known)")
    }
  }

  /// Cuts a list of specifications at the commas that are followed by another one.
  ///
  /// Commas within quotes are never ends, nor are those of settings: `ref:threads=1,kernels=fast,proc:"run --sizes 1,2"` are two.
  public static func list(_ text: String) -> [String] {
    var list: [String] = []
    var current = ""
    var quote: Character?
    var rest = Substring(text)
    while let character = rest.popFirst() {
      if character == "," && quote == nil, startsSpecification(rest) {
        list.append(current)
        current = ""
        continue
      }
      if character == quote { quote = nil } else if quote == nil, character == "'" || character == "\"" { quote = character }
      current.append(character)
      if character == "\\", quote != "'", let next = rest.popFirst() { current.append(next) }
    }
    return list + [current]
  }

  private static func startsSpecification(_ text: Substring) -> Bool {
    let name = text.prefix { $0 != ":" && $0 != "," }
    guard let kind = Kind(rawValue: String(name)) else { return false }
    // `proc` without a command is a word of somebody else's.
    return kind != .process || name.endIndex < text.endIndex
  }

  /// The options that commands with an engine share.
  static let options: [CommandOption] = [
    .value(
      "backend", "spec",
      "The engine: ref, or with settings as in ref:threads=1; proc:COMMAND or proc,timeout=60s:COMMAND is a program that speaks genbench.backend/1; null does nothing.",
      default: "ref", section: "ENGINE"),
    .value(
      "kernels", "set", "The operators: SIMD and threads, or plain loops with sums in Double.", default: "fast",
      values: kernelSets, section: "ENGINE"),
    .value("threads", "n", "Worker threads.", default: "one a core", section: "ENGINE"),
  ]

  /// Reads those options; `--kernels` and `--threads` win over what `--backend` says.
  init(_ values: ParsedValues) throws(UsageError) {
    if let text = values.string("backend") { self = try BackendSpecification(parsing: text) } else { self.init() }
    kernels = values.string("kernels") ?? kernels
    threads = try values.int("threads", in: 1...1024) ?? threads
    if kernels != nil, kind == .process { throw UsageError("--kernels belongs to the engine in the box; leave it out with proc") }
  }
}
