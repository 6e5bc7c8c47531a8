public import Foundation

/// Finds the folder that holds `Fixtures/`: never through a resource bundle, so that a moved executable works.
public enum ProjectHome {
  /// The `Fixtures` folder.
  ///
  /// Looked for in this order: `explicit` (the `--fixtures` flag), `GENBENCH_HOME/Fixtures`, the folders from the
  /// executable upward, the folders from the working directory upward.
  ///
  /// - Returns: nil when none of them has it.
  public static func fixtures(explicit: String? = nil, environment: [String: String] = ProcessInfo.processInfo.environment)
    -> URL?
  {
    let manager = FileManager.default
    func isFolder(_ url: URL) -> Bool {
      var folder: ObjCBool = false
      return manager.fileExists(atPath: url.path, isDirectory: &folder) && folder.boolValue
    }
    if let explicit {
      let url = URL(fileURLWithPath: explicit)
      return isFolder(url) ? url : nil
    }
    if let home = environment["GENBENCH_HOME"] {
      let url = URL(fileURLWithPath: home).appendingPathComponent("Fixtures")
      if isFolder(url) { return url }
    }
    let executable = Bundle.main.executableURL?.resolvingSymlinksInPath().deletingLastPathComponent()
    for start in [executable, URL(fileURLWithPath: manager.currentDirectoryPath)].compactMap({ $0 }) {
      var folder = start.standardizedFileURL
      while true {
        let candidate = folder.appendingPathComponent("Fixtures")
        if isFolder(candidate.appendingPathComponent("Models")) { return candidate }
        let parent = folder.deletingLastPathComponent()
        if parent.path == folder.path { break }
        folder = parent
      }
    }
    return nil
  }

  /// All cases below a folder of `Fixtures/`, sorted by id.
  public static func cases(in area: String, fixtures: URL) throws -> [GoldenCase] {
    let root = fixtures.appendingPathComponent(area)
    guard let walker = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil) else { return [] }
    var cases: [GoldenCase] = []
    for case let url as URL in walker where url.lastPathComponent == "case.json" {
      cases.append(try GoldenCase(folder: url.deletingLastPathComponent()))
    }
    return cases.sorted { $0.id < $1.id }
  }
}
