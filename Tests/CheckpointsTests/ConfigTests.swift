import Checkpoints
import Foundation
import Testing

@Suite struct ConfigTests {
  private func unet(_ json: JSONValue) throws -> UNet2DConditionModelConfig {
    try UNet2DConditionModelConfig(json: json, file: "unet/config.json")
  }

  // MARK: - Published configurations

  @Test func readsSD15() throws {
    // Neither heads nor projections are named as they're meant: 8 is the number of heads at every level.
    let config = try unet([
      "_class_name": "UNet2DConditionModel", "_diffusers_version": "0.6.0", "act_fn": "silu", "attention_head_dim": 8,
      "block_out_channels": [320, 640, 1280, 1280], "center_input_sample": false, "cross_attention_dim": 768,
      "down_block_types": ["CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"],
      "downsample_padding": 1, "flip_sin_to_cos": true, "freq_shift": 0, "in_channels": 4, "layers_per_block": 2,
      "mid_block_scale_factor": 1, "norm_eps": 1e-05, "norm_num_groups": 32, "out_channels": 4, "sample_size": 64,
      "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"],
    ])
    #expect(config.attentionHeadDim == [8, 8, 8, 8])
    #expect(config.layersPerBlock == [2, 2, 2, 2])
    #expect(config.transformerLayersPerBlock == [1, 1, 1, 1])
    #expect(config.crossAttentionDim == 768)
    #expect(!config.useLinearProjection && !config.upcastAttention && config.additionEmbedType == nil)
    #expect(config.sampleSize == 64 && config.timeEmbedDim == 1280 && config.sizeMultiple == 8)
  }

  @Test func readsSD21() throws {
    let config = try unet([
      "attention_head_dim": [5, 10, 20, 20], "cross_attention_dim": 1024, "dual_cross_attention": false,
      "num_class_embeds": nil, "only_cross_attention": false, "sample_size": 96, "upcast_attention": true,
      "use_linear_projection": true,
    ])
    #expect(config.attentionHeadDim == [5, 10, 20, 20])
    #expect(config.useLinearProjection && config.upcastAttention)
    // The rest are the class's defaults.
    #expect(config.blockOutChannels == [320, 640, 1280, 1280] && config.normNumGroups == 32 && config.normEps == 1e-5)
  }

  @Test func readsSDXL() throws {
    let config = try unet([
      "addition_embed_type": "text_time", "addition_embed_type_num_heads": 64, "addition_time_embed_dim": 256,
      "attention_head_dim": [5, 10, 20], "block_out_channels": [320, 640, 1280], "class_embed_type": nil,
      "cross_attention_dim": 2048, "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
      "projection_class_embeddings_input_dim": 2816, "resnet_out_scale_factor": 1.0, "sample_size": 128,
      "time_cond_proj_dim": nil, "transformer_layers_per_block": [1, 2, 10],
      "up_block_types": ["CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"], "upcast_attention": nil,
      "use_linear_projection": true,
    ])
    #expect(config.transformerLayersPerBlock == [1, 2, 10])
    #expect(config.additionEmbedType == .textTime && config.additionTimeEmbedDim == 256)
    #expect(config.projectionClassEmbeddingsInputDim == 2816)
    #expect(config.sizeMultiple == 4)
  }

  @Test func readsVAEAndTextEncoders() throws {
    let vae = try AutoencoderKLConfig(
      json: [
        "block_out_channels": [128, 256, 512, 512], "layers_per_block": 2, "latent_channels": 4, "sample_size": 512,
        "down_block_types": ["DownEncoderBlock2D", "DownEncoderBlock2D", "DownEncoderBlock2D", "DownEncoderBlock2D"],
        "up_block_types": ["UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D"],
      ], file: "vae")
    #expect(vae.scalingFactor == 0.18215 && vae.scaleFactor == 8 && vae.useQuantConv && vae.midBlockAddAttention)
    let text = try CLIPTextModelConfig(
      json: [
        "architectures": ["CLIPTextModelWithProjection"], "hidden_act": "gelu", "hidden_size": 1280, "num_attention_heads": 20,
      ],
      file: "text")
    #expect(text.hasProjection && text.hiddenAct == .gelu && text.vocabSize == 49408 && text.maxPositionEmbeddings == 77)
    let checker = try StableDiffusionSafetyCheckerConfig(
      json: [
        "projection_dim": 768, "vision_config": ["hidden_size": 768],
        "vision_config_dict": ["hidden_size": 1024, "num_attention_heads": 16, "patch_size": 14],
      ], file: "safety")
    #expect(checker.visionConfig.hiddenSize == 1024 && checker.projectionDim == 768 && checker.visionConfig.positionCount == 257)
  }

  @Test func readsImageProcessorOfBothForms() throws {
    let old = try CLIPImageProcessorConfig(json: ["crop_size": 224, "size": 336, "resample": 3], file: "f")
    #expect(old.shortestEdge == 336 && old.cropHeight == 224 && old.cropWidth == 224)
    let new = try CLIPImageProcessorConfig(
      json: ["crop_size": ["height": 200, "width": 210], "size": ["shortest_edge": 250]], file: "f")
    #expect(new.shortestEdge == 250 && new.cropHeight == 200 && new.cropWidth == 210)
    #expect(new.imageMean == CLIPImageProcessorConfig.standard.imageMean && new.rescaleFactor == 1.0 / 255)
    expectFailure(.unsupported, "resample") { _ = try CLIPImageProcessorConfig(json: ["resample": 0], file: "f") }
    expectFailure(.unsupported, "size") { _ = try CLIPImageProcessorConfig(json: ["size": ["height": 3]], file: "f") }
    expectFailure(.invalid, "three positive") { _ = try CLIPImageProcessorConfig(json: ["image_std": [1, 0, 1]], file: "f") }
    expectFailure(.invalid, "crop_size") { _ = try CLIPImageProcessorConfig(json: ["crop_size": -1], file: "f") }
  }

  // MARK: - Refused

  @Test(
    arguments: [
      ("class_embed_type", "timestep"), ("addition_embed_type", "image"), ("time_cond_proj_dim", 256),
      ("resnet_time_scale_shift", "scale_shift"), ("only_cross_attention", true), ("only_cross_attention", [false, true]),
      ("dual_cross_attention", true), ("mid_block_type", "UNetMidBlock2D"), ("center_input_sample", true), ("act_fn", "gelu"),
      ("encoder_hid_dim", 768), ("num_class_embeds", 1000), ("conv_in_kernel", 1), ("attention_type", "gated"),
      ("time_embedding_type", "fourier"), ("down_block_types", ["SkipDownBlock2D"]), ("down_block_types", []),
      ("transformer_layers_per_block", [[1], [2], [3], [4]]), ("cross_attention_dim", [768, 768, 768, 1024]),
      ("downsample_padding", 0), ("class_embeddings_concat", true), ("resnet_out_scale_factor", 0.5),
      ("up_block_types", ["CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"]),
    ] as [(String, JSONValue)])
  func refusesUnbuiltFeatures(_ key: String, _ value: JSONValue) {
    expectFailure(.unsupported, "'\(key)'") { _ = try unet(.object([key: value])) }
  }

  @Test(
    arguments: [
      ("in_channels", 0), ("in_channels", "4"), ("in_channels", 1.5), ("block_out_channels", [320, 640]),
      ("block_out_channels", [320, 640, 1280, 1281]), ("block_out_channels", [320, 640, 1280, 2_000_000]),
      ("attention_head_dim", [8, 8]), ("attention_head_dim", 7), ("attention_head_dim", -8), ("norm_num_groups", 0),
      ("norm_eps", "small"), ("layers_per_block", [2, 2]), ("flip_sin_to_cos", 1), ("norm_num_groups", 33),
      ("up_block_types", ["UpBlock2D"]), ("cross_attention_dim", 0), ("norm_eps", .number(.nan)),
    ] as [(String, JSONValue)])
  func refusesContradictions(_ key: String, _ value: JSONValue) {
    expectFailure(.invalid, key) { _ = try unet(.object([key: value])) }
  }

  @Test func refusesIncompleteTextTime() {
    expectFailure(.invalid, "addition_time_embed_dim") { _ = try unet(["addition_embed_type": "text_time"]) }
    expectFailure(.invalid, "projection_class_embeddings_input_dim") {
      _ = try unet([
        "addition_embed_type": "text_time", "addition_time_embed_dim": 256, "projection_class_embeddings_input_dim": 1536,
      ])
    }
  }

  @Test func refusesOtherKinds() {
    expectFailure(.invalid, "expected a JSON object") { _ = try unet([1, 2]) }
    expectFailure(.unsupported, "shift_factor") { _ = try AutoencoderKLConfig(json: ["shift_factor": 0.1], file: "vae") }
    expectFailure(.unsupported, "up_block_types") { _ = try AutoencoderKLConfig(json: ["up_block_types": ["Up"]], file: "vae") }
    expectFailure(.invalid, "down_block_types") {
      _ = try AutoencoderKLConfig(json: ["block_out_channels": [32, 64]], file: "vae")
    }
    expectFailure(.invalid, "scaling_factor") { _ = try AutoencoderKLConfig(json: ["scaling_factor": 0], file: "vae") }
    expectFailure(.unsupported, "hidden_act") { _ = try CLIPTextModelConfig(json: ["hidden_act": "gelu_new"], file: "text") }
    expectFailure(.invalid, "num_attention_heads") {
      _ = try CLIPTextModelConfig(json: ["num_attention_heads": 7], file: "text")
    }
    expectFailure(.invalid, "patch_size") { _ = try CLIPVisionModelConfig(json: ["patch_size": 500], file: "vision") }
    expectFailure(.invalid, "_class_name") { _ = try SchedulerConfig(json: ["beta_start": 1], file: "scheduler") }
  }

  // MARK: - Writing

  @Test func survivesWriting() throws {
    let config = try unet([
      "addition_embed_type": "text_time", "addition_time_embed_dim": 4, "attention_head_dim": [2, 3, 4],
      "block_out_channels": [4, 6, 8], "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
      "up_block_types": ["CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"], "layers_per_block": [1, 2, 3],
      "norm_num_groups": 2, "projection_class_embeddings_input_dim": 34, "transformer_layers_per_block": [1, 1, 2],
    ])
    #expect(try unet(config.json) == config)
    let coded = try JSONDecoder().decode(UNet2DConditionModelConfig.self, from: JSONEncoder().encode(config))
    #expect(coded == config)
    let vae = try AutoencoderKLConfig(
      json: [
        "block_out_channels": [4, 6], "norm_num_groups": 2, "down_block_types": ["DownEncoderBlock2D", "DownEncoderBlock2D"],
        "up_block_types": ["UpDecoderBlock2D", "UpDecoderBlock2D"], "force_upcast": false, "scaling_factor": 0.5,
      ], file: "vae")
    #expect(try AutoencoderKLConfig(json: vae.json, file: "vae") == vae)
    let text = try CLIPTextModelConfig(json: ["hidden_size": 8, "num_attention_heads": 2, "eos_token_id": 2], file: "text")
    #expect(try CLIPTextModelConfig(json: text.json, file: "text") == text)
    let checker = try StableDiffusionSafetyCheckerConfig(json: ["vision_config": ["hidden_size": 24]], file: "safety")
    #expect(try StableDiffusionSafetyCheckerConfig(json: checker.json, file: "safety") == checker)
    let scheduler = SchedulerConfig(className: "PNDMScheduler", values: ["lambda_min_clipped": .number(-.infinity)])
    #expect(try SchedulerConfig(json: scheduler.json, file: "scheduler") == scheduler)
  }
}
