import Foundation

/// Finds the model in what an archive was unpacked to.
enum ModelFolder {
  /// The folder that holds the model: `path` itself, or the one folder inside it that has a `model_index.json`.
  ///
  /// Archives often wrap their files in a folder of their own; up to two such layers are looked through. Anything else is
  /// given back as it is, for the engine to judge.
  static func resolve(_ path: String) -> String {
    var folder = path
    for _ in 0..<3 {
      if isModel(folder) { return folder }
      let inner = subfolders(of: folder)
      if let found = inner.first(where: isModel), inner.count(where: isModel) == 1 { return found }
      guard inner.count == 1 else { return path }
      folder = inner[0]
    }
    return path
  }

  private static func isModel(_ folder: String) -> Bool {
    FileManager.default.fileExists(atPath: folder + "/model_index.json")
  }

  /// Visible folders inside; what macOS adds to archives isn't one.
  private static func subfolders(of folder: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.sorted().filter { !$0.hasPrefix(".") && $0 != "__MACOSX" }.map { folder + "/" + $0 }.filter { path in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }
  }
}
