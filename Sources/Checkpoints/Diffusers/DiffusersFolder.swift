import Foundation

/// A model in diffusers' folder layout: `model_index.json` and one folder for each component.
///
/// Gives out configurations and weights as they are stored; ``DiffusionCheckpoint`` puts them together.
public struct DiffusersFolder: Sendable {
  /// The folder.
  public let path: String
  /// The class of the pipeline, such as `StableDiffusionXLPipeline`.
  public let pipelineClass: String
  /// `model_index.json`.
  public let index: JSONValue

  /// Opens a folder by its `model_index.json`.
  ///
  /// - Throws: ``CheckpointError`` `.missing` without one, `.invalid` when it's damaged.
  public init(path: String) throws(CheckpointError) {
    self.path = path
    let file = path + "/model_index.json"
    guard FileManager.default.fileExists(atPath: file) else {
      throw CheckpointError(
        .missing, file: path,
        "no model_index.json there; expected a diffusers folder (model_index.json, unet/, vae/, text_encoder/, …): give the "
          + "folder that holds it, or a single .safetensors or .gguf file")
    }
    index = try JSONValue(contentsOf: file)
    guard let name = index["_class_name"]?.string else {
      throw CheckpointError(.invalid, file: file, "key '_class_name': expected the name of a pipeline class")
    }
    pipelineClass = name
  }

  /// The class of a component by `model_index.json`, such as `CLIPTextModel`; nil when it's absent or null there.
  public func className(of component: String) -> String? { index[component]?.array?.last?.string }

  /// A JSON file of a component; nil when there's no such file.
  ///
  /// - Throws: ``CheckpointError`` `.invalid`.
  public func json(_ component: String, _ name: String) throws(CheckpointError) -> (value: JSONValue, file: String)? {
    let file = filePath(component, name)
    guard FileManager.default.fileExists(atPath: file) else { return nil }
    return (try JSONValue(contentsOf: file), file)
  }

  /// A JSON file of a component that has to be there.
  ///
  /// - Throws: ``CheckpointError`` `.missing` or `.invalid`.
  public func requireJSON(_ component: String, _ name: String) throws(CheckpointError) -> (value: JSONValue, file: String) {
    guard let json = try json(component, name) else {
      throw CheckpointError(
        .missing, file: filePath(component, name), "not there, but the model needs it; is the download complete?")
    }
    return json
  }

  /// Whether a component has a folder.
  public func hasFolder(_ component: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path + "/" + component, isDirectory: &isFolder) && isFolder.boolValue
  }

  func filePath(_ component: String, _ name: String) -> String { path + "/" + component + "/" + name }

  // MARK: - Weights

  /// The weights of a component under the names of its files.
  ///
  /// Looked for in this order: full precision, then `fp16`, then any one other variant; each in one file or in shards.
  ///
  /// - Parameters:
  ///   - component: The folder.
  ///   - stem: `diffusion_pytorch_model` for diffusers' classes, `model` for those of transformers.
  /// - Throws: ``CheckpointError``: `.missing` without weights, `.unsupported` when there are only pickles.
  public func weights(_ component: String, stem: String) throws(CheckpointError) -> any WeightSource {
    let folder = path + "/" + component
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
      throw CheckpointError(
        .missing, file: folder, "the folder of component '\(component)' isn't there; is the download complete?")
    }
    var candidates = [
      "\(stem).safetensors", "\(stem).safetensors.index.json", "\(stem).fp16.safetensors",
      "\(stem).safetensors.index.fp16.json", "\(stem).fp16.safetensors.index.json",
    ]
    // Shards also end in .safetensors; a variant has no dash before its number.
    let variants = names.filter { $0.hasPrefix(stem + ".") && $0.hasSuffix(".safetensors") && !candidates.contains($0) }
      .filter { !$0.contains("-of-") }
    if variants.count == 1 { candidates += variants }
    for name in candidates where names.contains(name) {
      let file = folder + "/" + name
      return name.hasSuffix(".json") ? try ShardedSafetensors(indexPath: file) : try SafetensorsFile(path: file)
    }
    if let pickle = names.sorted().first(where: { $0.hasSuffix(".bin") || $0.hasSuffix(".ckpt") || $0.hasSuffix(".pt") }) {
      throw CheckpointError(
        .unsupported, file: folder + "/" + pickle,
        "pickled weights aren't read, as they can run code; get the .safetensors of this model, or convert it with Python: "
          + "pipeline.save_pretrained(folder, safe_serialization=True)")
    }
    throw CheckpointError(
      .missing, file: folder,
      "no weights there: expected \(stem).safetensors, \(stem).fp16.safetensors or an index of shards"
        + (variants.isEmpty ? "" : "; found several variants (\(variants.sorted().joined(separator: ", "))), keep one"))
  }

  // MARK: - Tokenizers

  /// The tokenizer files of a component.
  ///
  /// The pad token is that of `special_tokens_map.json`, else of `tokenizer_config.json`, else `<|endoftext|>`: SD2's two
  /// files disagree, and transformers follows the first.
  ///
  /// - Throws: ``CheckpointError`` `.missing` when neither `tokenizer.json` nor `vocab.json` and `merges.txt` are there.
  public func tokenizer(_ component: String) throws(CheckpointError) -> CLIPTokenizerLocation {
    func existing(_ name: String) -> String? {
      let file = filePath(component, name)
      return FileManager.default.fileExists(atPath: file) ? file : nil
    }
    var padToken: String?
    for name in ["special_tokens_map.json", "tokenizer_config.json"] where padToken == nil {
      let value = try json(component, name)?.value["pad_token"]
      padToken = value?.string ?? value?["content"]?.string
    }
    let files: CLIPTokenizerLocation.Files
    if let vocab = existing("vocab.json"), let merges = existing("merges.txt") {
      files = .vocabAndMerges(vocab: vocab, merges: merges)
    } else if let json = existing("tokenizer.json") {
      files = .tokenizerJSON(json)
    } else {
      throw CheckpointError(
        .missing, file: path + "/" + component,
        "no tokenizer there: expected tokenizer.json, or vocab.json and merges.txt; is the download complete?")
    }
    return CLIPTokenizerLocation(files: files, padToken: padToken ?? CLIPTokenizerLocation.endOfText)
  }
}
