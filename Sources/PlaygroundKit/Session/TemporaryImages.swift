import Foundation
import Imaging
import Synchronization
import Tensors

/// Files that live as long as their session.
final class TemporaryImages: Sendable {
  private let folder = Mutex<URL?>(nil)

  /// Writes an image as PNG into a folder of its own.
  func write(_ image: Bitmap) throws(ImagePlaygroundError) -> URL {
    do {
      let folder = try folder.withLock { folder throws -> URL in
        if let folder { return folder }
        let made = FileManager.default.temporaryDirectory.appendingPathComponent("ImagePlayground-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
          at: made, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        folder = made
        return made
      }
      let url = folder.appendingPathComponent("image-\(UUID().uuidString).png")
      try Data(try PNGFile.encode(image)).write(to: url, options: .atomic)
      return url
    } catch {
      throw ImagePlaygroundError(.creationFailed, "the image can't be written to a temporary file: \(error)")
    }
  }

  /// Removes the files.
  func remove() {
    folder.withLock { folder in
      if let folder { try? FileManager.default.removeItem(at: folder) }
      folder = nil
    }
  }

  deinit { remove() }
}
