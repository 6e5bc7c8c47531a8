import Tensors

/// A text encoder of a single-file checkpoint under the names of transformers 4.
///
/// Takes OpenCLIP's names with fused q, k, v and a text projection of [in, out], transformers' names, and the mix of both that
/// stable-diffusion.cpp writes. Source: huggingface/diffusers `convert_open_clip_checkpoint`; generative-models #111.
enum CLIPTextKeys {
  private static let tops = [
    "token_embedding.weight": "embeddings.token_embedding.weight",
    "positional_embedding": "embeddings.position_embedding.weight",
    "ln_final.weight": "final_layer_norm.weight",
    "ln_final.bias": "final_layer_norm.bias",
  ]
  private static let blocks = [
    "ln_1": "layer_norm1", "ln_2": "layer_norm2", "mlp.c_fc": "mlp.fc1", "mlp.c_proj": "mlp.fc2",
    "attn.out_proj": "self_attn.out_proj",
  ]
  private static let resblocks = "transformer.resblocks."

  /// Whether the encoder came from OpenCLIP rather than from OpenAI's CLIP: its q, k, v are one matrix.
  static func isOpenCLIP(_ table: WeightTable) -> Bool {
    table.weightNames.contains { $0.hasPrefix(resblocks) || $0.contains(".self_attn.in_proj.") }
  }

  /// The weights under canonical names.
  static func canonical(_ table: WeightTable) throws(CheckpointError) -> WeightTable {
    let isOpenCLIP = isOpenCLIP(table)
    var builder = WeightTable.Builder(location: table.location)
    for name in table.weightNames {
      guard let view = table.weight(named: name) else { continue }
      if name == "logit_scale" || name.hasSuffix("position_ids") { continue }
      if name.hasSuffix("text_projection") || name.hasSuffix("text_projection.weight") {
        // A bare parameter of OpenCLIP is [in, out]; a layer's weight is [out, in].
        let isTransposed = isOpenCLIP && name.hasSuffix("text_projection")
        try builder.insert(isTransposed ? transposed(view) : view, as: "text_projection.weight")
        continue
      }
      let inner = name.hasPrefix("text_model.") ? String(name.dropFirst("text_model.".count)) : name
      let canonical = "text_model." + (tops[inner] ?? blockName(inner) ?? inner)
      if let range = canonical.firstRange(of: ".in_proj") {
        try split(view, prefix: String(canonical[..<range.lowerBound]), into: &builder)
      } else {
        try builder.insert(view, as: canonical)
      }
    }
    return builder.table
  }

  /// `transformer.resblocks.3.mlp.c_fc.weight` as `encoder.layers.3.mlp.fc1.weight`.
  private static func blockName(_ name: String) -> String? {
    guard name.hasPrefix(resblocks) else { return nil }
    let parts = name.dropFirst(resblocks.count).split(separator: ".", maxSplits: 1)
    guard parts.count == 2 else { return nil }
    let inner = String(parts[1])
    if inner == "attn.in_proj_weight" { return "encoder.layers.\(parts[0]).self_attn.in_proj.weight" }
    if inner == "attn.in_proj_bias" { return "encoder.layers.\(parts[0]).self_attn.in_proj.bias" }
    guard let dot = inner.lastIndex(of: "."), let new = blocks[String(inner[..<dot])] else { return nil }
    return "encoder.layers.\(parts[0]).\(new)\(inner[dot...])"
  }

  /// Without what the model leaves out: SD2's last layer, and a projection where there's none to apply.
  static func used(_ table: WeightTable, by config: CLIPTextModelConfig) throws(CheckpointError) -> WeightTable {
    try WeightTable(renaming: table) { name in
      if name == "text_projection.weight" { return config.hasProjection ? name : nil }
      guard let range = name.firstRange(of: ".layers."), let layer = Int(name[range.upperBound...].prefix { $0 != "." }) else {
        return name
      }
      return layer < config.numHiddenLayers ? name : nil
    }
  }

  private static func split(_ view: WeightView, prefix: String, into builder: inout WeightTable.Builder) throws(CheckpointError) {
    guard view.shape.rank >= 1, view.shape[0] % 3 == 0 else {
      throw CheckpointError(
        .invalid, file: builder.location,
        "tensor '\(view.name)': expected q, k and v as three equal parts of its rows, found shape \(view.shape)")
    }
    let rows = view.shape[0] / 3
    let kind = view.shape.rank == 1 ? "bias" : "weight"
    for (part, name) in ["q_proj", "k_proj", "v_proj"].enumerated() {
      try builder.insert(view.rows((part * rows)..<((part + 1) * rows)), as: "\(prefix).\(name).\(kind)")
    }
  }

  /// A matrix with rows and columns swapped; computed, as a file can't be read that way.
  private static func transposed(_ view: WeightView) -> WeightView {
    guard view.shape.rank == 2 else { return view }
    let (rows, columns) = (view.shape[0], view.shape[1])
    let source = view.float32()
    let result = Tensor(shape: [columns, rows]) { target in
      source.withUnsafeBuffer { source in
        for row in 0..<rows {
          for column in 0..<columns { target.initializeElement(at: column * rows + row, to: source[row * columns + column]) }
        }
      }
    }
    return WeightView(name: view.name, tensor: result)
  }
}
