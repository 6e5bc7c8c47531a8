extension SchedulerConfig {
  /// The scheduler that the original models were published with on the hub, for files that carry none.
  ///
  /// Source: `scheduler/scheduler_config.json` of stable-diffusion-v1-5, stable-diffusion-2-base, stable-diffusion-2-1 and
  /// stable-diffusion-xl-base-1.0.
  static func published(_ variant: DiffusionVariant, _ predictionType: PredictionType) -> SchedulerConfig {
    var values: JSONObject = [
      "beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear", "num_train_timesteps": 1000,
      "steps_offset": 1, "set_alpha_to_one": false, "clip_sample": false, "trained_betas": nil,
      "prediction_type": .string(predictionType.rawValue),
    ]
    let className: String
    switch (variant, predictionType) {
    case (.sdxl, _):
      className = "EulerDiscreteScheduler"
      values = values.merging([
        "interpolation_type": "linear", "sample_max_value": 1.0, "skip_prk_steps": true, "timestep_spacing": "leading",
        "use_karras_sigmas": false,
      ])
    case (.sd20, .vPrediction):
      className = "DDIMScheduler"
      values["skip_prk_steps"] = true
    default:
      className = "PNDMScheduler"
      values["skip_prk_steps"] = true
    }
    return SchedulerConfig(className: className, values: values)
  }
}
