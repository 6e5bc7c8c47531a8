import Checkpoints
import DiffusionModels
public import Foundation
import KernelContract
import Tensors

/// Writes a model of a published size with generated half-precision weights, as a diffusers folder.
///
/// Its pictures mean nothing, but its speed and memory are those of the real model, and nothing is downloaded. The weights
/// are drawn as PyTorch's layers initialise theirs (uniform within `±1/√fanIn`, norms 1 and 0), so that activations stay
/// finite.
public enum FullSizeModel {
  /// Writes the folder.
  ///
  /// - Parameters:
  ///   - variant: `sd15`, `sd20`, `sdxl`.
  ///   - folder: Where to; made when absent.
  ///   - vocabulary: The folder with CLIP's `vocab.json` and `merges.txt`, which is linked to.
  ///   - progress: Sees the share that is written, 0...1; returning false stops.
  /// - Throws: `CheckpointError` `.unwritable`, `CancelledError`.
  public static func write(
    variant: String, to folder: URL, vocabulary: URL, progress: (Double) -> Bool = { _ in true }
  ) throws {
    guard let variant = DiffusionVariant(rawValue: variant) else {
      throw CheckpointError(.invalid, file: folder.path, "variant: expected sd15, sd20 or sdxl, found '\(variant)'")
    }
    let architecture = try DiffusionArchitecture(fullSize: variant)
    var index: [String: JSONValue] = [
      "_class_name": variant == .sdxl ? "StableDiffusionXLPipeline" : "StableDiffusionPipeline", "_diffusers_version": "0.42.1",
      "unet": ["diffusers", "UNet2DConditionModel"], "vae": ["diffusers", "AutoencoderKL"],
      "scheduler": ["diffusers", .string(FullSizeConfigurations.scheduler(variant)["_class_name"]?.string ?? "")],
    ]
    if variant == .sdxl { index["force_zeros_for_empty_prompt"] = true }

    var files: [(path: String, parameters: [ParameterInventory.Parameter])] = [
      (
        "unet/diffusion_pytorch_model.safetensors",
        try inventory { _ = try UNet2DConditionModel(config: architecture.unet, loader: $0) }
      ),
      (
        "vae/diffusion_pytorch_model.safetensors",
        try inventory { _ = try AutoencoderKL(config: architecture.vae, parts: [.encoder, .decoder], loader: $0) }
      ),
    ]
    try write(FullSizeConfigurations.unet(variant), "unet/config.json", in: folder)
    try write(FullSizeConfigurations.vae(variant), "vae/config.json", in: folder)
    try write(FullSizeConfigurations.scheduler(variant), "scheduler/scheduler_config.json", in: folder)
    let encoderConfigs = [architecture.textEncoder] + (architecture.textEncoder2.map { [$0] } ?? [])
    for (number, encoder) in FullSizeConfigurations.textEncoders(variant).enumerated() {
      let suffix = number == 0 ? "" : "_2"
      index["text_encoder\(suffix)"] = ["transformers", .string(encoder.className)]
      index["tokenizer\(suffix)"] = ["transformers", "CLIPTokenizer"]
      try write(encoder.config, "text_encoder\(suffix)/config.json", in: folder)
      let padding: JSONValue = variant == .sd20 || number == 1 ? "!" : "<|endoftext|>"
      try write(
        ["bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>", "pad_token": padding],
        "tokenizer\(suffix)/special_tokens_map.json", in: folder)
      for name in ["vocab.json", "merges.txt"] {
        let link = folder.appendingPathComponent("tokenizer\(suffix)").appendingPathComponent(name)
        try? FileManager.default.removeItem(at: link)
        try FileManager.default.createSymbolicLink(
          at: link, withDestinationURL: vocabulary.appendingPathComponent(name).resolvingSymlinksInPath())
      }
      files.append(
        (
          "text_encoder\(suffix)/model.safetensors",
          try inventory { _ = try CLIPTextModel(config: encoderConfigs[number], loader: $0) }
        ))
    }
    try write(.object(index), "model_index.json", in: folder)

    let total = Double(files.reduce(0) { $0 + $1.parameters.reduce(0) { $0 + $1.shape.elementCount } })
    var written = 0.0
    var generator = WeightGenerator(seed: 1)
    for file in files {
      var writer = try SafetensorsStreamWriter(
        path: folder.appendingPathComponent(file.path).path,
        entries: file.parameters.map { SafetensorsStreamWriter.Entry(name: $0.name, dtype: .f16, shape: $0.shape) })
      for parameter in file.parameters {
        try generator.withValues(of: parameter) { bytes throws(CheckpointError) in try writer.append(bytes: bytes) }
        written += Double(parameter.shape.elementCount)
        guard progress(written / total) else { throw CancelledError() }
      }
      try writer.finish()
    }
  }

  private static func inventory(_ build: (ParameterLoader) throws -> Void) rethrows -> [ParameterInventory.Parameter] {
    let inventory = ParameterInventory()
    try build(ParameterLoader(inventory, kernels: PlanningKernels()))
    return inventory.parameters.sorted { $0.name < $1.name }
  }

  private static func write(_ json: JSONValue, _ path: String, in folder: URL) throws {
    let file = folder.appendingPathComponent(path)
    do {
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    } catch {
      throw CheckpointError(.unwritable, file: file.path, error.localizedDescription)
    }
    try AtomicFile.write(json.text() + "\n", to: file.path)
  }
}

/// Draws half-precision weights quickly: four at a time out of a 64-bit xorshift (Marsaglia 2003).
private struct WeightGenerator {
  private var state: UInt64
  private var buffer: [Float16] = []

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  /// Calls `body` with the bytes of one parameter's values.
  mutating func withValues(
    of parameter: ParameterInventory.Parameter, _ body: (UnsafeRawBufferPointer) throws(CheckpointError) -> Void
  ) throws(CheckpointError) {
    let count = parameter.shape.elementCount
    if buffer.count < count { buffer = [Float16](repeating: 0, count: count) }
    if parameter.shape.rank == 1 {
      let isNormScale =
        parameter.name.hasSuffix("norm.weight") || parameter.name.hasSuffix("norm1.weight")
        || parameter.name.hasSuffix("norm2.weight") || parameter.name.hasSuffix("norm3.weight")
        || parameter.name.hasSuffix("norm_out.weight")
      for index in 0..<count { buffer[index] = isNormScale ? 1 : 0 }
    } else {
      fill(count, bound: 1 / Float(parameter.shape.dimensions.dropFirst().reduce(1, *)).squareRoot())
    }
    let outcome = buffer.withUnsafeBytes { bytes in
      Result { () throws(CheckpointError) in try body(UnsafeRawBufferPointer(rebasing: bytes[0..<(count * 2)])) }
    }
    try outcome.get()
  }

  private mutating func fill(_ count: Int, bound: Float) {
    let scale = Float16(bound / 32768)
    var state = state
    buffer.withUnsafeMutableBufferPointer { target in
      var index = 0
      while index < count {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        var bits = state
        for _ in 0..<min(4, count - index) {
          target[index] = Float16(Float(Int16(truncatingIfNeeded: bits))) * scale
          bits >>= 16
          index += 1
        }
      }
    }
    self.state = state
  }
}
