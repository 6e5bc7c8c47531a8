/// The names of a trace's entries: the order in which a pipeline makes them, and what makes them.
package enum TraceEntry {
  /// What entries of all steps have in common: `noise_pred`, `latents`; an entry of its own is its name.
  package static func kind(of name: String) -> String {
    if name.hasPrefix("noise_pred.") { return "noise_pred" }
    return name.hasPrefix("latents.") && name != "latents.init" ? "latents" : name
  }

  /// The order in which a pipeline makes its entries.
  package static func order(_ name: String) -> (Int, Int, String) {
    switch kind(of: name) {
    case "prompt_embeds", "negative_prompt_embeds", "pooled_prompt_embeds", "negative_pooled_prompt_embeds": (0, 0, name)
    case "timesteps": (1, 0, name)
    case "latents.init": (2, 0, name)
    case "noise_pred": (3, step(of: name) * 2, name)
    case "latents": (3, step(of: name) * 2 + 1, name)
    default: (4, 0, name)
    }
  }

  private static func step(of name: String) -> Int { name.split(separator: ".").last.flatMap { Int($0) } ?? 0 }

  /// The part of the pipeline that makes an entry.
  package static func stage(of name: String) -> String {
    switch kind(of: name) {
    case "timesteps": "the scheduler's plan"
    case "latents.init": "the noise, or the start image's latents"
    case "noise_pred": "entry \(step(of: name)): the UNet or the guidance"
    case "latents": "entry \(step(of: name)): the scheduler's step"
    case "image": "the VAE"
    default: "the text encoder"
    }
  }
}
