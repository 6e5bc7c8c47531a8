public import Foundation

/// The words in which checks speak about an SDK's models: registering, downloading, storing, deleting.
public enum RegistrySurface {
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

/// What is judged by the group M: the adapter that the owner of an SDK writes.
///
/// Each member calls the SDK and translates values, nothing else.
public protocol RegistryImplementation: Sendable {
  /// What the SDK can do beyond the documented minimum.
  var capabilities: Set<RegistrySurface.Capability> { get }
  /// The names of the framework and the modality that a registration of a kind is made with.
  func labels(_ kind: RegistrySurface.Kind) -> (framework: String, modality: String)
  /// Registers a model.
  func register(_ registration: RegistrySurface.Registration) async throws
  /// All registered models.
  func available() async throws -> [RegistrySurface.Model]
  /// Downloads a model.
  func download(_ id: String, progress: @escaping @Sendable (Double) -> Void) async throws
  /// Starts or joins a download and tells what happens; asked only with ``RegistrySurface/Capability/events``.
  func events(_ id: String) async throws -> AsyncStream<RegistrySurface.Event>
  /// Cancels a download.
  func cancelDownload(_ id: String) async
  /// Deletes a model's files.
  func delete(_ id: String) async throws
  /// Forgets a model.
  func unregister(_ id: String) async throws
  /// Bytes of each downloaded model by its id.
  func storage() async throws -> [String: Int]
  /// Loads a model, so that its files are in use.
  func load(_ id: String) async throws
  /// Whether a model is loaded.
  func isLoaded(_ id: String) async -> Bool
  /// Unloads a model; asked for one that isn't loaded too.
  func unload(_ id: String) async throws
  /// A thrown error by its code.
  func failure(of error: any Error) -> Surface.Failure
}

/// How an implementation of the registry API is set up for a check.
public struct RegistrySetup: Sendable {
  /// Where it keeps everything; the same for an implementation that is started anew.
  public var folder: URL
  /// Bytes that it's to believe are free; nil for what there is.
  public var freeBytes: Int?
  /// Whether the SDK is initialised.
  public var isInitialized = true
  /// What it's to wait by before it tries again, in seconds.
  public var wait: @Sendable (Double) async throws -> Void
}

/// What an implementation of the registry API stands on.
public struct RegistrySurroundings: SurfaceSurroundings {
  /// The API.
  public var kind: SurfaceKind { .registry }
  /// Where its checks run: a server that follows a script.
  public var world: Check.World { .scripted }
  /// What it stands on, for headings.
  public var foundation: String
  /// Makes an implementation over a folder.
  public var make: @Sendable (RegistrySetup) async throws -> any RegistryImplementation

  /// Makes surroundings.
  public init(
    foundation: String = "a scripted server", make: @escaping @Sendable (RegistrySetup) async throws -> any RegistryImplementation
  ) {
    self.foundation = foundation
    self.make = make
  }
}
