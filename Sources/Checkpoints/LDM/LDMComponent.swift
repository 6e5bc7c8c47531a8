import Tensors

/// The parts of a single-file checkpoint, told apart by the prefixes of their weights.
///
/// Source: huggingface/diffusers `loaders/single_file_utils.py`; leejet/stable-diffusion.cpp `src/name_conversion.cpp`.
enum LDMComponent: Hashable {
  case unet, vae, textEncoder, textEncoder2

  // The first prefix that fits decides, so longer ones stand before those that they begin with.
  private static let prefixes: [(prefix: String, component: LDMComponent)] = [
    ("model.diffusion_model.", .unet),
    ("diffusion_model.", .unet),
    ("unet.", .unet),
    ("first_stage_model.", .vae),
    ("vae.", .vae),
    ("conditioner.embedders.1.transformer.", .textEncoder2),
    ("conditioner.embedders.1.model.", .textEncoder2),
    ("cond_stage_model.1.transformer.", .textEncoder2),
    ("cond_stage_model.1.model.", .textEncoder2),
    ("text_encoders.clip_g.transformer.", .textEncoder2),
    ("text_encoder_2.", .textEncoder2),
    ("te.1.", .textEncoder2),
    ("te2.", .textEncoder2),
    ("clip_g.", .textEncoder2),
    ("conditioner.embedders.0.transformer.", .textEncoder),
    ("conditioner.embedders.0.model.", .textEncoder),
    ("cond_stage_model.transformer.", .textEncoder),
    ("cond_stage_model.model.", .textEncoder),
    ("text_encoders.clip_l.transformer.", .textEncoder),
    ("text_encoder.", .textEncoder),
    ("te1.", .textEncoder),
    ("te.", .textEncoder),
    ("clip_l.", .textEncoder),
  ]

  /// The component that a weight belongs to and the rest of its name; nil for everything else in such files.
  static func split(_ name: String) -> (component: LDMComponent, rest: String)? {
    for (prefix, component) in prefixes where name.hasPrefix(prefix) {
      return (component, String(name.dropFirst(prefix.count)))
    }
    return nil
  }

  /// The weights of each component under the rests of their names.
  static func tables(of source: any WeightSource) throws(CheckpointError) -> [LDMComponent: WeightTable] {
    var builders: [LDMComponent: WeightTable.Builder] = [:]
    for name in source.weightNames {
      guard let (component, rest) = split(name), let view = source.weight(named: name) else { continue }
      try builders[component, default: WeightTable.Builder(location: source.location)].insert(view, as: rest)
    }
    return builders.mapValues(\.table)
  }
}

/// Parts of weight names: `down_blocks.0.resnets.1` of `down_blocks.0.resnets.1.conv1.weight`.
struct WeightNameSet {
  private let prefixes: Set<String>

  /// Collects every prefix, cut at dots, of every name.
  init(_ names: [String]) {
    var prefixes: Set<String> = []
    for name in names {
      prefixes.insert(name)
      for (index, byte) in name.utf8.enumerated() where byte == UInt8(ascii: ".") {
        prefixes.insert(String(decoding: name.utf8.prefix(index), as: UTF8.self))
      }
    }
    self.prefixes = prefixes
  }

  func contains(_ prefix: String) -> Bool { prefixes.contains(prefix) }

  /// How many consecutive numbers from 0 follow `prefix`.
  func count(_ prefix: String) -> Int {
    var count = 0
    while prefixes.contains("\(prefix).\(count)") { count += 1 }
    return count
  }
}
