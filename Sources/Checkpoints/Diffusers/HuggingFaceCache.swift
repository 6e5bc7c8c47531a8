import Foundation

/// Folders of Hugging Face's cache: `models--org--name` with `refs/`, `snapshots/` and the content in `blobs/`.
public enum HuggingFaceCache {
  /// The model in a folder of the cache: its snapshot, or the one file of weights in it; nil when it's no such folder.
  ///
  /// The snapshot is the one of `refs/main`, else the only one.
  ///
  /// - Throws: ``CheckpointError`` `.missing` when there's no snapshot, or several and nothing says which.
  public static func model(in path: String) throws(CheckpointError) -> String? {
    let folder = URL(fileURLWithPath: path)
    let snapshots = folder.appendingPathComponent("snapshots")
    guard folder.lastPathComponent.hasPrefix("models--"), isFolder(snapshots) else { return nil }
    let names = entries(snapshots).filter { isFolder(snapshots.appendingPathComponent($0)) }
    var chosen = names.count == 1 ? names[0] : nil
    if let reference = try? String(contentsOf: folder.appendingPathComponent("refs/main"), encoding: .utf8) {
      let name = reference.trimmingCharacters(in: .whitespacesAndNewlines)
      // The file says which folder: only one that is here counts.
      if RelativePath(name)?.isName == true, names.contains(name) { chosen = name }
    }
    guard let chosen else {
      throw CheckpointError(
        .missing, file: path,
        names.isEmpty
          ? "a folder of Hugging Face's cache without a snapshot; download the model again"
          : "a folder of Hugging Face's cache with \(names.count) snapshots and no refs/main among them; give one of "
            + "snapshots/\(names.joined(separator: ", "))")
    }
    let snapshot = snapshots.appendingPathComponent(chosen)
    let files = entries(snapshot)
    let weights = files.filter { name in
      let name = name.lowercased()
      return name.hasSuffix(".gguf") && !name.contains("mmproj") || name.hasSuffix(".safetensors")
    }
    return !files.contains("model_index.json") && weights.count == 1
      ? snapshot.appendingPathComponent(weights[0]).path : snapshot.path
  }

  private static func entries(_ folder: URL) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
  }

  private static func isFolder(_ url: URL) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) && isFolder.boolValue
  }
}
