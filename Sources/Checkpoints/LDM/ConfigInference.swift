import Tensors

/// Configurations of single-file checkpoints, which carry none: sizes are read off the weights, the rest is known of the family.
///
/// Heads and normalisation groups can't be read off: a file of unusual sizes says them in its metadata (``LDMOverlay``).
struct ConfigInference {
  let variant: DiffusionVariant
  let predictionType: PredictionType
  let location: String
  /// Configuration by component from the file's metadata; its keys win.
  let overlay: JSONValue?

  private func shape(_ name: String, rank: Int, in table: WeightTable, _ component: String) throws(CheckpointError) -> Shape {
    guard let view = table.weight(named: name) else {
      throw CheckpointError(
        .invalid, file: location, "\(component): tensor '\(name)' is missing; is the file a whole model of this family?")
    }
    guard view.shape.rank == rank, view.shape.dimensions.allSatisfy({ $0 > 0 && $0 <= ConfigReader.largestExtent }) else {
      throw CheckpointError(
        .invalid, file: location, "\(component): tensor '\(name)': expected \(rank) axes, found shape \(view.shape)")
    }
    return view.shape
  }

  private func merged(_ inferred: [String: JSONValue], _ component: String) -> JSONValue {
    .object(JSONObject(inferred).merging(overlay?[component]?.object ?? [:]))
  }

  private func label(_ component: String) -> String { "\(location) (\(component) sizes)" }

  // MARK: - UNet

  func unet(_ table: WeightTable) throws(CheckpointError) -> UNet2DConditionModelConfig {
    let names = WeightNameSet(table.weightNames)
    let levels = names.count("down_blocks")
    guard (1...8).contains(levels) else {
      throw CheckpointError(.invalid, file: location, "UNet: expected 1 to 8 down blocks, found \(levels)")
    }
    var channels: [Int] = []
    var layers: [JSONValue] = []
    var depths: [JSONValue] = []
    var hasAttention: [Bool] = []
    let middleDepth = names.count("mid_block.attentions.0.transformer_blocks")
    for level in 0..<levels {
      let prefix = "down_blocks.\(level)"
      channels.append(try shape("\(prefix).resnets.0.conv1.weight", rank: 4, in: table, "UNet")[0])
      layers.append(.integer(names.count("\(prefix).resnets")))
      hasAttention.append(names.contains("\(prefix).attentions.0"))
      let depth = names.count("\(prefix).attentions.0.transformer_blocks")
      depths.append(.integer(depth > 0 ? depth : level == levels - 1 ? max(1, middleDepth) : 1))
    }
    let context = "mid_block.attentions.0.transformer_blocks.0.attn2.to_k.weight"
    let projection = table.weight(named: "mid_block.attentions.0.proj_in.weight")
    var config: [String: JSONValue] = [
      "in_channels": .integer(try shape("conv_in.weight", rank: 4, in: table, "UNet")[1]),
      "out_channels": .integer(try shape("conv_out.weight", rank: 4, in: table, "UNet")[0]),
      "block_out_channels": .array(channels.map { .integer($0) }),
      "down_block_types": .array(hasAttention.map { $0 ? "CrossAttnDownBlock2D" : "DownBlock2D" }),
      "up_block_types": .array(hasAttention.reversed().map { $0 ? "CrossAttnUpBlock2D" : "UpBlock2D" }),
      "layers_per_block": .array(layers),
      "transformer_layers_per_block": .array(depths),
      "cross_attention_dim": .integer(try shape(context, rank: 2, in: table, "UNet")[1]),
      "use_linear_projection": .bool(projection?.shape.rank == 2),
      "sample_size": .integer(variant == .sdxl ? 128 : variant == .sd20 && predictionType == .vPrediction ? 96 : 64),
    ]
    if variant == .sd15 {
      config["attention_head_dim"] = 8
    } else if channels.allSatisfy({ $0 % 64 == 0 }) {
      config["attention_head_dim"] = .array(channels.map { .integer($0 / 64) })
    } else if overlay?["unet"]?["attention_head_dim"] == nil {
      throw CheckpointError(
        .unsupported, file: location,
        "UNet: expected channels that are multiples of 64, as heads have in this family, found \(channels); say "
          + "attention_head_dim in the file's metadata '\(LDMOverlay.key)'")
    }
    if table.weight(named: "add_embedding.linear_1.weight") != nil {
      config["addition_embed_type"] = "text_time"
      config["addition_time_embed_dim"] = 256
      config["projection_class_embeddings_input_dim"] = .integer(
        try shape("add_embedding.linear_1.weight", rank: 2, in: table, "UNet")[1])
    }
    return try UNet2DConditionModelConfig(json: merged(config, "unet"), file: label("unet"))
  }

  // MARK: - VAE

  func vae(_ table: WeightTable) throws(CheckpointError) -> AutoencoderKLConfig {
    let names = WeightNameSet(table.weightNames)
    let levels = names.count("encoder.down_blocks")
    guard (1...8).contains(levels) else {
      throw CheckpointError(.invalid, file: location, "VAE: expected 1 to 8 encoder blocks, found \(levels)")
    }
    var channels: [JSONValue] = []
    for level in 0..<levels {
      channels.append(
        .integer(try shape("encoder.down_blocks.\(level).resnets.0.conv1.weight", rank: 4, in: table, "VAE")[0]))
    }
    let config: [String: JSONValue] = [
      "in_channels": .integer(try shape("encoder.conv_in.weight", rank: 4, in: table, "VAE")[1]),
      "out_channels": .integer(try shape("decoder.conv_out.weight", rank: 4, in: table, "VAE")[0]),
      "latent_channels": .integer(try shape("decoder.conv_in.weight", rank: 4, in: table, "VAE")[1]),
      "block_out_channels": .array(channels),
      "down_block_types": .array(Array(repeating: "DownEncoderBlock2D", count: levels)),
      "up_block_types": .array(Array(repeating: "UpDecoderBlock2D", count: levels)),
      "layers_per_block": .integer(max(1, names.count("encoder.down_blocks.0.resnets"))),
      "scaling_factor": .number(variant == .sdxl ? 0.13025 : 0.18215),
      "sample_size": .integer(variant == .sdxl ? 1024 : variant == .sd20 && predictionType == .vPrediction ? 768 : 512),
      "use_quant_conv": .bool(names.contains("quant_conv")),
      "use_post_quant_conv": .bool(names.contains("post_quant_conv")),
      "mid_block_add_attention": .bool(names.contains("decoder.mid_block.attentions")),
    ]
    return try AutoencoderKLConfig(json: merged(config, "vae"), file: label("vae"))
  }

  // MARK: - Text encoders

  func textEncoder(_ table: WeightTable, isOpenCLIP: Bool, component: String) throws(CheckpointError) -> CLIPTextModelConfig {
    let names = WeightNameSet(table.weightNames)
    let embedding = try shape("text_model.embeddings.token_embedding.weight", rank: 2, in: table, component)
    let layers = names.count("text_model.encoder.layers")
    guard layers > 0 else { throw CheckpointError(.invalid, file: location, "\(component): no layers found") }
    let projection = table.weight(named: "text_projection.weight")?.shape
    let config: [String: JSONValue] = [
      "vocab_size": .integer(embedding[0]),
      "hidden_size": .integer(embedding[1]),
      "intermediate_size": .integer(
        try shape("text_model.encoder.layers.0.mlp.fc1.weight", rank: 2, in: table, component)[0]),
      "max_position_embeddings": .integer(
        try shape("text_model.embeddings.position_embedding.weight", rank: 2, in: table, component)[0]),
      // SD2 was trained on the 23rd of OpenCLIP-H's 24 layers; diffusers' folders leave the last one out.
      "num_hidden_layers": .integer(variant == .sd20 && layers == 24 ? 23 : layers),
      "num_attention_heads": .integer(max(1, embedding[1] / 64)),
      "hidden_act": .string(isOpenCLIP ? CLIPActivation.gelu.rawValue : CLIPActivation.quickGELU.rawValue),
      "projection_dim": .integer(projection?[0] ?? embedding[1]),
      "eos_token_id": 2,
    ]
    var result = try CLIPTextModelConfig(json: merged(config, component), file: label(component))
    result.hasProjection = component == "text_encoder_2" && projection != nil
    return result
  }
}

/// Configuration that a single-file checkpoint brings along in its metadata: JSON by component, as in a diffusers folder.
///
/// Small models need it for what tensors can't tell, such as heads and normalisation groups:
/// `{"unet": {"attention_head_dim": [2, 4], "norm_num_groups": 8}, "scheduler": {"prediction_type": "v_prediction"}}`.
enum LDMOverlay {
  /// The key: in `__metadata__` of a safetensors file, or a string among a GGUF file's metadata.
  static let key = "genbench.config"

  static func parse(_ text: String?, file: String) throws(CheckpointError) -> JSONValue? {
    guard let text else { return nil }
    let value: JSONValue
    do { value = try JSONValue(parsing: text, as: .python) } catch {
      throw CheckpointError(.invalid, file: file, "metadata '\(key)': \(error)")
    }
    guard value.object != nil else {
      throw CheckpointError(.invalid, file: file, "metadata '\(key)': expected a JSON object, found \(value.brief)")
    }
    return value
  }
}
