import Tensors

/// The autoencoder of a CompVis or SGM checkpoint under diffusers' names.
///
/// Source: huggingface/diffusers `loaders/single_file_utils.py`, `convert_ldm_vae_checkpoint`.
enum LDMVAEKeys {
  private static let attention = ["norm": "group_norm", "q": "to_q", "k": "to_k", "v": "to_v", "proj_out": "to_out.0"]
  private static let levelParts = ["block": "resnets", "upsample": "upsamplers.0", "downsample": "downsamplers.0"]
  private static let middleParts = [
    "block_1": "mid_block.resnets.0", "block_2": "mid_block.resnets.1", "attn_1": "mid_block.attentions.0",
  ]
  private static let tops: Set<Substring> = ["encoder", "decoder", "quant_conv", "post_quant_conv"]

  /// The weights under canonical names; names of diffusers are kept, those of the training loss are dropped.
  static func canonical(_ table: WeightTable) throws(CheckpointError) -> WeightTable {
    let names = WeightNameSet(table.weightNames)
    let isLDM = names.contains("decoder.up") || names.contains("decoder.mid")
    let levels = names.count("decoder.up")
    let renamed = try WeightTable(renaming: table) { name in
      guard tops.contains(name.prefix { $0 != "." }) else { return nil }
      return isLDM ? canonicalName(name, levels: levels) : WeightKey.vae(name)
    }
    return renamed.mapping { $0.name.contains(".attentions.") ? $0.squeezed1x1() : $0 }
  }

  private static func canonicalName(_ name: String, levels: Int) -> String {
    var rest = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)[...]
    var result = [rest.removeFirst()]
    switch rest.first {
    case "down", "up":
      guard rest.count >= 4, let level = Int(rest[rest.startIndex + 1]) else { return name }
      // The decoder counts its levels from the full resolution; diffusers from the lowest.
      let isUp = rest.removeFirst() == "up"
      rest.removeFirst()
      result += [isUp ? "up_blocks" : "down_blocks", String(isUp ? levels - 1 - level : level)]
      let part = rest.removeFirst()
      result.append(levelParts[part] ?? part)
    case "mid":
      guard rest.count >= 3, let block = middleParts[rest[rest.startIndex + 1]] else { return name }
      rest.removeFirst(2)
      result.append(block)
      let part = rest.removeFirst()
      result.append(block.contains("attentions") ? attention[part] ?? part : part)
    case "norm_out":
      rest.removeFirst()
      result.append("conv_norm_out")
    default: break
    }
    return (result + rest.map { $0 == "nin_shortcut" ? "conv_shortcut" : $0 }).joined(separator: ".")
  }
}
