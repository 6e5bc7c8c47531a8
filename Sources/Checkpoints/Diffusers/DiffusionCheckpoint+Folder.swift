import Tensors

extension DiffusionCheckpoint {
  /// Puts a diffusers folder together.
  ///
  /// - Throws: ``CheckpointError``.
  public init(folder: DiffusersFolder, overrides: Overrides = Overrides()) throws(CheckpointError) {
    let unetJSON = try folder.requireJSON("unet", "config.json")
    let unetConfig = try UNet2DConditionModelConfig(json: unetJSON.value, file: unetJSON.file)
    let vaeJSON = try folder.requireJSON("vae", "config.json")
    let vaeConfig = try AutoencoderKLConfig(json: vaeJSON.value, file: vaeJSON.file)
    let schedulerJSON = try folder.requireJSON("scheduler", "scheduler_config.json")
    var scheduler = try SchedulerConfig(json: schedulerJSON.value, file: schedulerJSON.file)

    guard folder.className(of: "text_encoder") != nil else {
      throw CheckpointError(
        .unsupported, file: folder.path,
        "model_index.json names no text_encoder; an XL refiner or a partial pipeline isn't supported: use the base model")
    }
    let first = try folder.textEncoder("text_encoder", tokenizer: "tokenizer")
    let second =
      folder.className(of: "text_encoder_2") == nil
      ? nil : try folder.textEncoder("text_encoder_2", tokenizer: "tokenizer_2")

    var safetyChecker: SafetyCheckerCheckpoint?
    if folder.className(of: "safety_checker") != nil, overrides.opensSafetyChecker {
      safetyChecker = try folder.safetyChecker()
    }

    let predictionType: PredictionType
    if let override = overrides.predictionType {
      predictionType = override
      scheduler.values["prediction_type"] = .string(override.rawValue)
    } else {
      let name = scheduler.values["prediction_type"] ?? "epsilon"
      guard let type = name.string.flatMap({ PredictionType(rawValue: $0) }) else {
        throw CheckpointError(
          .unsupported, file: schedulerJSON.file,
          "key 'prediction_type': \(name.brief) isn't supported; supported: epsilon, v_prediction, sample")
      }
      predictionType = type
    }

    let vaeWeights = try WeightTable(
      renaming: folder.weights("vae", stem: "diffusion_pytorch_model"), by: WeightKey.vae)
    self = try DiffusionCheckpoint(
      location: folder.path,
      format: .diffusers,
      variant: overrides.variant ?? (second != nil ? .sdxl : unetConfig.useLinearProjection ? .sd20 : .sd15),
      predictionType: predictionType,
      unetConfig: unetConfig,
      unet: folder.weights("unet", stem: "diffusion_pytorch_model"),
      vaeConfig: vaeConfig,
      vae: vaeWeights.mapping { $0.name.contains(".attentions.") ? $0.squeezed1x1() : $0 },
      textEncoder: first,
      textEncoder2: second,
      safetyChecker: safetyChecker,
      scheduler: scheduler,
      forceZerosForEmptyPrompt: folder.index["force_zeros_for_empty_prompt"]?.bool ?? (second != nil)
    ).validated()
  }
}

extension DiffusersFolder {
  fileprivate func textEncoder(_ component: String, tokenizer: String) throws(CheckpointError) -> TextEncoderCheckpoint {
    let json = try requireJSON(component, "config.json")
    var config = try CLIPTextModelConfig(json: json.value, file: json.file)
    let weights = try WeightTable(renaming: weights(component, stem: "model"), by: WeightKey.textEncoder)
    config.hasProjection = className(of: component) == "CLIPTextModelWithProjection"
    return TextEncoderCheckpoint(
      config: config, weights: try CLIPTextKeys.used(weights, by: config), tokenizer: try self.tokenizer(tokenizer))
  }

  fileprivate func safetyChecker() throws(CheckpointError) -> SafetyCheckerCheckpoint {
    guard hasFolder("safety_checker") else {
      throw CheckpointError(
        .missing, file: path + "/safety_checker",
        "model_index.json names a safety checker, but its folder isn't there; download it, or do without it by "
          + "--no-safety-checker (images are then reported as unchecked)")
    }
    let json = try requireJSON("safety_checker", "config.json")
    let config = try StableDiffusionSafetyCheckerConfig(json: json.value, file: json.file)
    let processor = try self.json("feature_extractor", "preprocessor_config.json")
    return SafetyCheckerCheckpoint(
      config: config,
      weights: try WeightTable(renaming: weights("safety_checker", stem: "model"), by: WeightKey.safetyChecker),
      imageProcessor: try processor.map { json throws(CheckpointError) in
        try CLIPImageProcessorConfig(json: json.value, file: json.file)
      } ?? .standard)
  }
}
