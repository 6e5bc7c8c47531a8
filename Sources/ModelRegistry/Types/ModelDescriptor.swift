public import Foundation

/// A registered model, and where it is on this machine.
public struct ModelDescriptor: Sendable, Hashable, Codable, Identifiable {
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
  /// The memory that it needs when it's loaded, in bytes; nil when unknown.
  public let memoryRequirement: Int?
  /// What is transferred, in bytes; nil when unknown.
  ///
  /// Not the memory that the model needs.
  public let downloadSize: Int?
  /// The main file or the folder; nil until the model is downloaded as a whole.
  public let localPath: URL?
  /// The paths of the files by role, as far as they're here.
  public let localFiles: [LocalFile]

  /// A file that is here.
  public struct LocalFile: Sendable, Hashable, Codable {
    /// What it's for.
    public let role: ModelFileDescriptor.Role
    /// Where it is.
    public let url: URL
    /// Makes an entry.
    public init(role: ModelFileDescriptor.Role, url: URL) {
      self.role = role
      self.url = url
    }
  }

  /// Makes a descriptor; the registry does that.
  public init(
    id: String, name: String, framework: ModelFramework, modality: ModelModality, artifactType: ModelArtifactType,
    files: [ModelFileDescriptor], memoryRequirement: Int? = nil, downloadSize: Int? = nil, localPath: URL? = nil,
    localFiles: [LocalFile] = []
  ) {
    self.id = id
    self.name = name
    self.framework = framework
    self.modality = modality
    self.artifactType = artifactType
    self.files = files
    self.memoryRequirement = memoryRequirement
    self.downloadSize = downloadSize
    self.localPath = localPath
    self.localFiles = localFiles
  }

  /// Whether all of it is here.
  public var isDownloaded: Bool { localPath != nil }
  /// Whether its files stay where they are.
  public var isBuiltIn: Bool { artifactType == .builtIn }

  /// The file of a role that is here.
  public func localFile(_ role: ModelFileDescriptor.Role) -> URL? { localFiles.first { $0.role == role }?.url }
}
