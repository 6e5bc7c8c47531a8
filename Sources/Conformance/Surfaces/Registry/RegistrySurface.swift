public import Foundation

/// The words in which checks speak about an SDK's models: registering, downloading, storing, deleting.
public enum RegistrySurface: APISurface {
  /// Which API it is.
  public static let kind = SurfaceKind.registry
  /// Its place in ``AnySubject``.
  public static var slot: any WritableKeyPath<AnySubject, Subject<RegistrySurface>?> & Sendable { \.registry }

  /// What an SDK can do beyond the documented minimum.
  public enum Capability: String, Sendable, Hashable, Codable, CaseIterable {
    /// Tells what happens during a download as a stream.
    case events
    /// Compares files with a given SHA-256.
    case checksums
    /// Takes files that may be missing.
    case optionalFiles
    /// Unpacks archives.
    case archives
    /// Cancels a download.
    case cancellation
    /// Goes on with a download that was interrupted.
    case resuming
    /// Deletes the files of models, and forgets models.
    case deletion
    /// Tells what models take.
    case storage
    /// Models whose files stay where they are.
    case builtIn
    /// Looks at the free space before a download.
    case spaceCheck
  }

  /// A file to register.
  public struct File: Sendable, Hashable {
    /// Where it comes from; may be an address that can't be one.
    public var url: String
    /// Its name.
    public var name: String
    /// Its size in bytes.
    public var bytes: Int?
    /// Its SHA-256.
    public var sha256: String?
    /// Whether it may be missing.
    public var isOptional: Bool
    /// Makes an entry.
    public init(url: String, name: String, bytes: Int? = nil, sha256: String? = nil, isOptional: Bool = false) {
      self.url = url
      self.name = name
      self.bytes = bytes
      self.sha256 = sha256
      self.isOptional = isOptional
    }
  }

  /// What kind of model is registered.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    case singleFile
    /// A zip archive whose model lies in a folder of its own.
    case zip
    case multiFile
    case builtIn
  }

  /// A model to register.
  public struct Registration: Sendable, Hashable {
    /// The id.
    public var id: String
    /// The name.
    public var name: String
    /// The files, the main one first.
    public var files: [File]
    /// The kind.
    public var kind: Kind
    /// The memory that it needs, in bytes.
    public var memory: Int?
    /// Makes a registration.
    public init(id: String, name: String = "A model", files: [File], kind: Kind = .singleFile, memory: Int? = 1_000_000) {
      self.id = id
      self.name = name
      self.files = files
      self.kind = kind
      self.memory = memory
    }
  }

  /// A registered model.
  public struct Model: Sendable, Hashable {
    /// The id.
    public var id: String
    /// The name.
    public var name: String
    /// The framework's name, as it was registered.
    public var framework: String
    /// The modality's name, as it was registered.
    public var modality: String
    /// The memory that it needs, in bytes.
    public var memory: Int?
    /// What is transferred, in bytes.
    public var downloadSize: Int?
    /// The main file or the folder; nil until it's downloaded.
    public var localPath: URL?
    /// Makes a model.
    public init(
      id: String, name: String, framework: String, modality: String, memory: Int?, downloadSize: Int?, localPath: URL?
    ) {
      self.id = id
      self.name = name
      self.framework = framework
      self.modality = modality
      self.memory = memory
      self.downloadSize = downloadSize
      self.localPath = localPath
    }
  }

  /// Something that happened during a download.
  public struct Event: Sendable, Hashable {
    /// What happened.
    public enum Kind: Sendable, Hashable {
      case started
      case progress(bytesDone: Int, bytesTotal: Int?)
      case completed
      case failed
      case cancelled
      case other
    }
    /// The same for all events of one download.
    public var operation: String
    /// Goes up.
    public var sequence: Int
    /// What happened.
    public var kind: Kind
    /// Makes an event.
    public init(operation: String, sequence: Int, kind: Kind) {
      self.operation = operation
      self.sequence = sequence
      self.kind = kind
    }
    /// Whether it's a last one.
    public var isTerminal: Bool { [.completed, .failed, .cancelled].contains(kind) }
  }
}
