import Tensors

/// The one set of weight names that the networks ask for, whatever file the weights come from.
///
/// | component | names |
/// |---|---|
/// | unet | diffusers 0.42: `down_blocks.0.resnets.0.conv1.weight`, `mid_block.attentions.0.transformer_blocks.0.attn1.to_q.weight` |
/// | vae | diffusers 0.42: `decoder.mid_block.attentions.0.to_q.weight` with shape `[C, C]`, never the older `query` or `[C, C, 1, 1]` |
/// | text encoders | transformers 4: `text_model.encoder.layers.0.self_attn.q_proj.weight`, `text_projection.weight` as `[out, in]` |
/// | safety checker | transformers 4: `vision_model.vision_model.encoder.layers.0…`, `visual_projection.weight`, `concept_embeds` |
///
/// transformers 5 saves a `CLIPTextModel` without its `text_model.` level and the safety checker with one `vision_model.`
/// level; `position_ids` buffers of old files are dropped.
public enum WeightKey {
  /// The canonical name of a text encoder's weight, or nil for buffers that aren't weights.
  public static func textEncoder(_ name: String) -> String? {
    if name.hasSuffix("position_ids") { return nil }
    return name.hasPrefix("text_model.") || name.hasPrefix("text_projection.") ? name : "text_model." + name
  }

  /// The canonical name of a safety checker's weight, or nil for buffers that aren't weights.
  public static func safetyChecker(_ name: String) -> String? {
    if name.hasSuffix("position_ids") { return nil }
    guard name.hasPrefix("vision_model."), !name.hasPrefix("vision_model.vision_model.") else { return name }
    return "vision_model." + name
  }

  private static let oldVAENames = ["query": "to_q", "key": "to_k", "value": "to_v", "proj_attn": "to_out.0"]

  /// The canonical name of a VAE's weight: the attention's old names become the new ones.
  public static func vae(_ name: String) -> String? {
    guard let range = name.firstRange(of: "mid_block.attentions.0.") else { return name }
    let parts = name[range.upperBound...].split(separator: ".", maxSplits: 1)
    guard parts.count == 2, let new = oldVAENames[String(parts[0])] else { return name }
    return name[..<range.upperBound] + new + "." + parts[1]
  }

  /// A UNet's names are canonical already.
  public static func unet(_ name: String) -> String? { name }
}

extension WeightView {
  /// The view with a trailing 1x1 kernel dropped, `[out, in, 1, 1]` to `[out, in]`; any other view as it is.
  func squeezed1x1() -> WeightView {
    guard shape.rank == 4, shape[2] == 1, shape[3] == 1 else { return self }
    return reinterpreted(shape: [shape[0], shape[1]])
  }

  /// The same weight under another name.
  func renamed(_ name: String) -> WeightView { reinterpreted(name: name, shape: shape) }
}
