import Foundation

/// A registration and what of it is on this machine.
struct InstalledModel: Sendable {
  let registration: ModelRegistration
  let layout: StoreLayout
  /// What is installed for just this registration; nil when nothing is.
  let receipt: InstallReceipt?

  init(_ registration: ModelRegistration, _ layout: StoreLayout) {
    self.registration = registration
    self.layout = layout
    let found = InstallReceipt.read(layout.receipt(registration.id))
    receipt = found?.sourceKey == registration.sourceKey ? found : nil
  }

  /// Whether a file or folder is there; a link that leads nowhere isn't one.
  static func isThere(_ url: URL) -> Bool { FileManager.default.fileExists(atPath: url.path) }

  private var files: URL { layout.files(registration.id) }

  /// Whether all files are there with their sizes.
  var isComplete: Bool {
    if registration.artifactType == .builtIn { return registration.files.allSatisfy { $0.isOptional || Self.isThere($0.url) } }
    return receipt?.isComplete(in: files) ?? false
  }

  /// The main file or folder; nil unless it's complete.
  private var localPath: URL? {
    guard isComplete else { return nil }
    if registration.artifactType == .builtIn { return registration.files[registration.primaryIndex].url }
    guard let receipt else { return nil }
    return receipt.mainPath.isEmpty ? files : files.appendingPathComponent(receipt.mainPath)
  }

  private var localFiles: [ModelDescriptor.LocalFile] {
    guard isComplete else { return [] }
    if registration.artifactType == .builtIn {
      return registration.files.indices.filter { Self.isThere(registration.files[$0].url) }
        .map { ModelDescriptor.LocalFile(role: registration.role(of: $0), url: registration.files[$0].url) }
    }
    return (receipt?.files ?? []).compactMap { file in
      file.role.map { ModelDescriptor.LocalFile(role: $0, url: files.appendingPathComponent(file.path)) }
    }
  }

  /// Bytes in the store; built-in models have none there.
  var storedBytes: Int { registration.artifactType == .builtIn ? 0 : FileTree.bytes(below: files) }

  var descriptor: ModelDescriptor {
    ModelDescriptor(
      id: registration.id, name: registration.name, framework: registration.framework, modality: registration.modality,
      artifactType: registration.artifactType, files: registration.files, memoryRequirement: registration.memoryRequirement,
      downloadSize: registration.downloadSize, localPath: localPath, localFiles: localFiles)
  }
}
