import Checkpoints

/// The configurations of the published base models, as their diffusers folders have them.
///
/// Source: the `config.json` files of stable-diffusion-v1-5, stable-diffusion-2 (768, v-prediction) and
/// stable-diffusion-xl-base-1.0; keys at diffusers' class defaults are left out.
enum FullSizeConfigurations {
  static func unet(_ variant: DiffusionVariant) -> JSONValue {
    let large: JSONValue = [
      "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D",
    ]
    let largeUp: JSONValue = ["UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"]
    switch variant {
    case .sd15:
      return [
        "_class_name": "UNet2DConditionModel", "sample_size": 64, "block_out_channels": [320, 640, 1280, 1280],
        "down_block_types": large, "up_block_types": largeUp, "attention_head_dim": 8, "cross_attention_dim": 768,
      ]
    case .sd20:
      return [
        "_class_name": "UNet2DConditionModel", "sample_size": 96, "block_out_channels": [320, 640, 1280, 1280],
        "down_block_types": large, "up_block_types": largeUp, "attention_head_dim": [5, 10, 20, 20],
        "cross_attention_dim": 1024, "use_linear_projection": true,
      ]
    case .sdxl:
      return [
        "_class_name": "UNet2DConditionModel", "sample_size": 128, "block_out_channels": [320, 640, 1280],
        "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
        "up_block_types": ["CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"], "attention_head_dim": [5, 10, 20],
        "transformer_layers_per_block": [1, 2, 10], "cross_attention_dim": 2048, "use_linear_projection": true,
        "addition_embed_type": "text_time", "addition_time_embed_dim": 256, "projection_class_embeddings_input_dim": 2816,
      ]
    }
  }

  static func vae(_ variant: DiffusionVariant) -> JSONValue {
    let coder = { (kind: String) in JSONValue.array(Array(repeating: .string(kind), count: 4)) }
    var config: [String: JSONValue] = [
      "_class_name": "AutoencoderKL", "block_out_channels": [128, 256, 512, 512], "layers_per_block": 2, "latent_channels": 4,
      "down_block_types": coder("DownEncoderBlock2D"), "up_block_types": coder("UpDecoderBlock2D"),
      "sample_size": variant == .sdxl ? 1024 : variant == .sd20 ? 768 : 512,
    ]
    if variant == .sdxl {
      config["scaling_factor"] = 0.13025
      config["force_upcast"] = true
    }
    return .object(config)
  }

  /// The text encoders in order: one, or two for XL.
  static func textEncoders(_ variant: DiffusionVariant) -> [(className: String, config: JSONValue)] {
    let clipL: JSONValue = [
      "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12, "projection_dim": 768,
      "hidden_act": "quick_gelu", "vocab_size": 49408, "max_position_embeddings": 77, "eos_token_id": 2, "bos_token_id": 0,
    ]
    switch variant {
    case .sd15: return [("CLIPTextModel", clipL)]
    case .sd20:
      return [
        (
          "CLIPTextModel",
          [
            "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 23, "num_attention_heads": 16,
            "projection_dim": 512, "hidden_act": "gelu", "vocab_size": 49408, "max_position_embeddings": 77, "eos_token_id": 2,
            "bos_token_id": 0,
          ]
        )
      ]
    case .sdxl:
      return [
        ("CLIPTextModel", clipL),
        (
          "CLIPTextModelWithProjection",
          [
            "hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 32, "num_attention_heads": 20,
            "projection_dim": 1280, "hidden_act": "gelu", "vocab_size": 49408, "max_position_embeddings": 77, "eos_token_id": 2,
            "bos_token_id": 0,
          ]
        ),
      ]
    }
  }

  static func scheduler(_ variant: DiffusionVariant) -> JSONValue {
    var config: [String: JSONValue] = [
      "beta_schedule": "scaled_linear", "beta_start": 0.00085, "beta_end": 0.012, "num_train_timesteps": 1000,
      "set_alpha_to_one": false, "clip_sample": false, "skip_prk_steps": true, "steps_offset": 1,
    ]
    switch variant {
    case .sd15: config["_class_name"] = "PNDMScheduler"
    case .sd20:
      config["_class_name"] = "DDIMScheduler"
      config["prediction_type"] = "v_prediction"
    case .sdxl:
      config["_class_name"] = "EulerDiscreteScheduler"
      config["prediction_type"] = "epsilon"
      config["timestep_spacing"] = "leading"
    }
    return .object(config)
  }
}
