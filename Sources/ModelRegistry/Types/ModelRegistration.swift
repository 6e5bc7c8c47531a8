import Checkpoints
public import Foundation

/// A model as it was registered: checked, and kept in the store's index.
public struct ModelRegistration: Sendable, Hashable, Codable {
  /// The unique id.
  public let id: String
  /// The name for people.
  public let name: String
  /// What runs it.
  public let framework: ModelFramework
  /// What it takes and makes.
  public let modality: ModelModality
  /// What is transferred.
  public let artifactType: ModelArtifactType
  /// The files, the main one first.
  public let files: [ModelFileDescriptor]
  /// The memory that it needs when it's loaded, in bytes.
  public let memoryRequirement: Int?
  /// About what is transferred, in bytes, when the files don't tell.
  public let approximateDownloadSize: Int?

  /// Checks a registration.
  ///
  /// - Throws: ``RegistryError`` `invalidInput`: an empty id or name, no files, two files of one name, a name that leads out
  ///   of the model's folder, a URL that is none of `https`, `http` and `file`, a size or a checksum that can't be one.
  public init(
    id: String, name: String, framework: ModelFramework, modality: ModelModality, artifactType: ModelArtifactType,
    files: [ModelFileDescriptor], memoryRequirement: Int? = nil, approximateDownloadSize: Int? = nil
  ) throws(RegistryError) {
    self.id = id
    self.name = name
    self.framework = framework
    self.modality = modality
    self.artifactType = artifactType
    self.files = files
    self.memoryRequirement = memoryRequirement
    self.approximateDownloadSize = approximateDownloadSize
    try check()
  }

  /// A registration of one URL.
  ///
  /// - Parameter artifactType: nil tells it by the URL: an archive by its ending, a folder of this machine, else one file.
  /// - Throws: As ``init(id:name:framework:modality:artifactType:files:memoryRequirement:approximateDownloadSize:)``.
  public init(
    id: String, name: String, url: URL, framework: ModelFramework, modality: ModelModality,
    artifactType: ModelArtifactType? = nil, memoryRequirement: Int? = nil
  ) throws(RegistryError) {
    let type = artifactType ?? Self.artifactType(of: url)
    guard type != .multiFile else {
      throw RegistryError(.invalidInput, "model '\(id)': several files need registerMultiFileModel, which names them")
    }
    let last = url.lastPathComponent
    let file = ModelFileDescriptor(url: url, filename: last.isEmpty || last == "/" ? "model" : last, role: .primary)
    try self.init(
      id: id, name: name, framework: framework, modality: modality, artifactType: type, files: [file],
      memoryRequirement: memoryRequirement)
  }

  /// What a URL leads to, by its ending.
  public static func artifactType(of url: URL) -> ModelArtifactType {
    let name = url.lastPathComponent.lowercased()
    let endings: [(String, ArchiveFormat)] = [
      (".zip", .zip), (".tar.gz", .tarGz), (".tgz", .tarGz), (".tar.bz2", .tarBz2), (".tar.xz", .tarXz), (".tar", .tar),
    ]
    if let format = endings.first(where: { name.hasSuffix($0.0) })?.1 { return .archive(format, structure: .unknown) }
    var isFolder: ObjCBool = false
    if url.isFileURL, FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder), isFolder.boolValue {
      return .folder
    }
    return .singleFile
  }

  /// What is transferred, in bytes; nil when it isn't known.
  public var downloadSize: Int? {
    let sizes = files.map(\.sizeBytes)
    return sizes.contains(nil) ? approximateDownloadSize : sizes.reduce(0) { $0.addingClamped($1 ?? 0) }
  }

  /// What a file is for, told or by its place.
  func role(of index: Int) -> ModelFileDescriptor.Role {
    if let role = files[index].role { return role }
    if index == 0 { return .primary }
    return modality == .multimodal && !files.contains { $0.role == .visionProjector } && index == 1
      ? .visionProjector : .companion
  }

  /// The number of the main file.
  var primaryIndex: Int { files.firstIndex { $0.role == .primary } ?? files.firstIndex { $0.role == nil } ?? 0 }

  /// What tells one download from another: the same model from elsewhere is another download.
  var sourceKey: String {
    let lines = files.map { "\($0.filename)\n\($0.url.shown.absoluteString)\n\($0.sha256?.lowercased() ?? "")\n" }
    return SHA256.hex((lines.joined() + "\(artifactType)").utf8)
  }

  // MARK: - Addresses that aren't for everybody

  private init(_ other: ModelRegistration, files: [ModelFileDescriptor]) {
    (id, name, framework, modality) = (other.id, other.name, other.framework, other.modality)
    (artifactType, memoryRequirement) = (other.artifactType, other.memoryRequirement)
    approximateDownloadSize = other.approximateDownloadSize
    self.files = files
  }

  private func secretKey(_ file: ModelFileDescriptor) -> String { "\(id)\n\(file.filename)" }

  /// The addresses that may not be shown whole.
  var secretURLs: [String: URL] {
    Dictionary(files.filter { $0.url.shown != $0.url }.map { (secretKey($0), $0.url) }, uniquingKeysWith: { $1 })
  }

  /// The same with the addresses whole, as far as they're known.
  func revealing(_ secrets: [String: URL]) -> ModelRegistration {
    if secrets.isEmpty { return self }
    return ModelRegistration(
      self,
      files: files.map { file in
        guard let url = secrets[secretKey(file)], url.shown == file.url.shown else { return file }
        return file.at(url)
      })
  }

  // MARK: - Reading

  private enum CodingKeys: String, CodingKey {
    case id, name, framework, modality, artifactType, files, memoryRequirement, approximateDownloadSize
  }

  /// Reads a registration and checks it as a new one.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    try self.init(
      id: container.decode(String.self, forKey: .id), name: container.decode(String.self, forKey: .name),
      framework: container.decode(ModelFramework.self, forKey: .framework),
      modality: container.decode(ModelModality.self, forKey: .modality),
      artifactType: container.decode(ModelArtifactType.self, forKey: .artifactType),
      files: container.decode([ModelFileDescriptor].self, forKey: .files),
      memoryRequirement: container.decodeIfPresent(Int.self, forKey: .memoryRequirement),
      approximateDownloadSize: container.decodeIfPresent(Int.self, forKey: .approximateDownloadSize))
  }

  // MARK: - Checking

  private func check() throws(RegistryError) {
    func fail(_ text: String) -> RegistryError { RegistryError(.invalidInput, "model '\(id)': \(text)") }
    guard id.contains(where: { !$0.isWhitespace }), id.utf8.count <= 200,
      !id.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 })
    else {
      throw RegistryError(
        .invalidInput, "model id: expected some text of at most 200 bytes without control characters, found '\(id)'")
    }
    guard name.contains(where: { !$0.isWhitespace }) else { throw fail("name: expected some text, found none") }
    guard !files.isEmpty else { throw fail("files: expected at least one, found none") }
    if let memoryRequirement, memoryRequirement <= 0 {
      throw fail("memoryRequirement: expected a number of bytes, found \(memoryRequirement)")
    }
    var names: Set<String> = []
    for file in files {
      try Self.check(file.url, of: "model '\(id)', file '\(file.filename)'")
      // While it's downloaded, its name is longer.
      guard RelativePath(file.filename + ".part.json") != nil, RelativePath(file.filename) != nil else {
        throw fail("filename '\(file.filename)': expected a relative path without '..' within the model's folder")
      }
      // Two names that differ in case are one file on some disks.
      guard names.insert(file.filename.lowercased()).inserted else {
        throw fail("filename '\(file.filename)' is there twice; give each file its own name")
      }
      if let size = file.sizeBytes, !(0...TransferLength.most).contains(size) {
        throw fail("file '\(file.filename)': sizeBytes can't be \(size)")
      }
      if let sum = file.sha256, sum.utf8.count != 64 || !sum.allSatisfy(\.isHexDigit) {
        throw fail("file '\(file.filename)': sha256: expected 64 hexadecimal digits, found '\(sum)'")
      }
    }
    guard files.contains(where: { !$0.isOptional }) else { throw fail("files: all are optional; one must be the model") }
    switch artifactType {
    case .builtIn, .folder:
      guard files.allSatisfy(\.url.isFileURL) else {
        throw fail("\(artifactType): expected a file URL, found \(files[0].url.shown)")
      }
    case .archive, .singleFile:
      guard files.count == 1 else { throw fail("expected one file, found \(files.count); register it as a multi-file model") }
    case .multiFile: break
    }
  }

  private static func check(_ url: URL, of what: String) throws(RegistryError) {
    switch url.scheme?.lowercased() {
    case "http", "https":
      guard let host = url.host, !host.isEmpty else {
        throw RegistryError(.invalidInput, "\(what): URL \(url.shown): expected a host")
      }
    case "file": break
    default:
      throw RegistryError(
        .invalidInput,
        "\(what): URL '\(url.shown)': expected https://, http:// or file://, found \(url.scheme ?? "none")")
    }
  }
}
