import Foundation

/// Finds the model in a folder that came out of an archive.
enum ModelLayout {
  /// The main file or folder below `folder`, as a relative path; empty for the folder itself.
  ///
  /// A folder that has a `model_index.json` is the model, however deep it lies. Otherwise it's the one model file, or the
  /// innermost folder that holds all there is.
  ///
  /// - Throws: ``RegistryError`` `notSupported` for compiled CoreML packages, `extractionFailed` when a single file was
  ///   promised and there are several.
  static func mainPath(in folder: URL, files: [String], structure: ArchiveStructure) throws(RegistryError) -> String {
    try refuseCoreML(files)
    if let index = files.filter({ ($0 as NSString).lastPathComponent == "model_index.json" })
      .min(by: { $0.count(where: { $0 == "/" }) < $1.count(where: { $0 == "/" }) })
    {
      return (index as NSString).deletingLastPathComponent
    }
    let models = files.filter { isModelFile($0) }
    let main = models.filter { !isProjector($0) }
    if structure == .singleFileNested {
      guard main.count == 1 else {
        throw RegistryError(
          .extractionFailed,
          "expected one model file in the archive, found \(main.count)\(main.isEmpty ? "" : ": \(main.joined(separator: ", "))")")
      }
      return main[0]
    }
    if main.count == 1, models.count == files.count || main[0].hasSuffix(".gguf") { return main[0] }
    return commonFolder(files)
  }

  /// The deepest folder that holds all files.
  static func commonFolder(_ files: [String]) -> String {
    guard var common = files.first.map({ $0.split(separator: "/").dropLast() }) else { return "" }
    for file in files.dropFirst() {
      let parts = file.split(separator: "/").dropLast()
      common = common.prefix(zip(common, parts).prefix { $0 == $1 }.count)
    }
    return common.joined(separator: "/")
  }

  /// The projector beside a main file; nil without one.
  static func projector(_ files: [String]) -> String? {
    let found = files.filter { isModelFile($0) && isProjector($0) }
    return found.count == 1 ? found[0] : nil
  }

  private static func isModelFile(_ path: String) -> Bool {
    [".gguf", ".safetensors"].contains { path.lowercased().hasSuffix($0) }
  }

  private static func isProjector(_ path: String) -> Bool {
    (path as NSString).lastPathComponent.lowercased().contains("mmproj")
  }

  private static func refuseCoreML(_ files: [String]) throws(RegistryError) {
    let endings = [".mlmodelc/", ".mlpackage/", ".mlmodel"]
    guard let found = files.first(where: { path in endings.contains { (path.lowercased() + "/").contains($0) } }) else { return }
    throw RegistryError(.notSupported, "\(found): \(coreMLReason)")
  }

  /// Why CoreML isn't taken, and what to take.
  static let coreMLReason =
    "a compiled CoreML model, which only Apple's own frameworks run; take the diffusers or safetensors files of the same "
    + "model (`genbench models download sd15`), or a GGUF"
}
