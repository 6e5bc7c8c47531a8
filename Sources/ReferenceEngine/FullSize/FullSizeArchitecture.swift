public import Checkpoints
public import DiffusionModels

extension DiffusionArchitecture {
  /// The published base model of a variant: Stable Diffusion 1.5, 2.0 (768, v-prediction) or XL.
  ///
  /// - Throws: `CheckpointError`; the built-in configurations are tested not to.
  public init(fullSize variant: DiffusionVariant) throws {
    let name = "built-in \(variant.rawValue)"
    let encoders = try FullSizeConfigurations.textEncoders(variant).map { encoder in
      var config = try CLIPTextModelConfig(json: encoder.config, file: name)
      config.hasProjection = encoder.className == "CLIPTextModelWithProjection"
      return config
    }
    self.init(
      variant: variant, unet: try UNet2DConditionModelConfig(json: FullSizeConfigurations.unet(variant), file: name),
      vae: try AutoencoderKLConfig(json: FullSizeConfigurations.vae(variant), file: name), textEncoder: encoders[0],
      textEncoder2: encoders.count > 1 ? encoders[1] : nil)
  }
}
