import Tensors

/// The UNet of a CompVis or SGM checkpoint under diffusers' names.
///
/// `input_blocks` and `output_blocks` are flat lists; which of them belong to a level is read off the downsamplers.
/// Source: huggingface/diffusers `loaders/single_file_utils.py`, `convert_ldm_unet_checkpoint`.
enum LDMUNetKeys {
  private static let resnet = [
    "in_layers.0": "norm1", "in_layers.2": "conv1", "emb_layers.1": "time_emb_proj", "out_layers.0": "norm2",
    "out_layers.3": "conv2", "skip_connection": "conv_shortcut",
  ]

  private static let fixed = [
    "time_embed.0": "time_embedding.linear_1", "time_embed.2": "time_embedding.linear_2",
    "label_emb.0.0": "add_embedding.linear_1", "label_emb.0.2": "add_embedding.linear_2", "input_blocks.0.0": "conv_in",
    "out.0": "conv_norm_out", "out.2": "conv_out", "middle_block.1": "mid_block.attentions.0",
  ]

  /// The weights under canonical names; names of diffusers are kept, and those of no module keep their own.
  static func canonical(_ table: WeightTable) throws(CheckpointError) -> WeightTable {
    let names = WeightNameSet(table.weightNames)
    guard names.contains("input_blocks") else { return try WeightTable(renaming: table, by: WeightKey.unet) }
    let modules = modules(names)
    var builder = WeightTable.Builder(location: table.location)
    for name in table.weightNames {
      guard let view = table.weight(named: name) else { continue }
      try builder.insert(view, as: canonicalName(name, modules: modules) ?? name)
    }
    return builder.table
  }

  /// Module names of the file with those of diffusers, for all but the insides of resnets.
  private static func modules(_ names: WeightNameSet) -> [String: String] {
    var modules = fixed
    for (position, block) in ["middle_block.0", "middle_block.2"].enumerated() {
      addResnet(block, as: "mid_block.resnets.\(position)", to: &modules)
    }
    var resnetsPerLevel = [0]
    var index = 1
    while names.contains("input_blocks.\(index)") {
      let level = resnetsPerLevel.count - 1
      if names.contains("input_blocks.\(index).0.op") {
        modules["input_blocks.\(index).0.op"] = "down_blocks.\(level).downsamplers.0.conv"
        resnetsPerLevel.append(0)
      } else {
        let position = resnetsPerLevel[level]
        addResnet("input_blocks.\(index).0", as: "down_blocks.\(level).resnets.\(position)", to: &modules)
        modules["input_blocks.\(index).1"] = "down_blocks.\(level).attentions.\(position)"
        resnetsPerLevel[level] += 1
      }
      index += 1
    }
    index = 0
    for (level, resnets) in resnetsPerLevel.reversed().enumerated() {
      for position in 0...resnets {
        addResnet("output_blocks.\(index).0", as: "up_blocks.\(level).resnets.\(position)", to: &modules)
        // The upsampler comes after the attention, or in its place.
        for slot in 1...2 {
          modules["output_blocks.\(index).\(slot)"] = "up_blocks.\(level).attentions.\(position)"
          modules["output_blocks.\(index).\(slot).conv"] = "up_blocks.\(level).upsamplers.0.conv"
        }
        index += 1
      }
    }
    return modules
  }

  private static func addResnet(_ old: String, as new: String, to modules: inout [String: String]) {
    for (part, newPart) in resnet { modules["\(old).\(part)"] = "\(new).\(newPart)" }
  }

  private static func canonicalName(_ name: String, modules: [String: String]) -> String? {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    // The longest module name has five parts: output_blocks.0.0.in_layers.0.
    for length in stride(from: min(5, parts.count - 1), through: 1, by: -1) {
      if let module = modules[parts[..<length].joined(separator: ".")] {
        return module + "." + parts[length...].joined(separator: ".")
      }
    }
    return nil
  }
}
