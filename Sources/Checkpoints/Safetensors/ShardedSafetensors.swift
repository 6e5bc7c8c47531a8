import Foundation
public import Tensors

/// Weights spread over several safetensors files by an index: `*.safetensors.index.json`.
///
/// Layout: `{"metadata": {...}, "weight_map": {tensor name: file name}}`, the files beside the index.
/// Source: huggingface/transformers `save_pretrained` with `max_shard_size`.
public struct ShardedSafetensors: WeightSource {
  /// The path of the index.
  public let location: String
  private let views: [String: WeightView]

  /// Opens an index and all its shards.
  ///
  /// - Throws: ``CheckpointError``: `.missing` for an absent shard, `.invalid` for a name that its shard doesn't have.
  public init(indexPath: String) throws(CheckpointError) {
    guard let map = try JSONValue(contentsOf: indexPath)["weight_map"]?.object else {
      throw CheckpointError(.invalid, file: indexPath, "key 'weight_map': expected an object of tensor and file names")
    }
    let folder = URL(fileURLWithPath: indexPath).deletingLastPathComponent()
    var shards: [String: SafetensorsFile] = [:]
    var views: [String: WeightView] = [:]
    for (name, value) in map {
      guard let file = value.string, RelativePath(file)?.isName == true else {
        throw CheckpointError(
          .invalid, file: indexPath, "tensor '\(name)': expected the name of a file beside the index, found \(value.brief)")
      }
      let shard: SafetensorsFile
      if let open = shards[file] {
        shard = open
      } else {
        let path = folder.appendingPathComponent(file).path
        guard FileManager.default.fileExists(atPath: path) else {
          throw CheckpointError(
            .missing, file: path, "shard listed in \(indexPath) isn't there; download the missing part")
        }
        shard = try SafetensorsFile(path: path)
        shards[file] = shard
      }
      guard let view = shard.weight(named: name) else {
        throw CheckpointError(
          .invalid, file: shard.location,
          "tensor '\(name)': the index says it's in this shard, but it isn't; index and shards don't belong together")
      }
      views[name] = view
    }
    location = indexPath
    self.views = views
  }

  /// The names of all weights, sorted.
  public var weightNames: [String] { views.keys.sorted() }

  /// The weight of a name, or nil.
  public func weight(named name: String) -> WeightView? { views[name] }
}
