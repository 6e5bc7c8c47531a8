import Tensors

extension DiffusionCheckpoint {
  /// Puts a single-file safetensors checkpoint of CompVis's or SGM's layout together.
  ///
  /// - Throws: ``CheckpointError``.
  public init(singleFile file: SafetensorsFile, overrides: Overrides = Overrides()) throws(CheckpointError) {
    try self.init(
      source: file, format: .ldm, configText: file.metadata[LDMOverlay.key],
      publishedPrediction: file.metadata["modelspec.prediction_type"], overrides: overrides)
  }

  /// Puts a GGUF file of stable-diffusion.cpp together.
  ///
  /// - Throws: ``CheckpointError``; `.unsupported` for GGUF files of other kinds of models.
  public init(gguf file: GGUFFile, overrides: Overrides = Overrides()) throws(CheckpointError) {
    if let architecture = file.architecture, ["llama", "qwen2", "qwen2vl", "clip"].contains(architecture) {
      throw CheckpointError(
        .unsupported, file: file.location,
        "a GGUF file of architecture '\(architecture)' is a language or vision model, not Stable Diffusion: use it with describe or"
          + " complete")
    }
    try self.init(
      source: file, format: .gguf, configText: file.metadata[LDMOverlay.key]?.string, publishedPrediction: nil,
      overrides: overrides)
  }

  private init(
    source: any WeightSource, format: Format, configText: String?, publishedPrediction: String?, overrides: Overrides
  ) throws(CheckpointError) {
    let location = source.location
    let overlay = try LDMOverlay.parse(configText, file: location)
    let tables = try LDMComponent.tables(of: source)
    guard let unetTable = tables[.unet] else {
      throw CheckpointError(
        .unsupported, file: location,
        "no Stable Diffusion UNet in it: expected tensors named model.diffusion_model.…; a LoRA, a VAE or another kind of model?")
    }
    func require(_ component: LDMComponent, _ what: String) throws(CheckpointError) -> WeightTable {
      guard let table = tables[component] else {
        throw CheckpointError(
          .unsupported, file: location,
          "it has no \(what); a complete checkpoint is needed (UNet, VAE and text encoders in one file)")
      }
      return table
    }
    let unet = try LDMUNetKeys.canonical(unetTable)
    let vae = try LDMVAEKeys.canonical(try require(.vae, "VAE"))
    let firstTable = try require(.textEncoder, "text encoder")
    let first = try CLIPTextKeys.canonical(firstTable)
    let firstIsOpenCLIP = CLIPTextKeys.isOpenCLIP(firstTable)
    var second: WeightTable?
    if let table = tables[.textEncoder2] { second = try CLIPTextKeys.canonical(table) }

    let isXL = unet.weight(named: "add_embedding.linear_1.weight") != nil
    if isXL, second == nil {
      throw CheckpointError(
        .unsupported, file: location,
        "an XL model with one text encoder, such as the refiner, isn't supported: use the base model")
    }
    let isLinear = unet.weight(named: "mid_block.attentions.0.proj_in.weight")?.shape.rank == 2
    let variant = overrides.variant ?? (isXL ? .sdxl : firstIsOpenCLIP || isLinear ? .sd20 : .sd15)
    let hints = PredictionHints(
      source: source, published: publishedPrediction, overlay: overlay?["scheduler"]?["prediction_type"])
    let predictionType: PredictionType
    if let override = overrides.predictionType {
      predictionType = override
    } else {
      predictionType = try hints.predictionType(variant)
    }

    var scheduler = SchedulerConfig.published(variant, predictionType)
    if source.weight(named: "ztsnr") != nil {
      scheduler.values["rescale_betas_zero_snr"] = true
      scheduler.values["timestep_spacing"] = "trailing"
    }
    for (key, value) in overlay?["scheduler"]?.object ?? [:] where key != "_class_name" { scheduler.values[key] = value }
    scheduler.className = overlay?["scheduler"]?["_class_name"]?.string ?? scheduler.className
    scheduler.values["prediction_type"] = .string(predictionType.rawValue)

    let inference = ConfigInference(
      variant: variant, predictionType: predictionType, location: location, overlay: overlay)
    let firstConfig = try inference.textEncoder(
      first, isOpenCLIP: firstIsOpenCLIP || variant == .sd20, component: "text_encoder")
    var secondCheckpoint: TextEncoderCheckpoint?
    if let second, let table = tables[.textEncoder2] {
      let config = try inference.textEncoder(
        second, isOpenCLIP: CLIPTextKeys.isOpenCLIP(table) || isXL, component: "text_encoder_2")
      secondCheckpoint = TextEncoderCheckpoint(
        config: config, weights: try CLIPTextKeys.used(second, by: config),
        tokenizer: CLIPTokenizerLocation(files: .standard, padToken: "!"))
    }
    self = try DiffusionCheckpoint(
      location: location,
      format: format,
      variant: variant,
      predictionType: predictionType,
      unetConfig: inference.unet(unet),
      unet: unet,
      vaeConfig: inference.vae(vae),
      vae: vae,
      textEncoder: TextEncoderCheckpoint(
        config: firstConfig,
        weights: CLIPTextKeys.used(first, by: firstConfig),
        tokenizer: CLIPTokenizerLocation(
          files: .standard, padToken: variant == .sd20 ? "!" : CLIPTokenizerLocation.endOfText)),
      textEncoder2: secondCheckpoint,
      safetyChecker: nil,
      scheduler: scheduler,
      forceZerosForEmptyPrompt: variant == .sdxl
    ).validated()
  }
}

/// What a single file says about its prediction type.
private struct PredictionHints {
  let source: any WeightSource
  let published: String?
  let overlay: JSONValue?

  /// XL says v by a tensor `v_pred`, SD2's base model is known by its last step, 875000; all others predict epsilon.
  ///
  /// Sources: huggingface/diffusers `_legacy_load_scheduler`; SAI modelspec `modelspec.prediction_type`.
  func predictionType(_ variant: DiffusionVariant) throws(CheckpointError) -> PredictionType {
    if let overlay {
      guard let type = overlay.string.flatMap({ PredictionType(rawValue: $0) }) else {
        throw CheckpointError(
          .unsupported, file: source.location, "prediction_type \(overlay.brief) isn't supported: epsilon, v_prediction, sample")
      }
      return type
    }
    switch published {
    case "v": return .vPrediction
    case "epsilon": return .epsilon
    default: break
    }
    if source.weight(named: "v_pred") != nil { return .vPrediction }
    guard variant == .sd20 else { return .epsilon }
    guard let step = source.weight(named: "global_step"), step.shape.elementCount == 1 else {
      throw CheckpointError(
        .invalid, file: source.location,
        "a Stable Diffusion 2 file that doesn't say what it predicts: give --prediction-type epsilon (the 512 base model) or "
          + "--prediction-type v_prediction (the 768 model)")
    }
    return step.float32()[flat: 0] == 875_000 ? .epsilon : .vPrediction
  }
}
