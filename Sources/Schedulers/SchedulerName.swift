import JSON

/// A sampler as users name it: `dpmpp_2m_karras`, `DPM++ 2M Karras`, `DPMSolverMultistepScheduler`.
public struct SchedulerName: Sendable, Hashable, CustomStringConvertible {
  /// The samplers.
  public enum Kind: String, Sendable, CaseIterable {
    case ddim, ddpm, pndm, lms, euler
    case eulerA = "euler_a"
    case heun, dpm2
    case dpm2A = "dpm2_a"
    case dpmpp2M = "dpmpp_2m"
    case dpmpp2MSDE = "dpmpp_2m_sde"
    case dpmpp2S = "dpmpp_2s"
    case dpmppSDE = "dpmpp_sde"
    case unipc, deis, lcm, tcd

    /// The class that the sampler is in diffusers: `EulerDiscreteScheduler`.
    public var className: String { type.className }

    /// That class.
    var type: any Scheduler.Type {
      switch self {
      case .ddim: DDIMScheduler.self
      case .ddpm: DDPMScheduler.self
      case .pndm: PNDMScheduler.self
      case .lms: LMSDiscreteScheduler.self
      case .euler: EulerDiscreteScheduler.self
      case .eulerA: EulerAncestralDiscreteScheduler.self
      case .heun: HeunDiscreteScheduler.self
      case .dpm2: KDPM2DiscreteScheduler.self
      case .dpm2A: KDPM2AncestralDiscreteScheduler.self
      case .dpmpp2M, .dpmpp2MSDE: DPMSolverMultistepScheduler.self
      case .dpmpp2S, .dpmppSDE: DPMSolverSinglestepScheduler.self
      case .unipc: UniPCMultistepScheduler.self
      case .deis: DEISMultistepScheduler.self
      case .lcm: LCMScheduler.self
      case .tcd: TCDScheduler.self
      }
    }

    /// Whether that class has the Karras, exponential and beta switches.
    public var allowsSigmaSpacing: Bool {
      switch self {
      case .ddim, .ddpm, .pndm, .eulerA, .lcm, .tcd: false
      default: true
      }
    }

    /// Keys that the name fixes, whatever the config says.
    fileprivate var fixedKeys: JSONObject {
      switch self {
      case .dpmpp2M, .dpmpp2S: ["algorithm_type": .string("dpmsolver++"), "solver_order": .number(2)]
      case .dpmpp2MSDE, .dpmppSDE: ["algorithm_type": .string("sde-dpmsolver++"), "solver_order": .number(2)]
      default: [:]
      }
    }
  }

  /// The sampler.
  public let kind: Kind
  /// The spacing that the name asks for; nil leaves it to the config.
  public let sigmaSpacing: SigmaSpacing?
  /// Whether a class was named, so that the config alone decides the class's options.
  public let isClassName: Bool

  /// Makes a name from its parts.
  public init(_ kind: Kind, sigmaSpacing: SigmaSpacing? = nil) {
    self.kind = kind
    self.sigmaSpacing = sigmaSpacing
    isClassName = false
  }

  /// Understands genbench's names, diffusers' class names and A1111's labels, in any case.
  ///
  /// - Throws: `unknownName`, with the nearest name.
  public init(_ name: String) throws(SchedulerError) {
    let word = name.lowercased().replacing("++", with: "pp").replacing(" ", with: "_").replacing("-", with: "_")
    let suffixed = Self.suffixes.first { word.hasSuffix("_" + $0.rawValue) }
    let stem = suffixed.map { String(word.dropLast($0.rawValue.count + 1)) } ?? word
    guard let kind = Kind(rawValue: Self.aliases[stem] ?? stem) else {
      if let kind = Kind.allCases.first(where: { [word, word + "scheduler"].contains($0.className.lowercased()) }) {
        self.kind = kind
        sigmaSpacing = nil
        isClassName = true
        return
      }
      let nearest = Self.all.map(\.description).min { Self.distance($0, word) < Self.distance($1, word) } ?? "ddim"
      throw SchedulerError(
        .unknownName,
        "scheduler '\(name)' is unknown; did you mean '\(nearest)'? "
          + "Names: \(Kind.allCases.map(\.rawValue).joined(separator: " ")), most also with _karras, _exponential or _beta")
    }
    if let suffixed, !kind.allowsSigmaSpacing {
      throw SchedulerError(
        .unknownName,
        "scheduler '\(name)': \(kind.rawValue) has no \(suffixed.rawValue) spacing in diffusers; use '\(kind.rawValue)'")
    }
    self.kind = kind
    sigmaSpacing = suffixed
    isClassName = false
  }

  private static let suffixes: [SigmaSpacing] = [.karras, .exponential, .beta]

  private static let aliases = [
    "plms": "pndm", "euler_ancestral": "euler_a", "k_euler": "euler", "k_euler_a": "euler_a", "k_euler_ancestral": "euler_a",
    "k_lms": "lms", "k_heun": "heun", "dpm_2": "dpm2", "dpm_2_a": "dpm2_a", "k_dpm_2": "dpm2", "k_dpm_2_a": "dpm2_a",
    "dpmpp2m": "dpmpp_2m", "dpmpp2m_sde": "dpmpp_2m_sde", "dpmpp2s": "dpmpp_2s", "uni_pc": "unipc",
  ]

  /// Every name, with its spacings.
  public static var all: [SchedulerName] {
    Kind.allCases.flatMap { kind in
      [SchedulerName(kind)] + (kind.allowsSigmaSpacing ? suffixes.map { SchedulerName(kind, sigmaSpacing: $0) } : [])
    }
  }

  /// The name in genbench's spelling, or the class name.
  public var description: String {
    isClassName ? kind.type.className : kind.rawValue + (sigmaSpacing.map { "_" + $0.rawValue } ?? "")
  }

  /// Makes the scheduler, merging the model's config as diffusers' `from_config` does.
  ///
  /// - Parameters:
  ///   - config: The model's `scheduler_config.json`; empty for the class's own defaults.
  ///   - eta: The noise amount of DDIM and TCD; diffusers' pipelines pass 0. Others ignore it.
  public func makeScheduler(config: SchedulerConfig = SchedulerConfig(), eta: Double = 0) throws(SchedulerError) -> any Scheduler
  {
    var merged = isClassName ? config : config.merging(kind.fixedKeys)
    if let sigmaSpacing {
      merged.values["use_lu_lambdas"] = .bool(false)
      for suffix in Self.suffixes { merged.values["use_\(suffix.rawValue)_sigmas"] = .bool(suffix == sigmaSpacing) }
    }
    guard eta >= 0, eta <= 1 else {
      throw SchedulerError(.invalidArgument, "eta: expected a number in 0...1, found \(eta)")
    }
    let scheduler = try kind.type.init(config: merged)
    if var ddim = scheduler as? DDIMScheduler {
      ddim.eta = eta
      return ddim
    }
    if var tcd = scheduler as? TCDScheduler {
      tcd.eta = eta
      return tcd
    }
    return scheduler
  }

  /// Edit distance (Levenshtein).
  private static func distance(_ left: String, _ right: String) -> Int {
    let target = Array(right)
    var row = Array(0...target.count)
    for (i, character) in left.enumerated() {
      var diagonal = row[0]
      row[0] = i + 1
      for j in target.indices {
        let substituted = diagonal + (character == target[j] ? 0 : 1)
        diagonal = row[j + 1]
        row[j + 1] = min(substituted, row[j] + 1, row[j + 1] + 1)
      }
    }
    return row[target.count]
  }
}

extension SchedulerName: Codable {
  /// Reads a name.
  ///
  /// - Throws: `DecodingError` for an unknown one.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    do {
      try self.init(try container.decode(String.self))
    } catch let error as SchedulerError {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: error.message)
    }
  }

  /// Writes the name.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
