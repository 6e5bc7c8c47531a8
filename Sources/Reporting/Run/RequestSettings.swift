public import GenBackend
public import Tensors

/// Settings of requests beyond size, steps, scheduler and guidance; nil is the engine's own.
///
/// Files have them as texts by name.
public struct RequestSettings: Sendable, Hashable {
  /// η of DDIM and TCD.
  public var eta: Double?
  /// How far guided predictions are brought back to the conditional spread, 0...1.
  public var guidanceRescale: Double?
  /// `leading`, `trailing`, `linspace`.
  public var timestepSpacing: String?
  /// Layers to skip at the end of the text encoder.
  public var clipSkip: Int?
  /// What is done with a prompt that is too long.
  public var longPrompt: ImageRequest.LongPrompt?
  /// The generator of the noise.
  public var randomSource: RandomSource?
  /// Of text: divides the logits.
  public var temperature: Double?

  /// Leaves all to the engine.
  public init() {}

  /// The texts of files.
  var texts: [String: String] {
    func number(_ value: Double?) -> String? { value.map { $0 == $0.rounded() ? String(Int($0)) : String($0) } }
    return [
      "eta": number(eta), "guidance_rescale": number(guidanceRescale), "timestep_spacing": timestepSpacing,
      "clip_skip": clipSkip.map(String.init), "long_prompt": longPrompt?.rawValue, "rng": randomSource?.rawValue,
      "temperature": number(temperature),
    ].compactMapValues { $0 }
  }

  /// Takes the texts of a file; other names than these are left out.
  init(texts: [String: String]) {
    eta = texts["eta"].flatMap(Double.init)
    guidanceRescale = texts["guidance_rescale"].flatMap(Double.init)
    timestepSpacing = texts["timestep_spacing"]
    clipSkip = texts["clip_skip"].flatMap { Int($0) }
    longPrompt = texts["long_prompt"].flatMap { ImageRequest.LongPrompt(rawValue: $0) }
    randomSource = texts["rng"].flatMap { RandomSource(rawValue: $0) }
    temperature = texts["temperature"].flatMap(Double.init)
  }
}

extension RequestSettings: Codable {
  /// Reads an object of texts.
  public init(from decoder: any Decoder) throws { self.init(texts: try [String: String](from: decoder)) }
  /// Writes an object of texts.
  public func encode(to encoder: any Encoder) throws { try texts.encode(to: encoder) }
}

/// How an engine was set up; nil is its own choice.
public struct EngineSettings: Sendable, Hashable {
  /// The arithmetic: `f32`, `bf16`.
  public var precision: String?
  /// Worker threads.
  public var threads: Int?
  /// The kernel set.
  public var kernels: RunPlan.Kernels?
  /// One component at a time.
  public var reducesMemory: Bool

  /// Makes settings.
  public init(precision: String? = nil, threads: Int? = nil, kernels: RunPlan.Kernels? = nil, reducesMemory: Bool = false) {
    self.precision = precision
    self.threads = threads
    self.kernels = kernels
    self.reducesMemory = reducesMemory
  }

  /// The texts of files.
  var texts: [String: String] {
    [
      "precision": precision, "threads": threads.map(String.init), "kernels": kernels?.rawValue,
      "reduce_memory": reducesMemory ? "true" : nil,
    ].compactMapValues { $0 }
  }

  /// Takes the texts of a file; other names than these are left out.
  init(texts: [String: String]) {
    precision = texts["precision"]
    threads = texts["threads"].flatMap { Int($0) }
    kernels = texts["kernels"].flatMap { RunPlan.Kernels(rawValue: $0) }
    reducesMemory = texts["reduce_memory"] == "true"
  }
}

/// What was set of a case, beyond its size, steps, scheduler and guidance; one object of texts in files.
public struct CaseSettings: Sendable, Hashable, Codable {
  /// How the engine was set up.
  public var engine: EngineSettings
  /// What else was asked of it.
  public var request: RequestSettings

  /// The texts of files.
  var texts: [String: String] { engine.texts.merging(request.texts) { $1 } }

  init(engine: EngineSettings, request: RequestSettings) {
    self.engine = engine
    self.request = request
  }

  /// Reads an object of texts.
  public init(from decoder: any Decoder) throws {
    let texts = try [String: String](from: decoder)
    self.init(engine: EngineSettings(texts: texts), request: RequestSettings(texts: texts))
  }

  /// Writes an object of texts.
  public func encode(to encoder: any Encoder) throws { try texts.encode(to: encoder) }
}
