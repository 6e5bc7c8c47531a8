public import Reporting

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
  /// The kernel set; nil is the engine's choice.
  public var kernels: RunPlan.Kernels?
  /// Worker threads; nil is one for each core.
  public var threads: Int?
  /// Whether `GENBENCH_FAULT` has no say: for the engine that others are judged by.
  public var isFaultless = false

  /// Makes a specification.
  public init(kind: Kind = .reference, kernels: RunPlan.Kernels? = nil, threads: Int? = nil, isFaultless: Bool = false) {
    self.kind = kind
    self.isFaultless = isFaultless
    self.kernels = kernels
    self.threads = threads
  }

  /// Reads `ref` or `ref:threads=1,kernels=reference`.
  public init(parsing text: String) throws(SettingError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let kind = Kind(rawValue: String(parts[0])) else {
      throw SettingError(
        "The value '\(text)' is invalid for '--backend <spec>': expected one of \(Kind.allCases.map(\.rawValue).joined(separator: ", "))"
      )
    }
    self.init(kind: kind)
    for setting in parts.count > 1 ? parts[1].split(separator: ",") : [] {
      let pair = setting.split(separator: "=", maxSplits: 1).map(String.init)
      switch (pair.first, pair.last) {
      case ("threads", let value?) where pair.count == 2 && (1...1024).contains(Int(value) ?? 0): threads = Int(value)
      case ("kernels", let value?) where pair.count == 2 && RunPlan.Kernels(rawValue: value) != nil:
        kernels = RunPlan.Kernels(rawValue: value)
      default:
        throw SettingError(
          "The setting '\(setting)' is invalid for '--backend \(parts[0])': expected threads=N or kernels=fast|reference")
      }
    }
  }
}
