import Checkpoints
import DiffusionModels
import KernelContract
import Synchronization
import Tensors

/// The networks of a checkpoint, built when they're first needed.
///
/// Weights stay mapped in their files, so building a network costs little. In `reduceMemory` mode nothing is kept: each
/// stage builds its network, uses it, and lets it go.
final class DiffusionNetworks: Sendable {
  let checkpoint: DiffusionCheckpoint
  let kernels: any KernelSet
  let keepsNetworks: Bool
  /// Refuses tensors that a network has no place for; otherwise they are told in ``surplus``, as diffusers does.
  let isStrict: Bool

  private struct Cache {
    var textEncoder: CLIPTextModel?
    var textEncoder2: CLIPTextModel?
    var unet: UNet2DConditionModel?
    var decoder: AutoencoderKL?
    var encoder: AutoencoderKL?
    var safetyChecker: StableDiffusionSafetyChecker?
    /// The file and the names of tensors that a network had no place for.
    var surplus: [(file: String, names: [String])] = []
  }
  private let cache = Mutex(Cache())

  init(checkpoint: DiffusionCheckpoint, kernels: any KernelSet, keepsNetworks: Bool, isStrict: Bool) {
    self.checkpoint = checkpoint
    self.kernels = kernels
    self.keepsNetworks = keepsNetworks
    self.isStrict = isStrict
  }

  /// What was left over so far, a line for each component.
  var surplus: [String] {
    cache.withLock { $0.surplus.map { "\($0.file): \(Self.summary(of: $0.names)); not used" } }
  }

  private static func summary(of names: [String]) -> String {
    let shown = names.prefix(8).map { "'\($0)'" }.joined(separator: ", ")
    return "\(names.count) tensor(s) that the network has no place for, \(shown)\(names.count > 8 ? " and others" : "")"
  }

  private func network<Network: Sendable>(
    _ place: any WritableKeyPath<Cache, Network?> & Sendable, build: () throws(CheckpointError) -> Network
  ) throws(CheckpointError) -> Network {
    if let kept = cache.withLock({ $0[keyPath: place] }) { return kept }
    let built = try build()
    if keepsNetworks { cache.withLock { $0[keyPath: place] = built } }
    return built
  }

  /// Builds a network from a component's files and notes, or refuses, the tensors that found no place, but for ignored prefixes.
  private func build<Network>(
    _ weights: any WeightSource, ignoring ignored: [String] = [], _ body: (ParameterLoader) throws(CheckpointError) -> Network
  ) throws(CheckpointError) -> Network {
    let parameters = FileParameters(weights)
    let network = try body(ParameterLoader(parameters, kernels: kernels))
    let names = parameters.unusedNames.filter { name in !ignored.contains { name.hasPrefix($0) } }
    guard !names.isEmpty else { return network }
    if isStrict {
      throw CheckpointError(
        .invalid, file: weights.location,
        Self.summary(of: names) + "; the weights don't belong to this configuration, or leave --strict out")
    }
    cache.withLock { cache in
      if !cache.surplus.contains(where: { $0.file == weights.location && $0.names == names }) {
        cache.surplus.append((weights.location, names))
      }
    }
    return network
  }

  func textEncoder() throws(CheckpointError) -> CLIPTextModel {
    try network(\.textEncoder) { () throws(CheckpointError) in try buildTextEncoder(checkpoint.textEncoder) }
  }

  func textEncoder2() throws(CheckpointError) -> CLIPTextModel? {
    guard let second = checkpoint.textEncoder2 else { return nil }
    return try network(\.textEncoder2) { () throws(CheckpointError) in try buildTextEncoder(second) }
  }

  private func buildTextEncoder(_ encoder: TextEncoderCheckpoint) throws(CheckpointError) -> CLIPTextModel {
    // Single files carry a projection and a temperature that the encoder without projection has no use for.
    try build(encoder.weights, ignoring: ["text_projection.weight", "logit_scale"]) {
      loader throws(CheckpointError) in try CLIPTextModel(config: encoder.config, loader: loader)
    }
  }

  func unet() throws(CheckpointError) -> UNet2DConditionModel {
    try network(\.unet) { () throws(CheckpointError) in
      try build(checkpoint.unet) { loader throws(CheckpointError) in
        try UNet2DConditionModel(config: checkpoint.unetConfig, loader: loader)
      }
    }
  }

  func vaeDecoder() throws(CheckpointError) -> AutoencoderKL {
    try network(\.decoder) { () throws(CheckpointError) in
      try build(checkpoint.vae, ignoring: ["encoder.", "quant_conv."]) {
        loader throws(CheckpointError) in
        try AutoencoderKL(config: checkpoint.vaeConfig, parts: [.decoder], loader: loader)
      }
    }
  }

  func vaeEncoder() throws(CheckpointError) -> AutoencoderKL {
    try network(\.encoder) { () throws(CheckpointError) in
      try build(checkpoint.vae, ignoring: ["decoder.", "post_quant_conv."]) {
        loader throws(CheckpointError) in
        try AutoencoderKL(config: checkpoint.vaeConfig, parts: [.encoder], loader: loader)
      }
    }
  }

  func safetyChecker() throws(CheckpointError) -> StableDiffusionSafetyChecker? {
    guard let safety = checkpoint.safetyChecker else { return nil }
    return try network(\.safetyChecker) { () throws(CheckpointError) in
      try build(safety.weights) { loader throws(CheckpointError) in
        try StableDiffusionSafetyChecker(config: safety.config, loader: loader)
      }
    }
  }

  /// Builds all networks of text-to-image once, so that damaged files show at the load and not in a generation.
  func buildAll() throws(CheckpointError) {
    _ = try textEncoder()
    _ = try textEncoder2()
    _ = try unet()
    _ = try vaeDecoder()
    if isStrict { _ = try vaeEncoder() }
    _ = try safetyChecker()
  }
}
