/// Which engine, and how it's set up: `--backend`, `--kernels`, `--threads`.
public struct BackendSpecification: Sendable, Hashable {
  /// The engines that can be named.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The engine in the box.
    case reference = "ref"
    /// An engine that does nothing, for what the harness itself costs.
    case null
  }

  /// The engine.
  public var kind: Kind
  /// The kernel set: `fast` or `reference`; nil is the engine's choice.
  public var kernels: String?
  /// Worker threads; nil is one for each core.
  public var threads: Int?
  /// Whether `GENBENCH_FAULT` has no say: for the engine that others are judged by.
  public var isFaultless = false

  /// Makes a specification.
  public init(kind: Kind = .reference, kernels: String? = nil, threads: Int? = nil, isFaultless: Bool = false) {
    self.kind = kind
    self.isFaultless = isFaultless
    self.kernels = kernels
    self.threads = threads
  }

  static let kernelSets = ["fast", "reference"]

  /// Reads `ref` or `ref:threads=1,kernels=reference`.
  public init(parsing text: String) throws(UsageError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let kind = Kind(rawValue: String(parts[0])) else {
      throw UsageError(
        "The value '\(text)' is invalid for '--backend <spec>': expected one of \(Kind.allCases.map(\.rawValue).joined(separator: ", "))"
      )
    }
    self.init(kind: kind)
    for setting in parts.count > 1 ? parts[1].split(separator: ",") : [] {
      let pair = setting.split(separator: "=", maxSplits: 1).map(String.init)
      switch (pair.first, pair.last) {
      case ("threads", let value?) where pair.count == 2 && (1...1024).contains(Int(value) ?? 0): threads = Int(value)
      case ("kernels", let value?) where pair.count == 2 && Self.kernelSets.contains(value): kernels = value
      default:
        throw UsageError(
          "The setting '\(setting)' is invalid for '--backend \(parts[0])': expected threads=N or kernels=fast|reference")
      }
    }
  }

  /// The options that commands with an engine share.
  static let options: [CommandOption] = [
    .value(
      "backend", "spec", "The engine: ref, or with settings as in ref:threads=1; null does nothing.", default: "ref",
      section: "ENGINE"),
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
  }
}
