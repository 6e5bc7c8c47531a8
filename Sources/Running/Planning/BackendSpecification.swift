public import Reporting

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
    /// stable-diffusion.cpp's server.
    case sdServer = "sdcpp+http"
    /// llama.cpp's server.
    case llamaServer = "llama+http"
    /// A server with OpenAI's interface.
    case openAI = "openai+http"
    /// AUTOMATIC1111's web UI.
    case a1111 = "a1111+http"

    /// Whether it's a server.
    public var isServer: Bool { rawValue.hasSuffix("+http") }
  }

  /// The engine.
  public var kind: Kind
  /// The kernel set; nil is the engine's choice.
  public var kernels: RunPlan.Kernels?
  /// Worker threads; nil is one for each core, or the other program's choice.
  public var threads: Int?
  /// Whether `GENBENCH_FAULT` has no say: for the engine that others are judged by.
  public var isFaultless = false
  /// The program of ``Kind/process`` and its arguments.
  public var words: [String] = []
  /// Where a server is: what stands after `http://`.
  public var address = ""
  /// How long a request may take, in ns; nil is the usual limit.
  public var timeoutNs: UInt64?
  /// How long the engine may say nothing during a request, in ns; nil is the usual limit.
  public var silenceNs: UInt64?

  /// Makes a specification.
  public init(kind: Kind = .reference, kernels: RunPlan.Kernels? = nil, threads: Int? = nil, isFaultless: Bool = false) {
    self.kind = kind
    self.isFaultless = isFaultless
    self.kernels = kernels
    self.threads = threads
  }

  /// Reads `ref`, `ref:threads=1,kernels=reference`, `proc:COMMAND`, `proc,timeout=60s,silence=10s,threads=2:COMMAND`,
  /// `llama+http://HOST:PORT` or `llama+http,timeout=60s://HOST:PORT`.
  public init(parsing text: String) throws(SettingError) {
    func refuse(_ why: String) -> SettingError { SettingError("The value '\(text)' is invalid for '--backend <spec>': \(why)") }
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let head = parts[0].split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard let kind = Kind(rawValue: head[0]) else {
      throw refuse(
        "expected ref, null, proc:COMMAND or one of \(Kind.allCases.filter(\.isServer).map(\.rawValue).joined(separator: ", ")) with "
          + "://HOST:PORT")
    }
    self.init(kind: kind)
    switch kind {
    case .reference, .null:
      guard head.count == 1 else { throw refuse("settings of \(kind.rawValue) stand after a colon, as in ref:threads=1") }
      for setting in parts.count > 1 ? parts[1].split(separator: ",").map(String.init) : [] { try set(setting) }
    case .process:
      guard parts.count == 2 else { throw refuse("expected a program, as in proc:\"python engine.py\"") }
      for setting in head.dropFirst() { try set(setting) }
      do { words = try CommandWords.split(parts[1]) } catch { throw refuse("\(error)") }
    case .sdServer, .llamaServer, .openAI, .a1111:
      guard parts.count == 2, parts[1].hasPrefix("//"), parts[1].count > 2 else {
        throw refuse("expected \(kind.rawValue)://HOST:PORT")
      }
      for setting in head.dropFirst() { try set(setting) }
      address = String(parts[1].dropFirst(2))
    }
  }

  private mutating func set(_ setting: String) throws(SettingError) {
    let pair = setting.split(separator: "=", maxSplits: 1).map(String.init)
    let option = "--backend \(kind.rawValue)"
    let isOutside = kind == .process || kind.isServer
    switch (pair.first, pair.last) {
    case ("threads", let value?) where pair.count == 2 && !kind.isServer && (1...1024).contains(Int(value) ?? 0):
      threads = Int(value)
    case ("kernels", let value?) where pair.count == 2 && kind == .reference && RunPlan.Kernels(rawValue: value) != nil:
      kernels = RunPlan.Kernels(rawValue: value)
    case ("timeout", let value?) where pair.count == 2 && isOutside: timeoutNs = try RunOptions.duration(value, option: option)
    case ("silence", let value?) where pair.count == 2 && isOutside: silenceNs = try RunOptions.duration(value, option: option)
    default:
      let known =
        kind == .process
        ? "timeout=TIME, silence=TIME or threads=N"
        : kind.isServer ? "timeout=TIME or silence=TIME" : "threads=N or kernels=fast|reference"
      throw SettingError("The setting '\(setting)' is invalid for '\(option)': expected \(known)")
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
      if character == ",", quote == nil, startsSpecification(rest) {
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
    // A kind that needs more is a word of somebody else's without it.
    return kind == .reference || kind == .null || name.endIndex < text.endIndex
  }

  /// A short name for tables and folders: the kind, or a program's own name.
  var shortName: String {
    guard kind == .process else { return String(kind.rawValue.prefix { $0 != "+" }) }
    let runners = ["env", "sh", "bash", "nice", "node", "ruby", "perl"]
    let names = words.filter { !$0.hasPrefix("-") && !$0.contains("=") }.map { word in
      String(word.split(separator: "/").last ?? "")
    }
    let own = names.first { name in !runners.contains(name) && !name.hasPrefix("python") && !name.isEmpty } ?? names.first ?? ""
    let stem = own.lastIndex(of: ".").flatMap { $0 == own.startIndex ? nil : String(own[..<$0]) } ?? own
    let shown = String(stem.map { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) ? $0 : "-" })
    return shown.isEmpty ? kind.rawValue : shown
  }
}
