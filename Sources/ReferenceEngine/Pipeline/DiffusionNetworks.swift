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

  private struct Cache {
    var textEncoder: CLIPTextModel?
    var textEncoder2: CLIPTextModel?
    var unet: UNet2DConditionModel?
    var decoder: AutoencoderKL?
    var encoder: AutoencoderKL?
    var safetyChecker: StableDiffusionSafetyChecker?
  }
  private let cache = Mutex(Cache())

  init(checkpoint: DiffusionCheckpoint, kernels: any KernelSet, keepsNetworks: Bool) {
    self.checkpoint = checkpoint
    self.kernels = kernels
    self.keepsNetworks = keepsNetworks
  }

  private func network<Network: Sendable>(
    _ place: any WritableKeyPath<Cache, Network?> & Sendable, build: () throws(CheckpointError) -> Network
  ) throws(CheckpointError) -> Network {
    if let kept = cache.withLock({ $0[keyPath: place] }) { return kept }
    let built = try build()
    if keepsNetworks { cache.withLock { $0[keyPath: place] = built } }
    return built
  }

  /// Builds a network from a component's files and makes sure that every tensor found its place, but for ignored prefixes.
  private func build<Network>(
    _ weights: any WeightSource, ignoring ignored: [String] = [], _ body: (ParameterLoader) throws(CheckpointError) -> Network
  ) throws(CheckpointError) -> Network {
    let parameters = FileParameters(weights)
    let network = try body(ParameterLoader(parameters, kernels: kernels))
    try parameters.requireAllUsed { name in ignored.contains { name.hasPrefix($0) } }
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
    _ = try safetyChecker()
  }
}
