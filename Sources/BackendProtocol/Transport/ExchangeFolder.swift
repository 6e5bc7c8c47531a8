import Checkpoints
import Foundation
package import GenBackend
import Synchronization
package import Tensors

/// The folder through which both sides hand tensors to each other, as safetensors files.
package final class ExchangeFolder: Sendable {
  /// An absolute path.
  package let path: String
  private let prefix: String
  private let count = Atomic<Int>(0)

  /// Makes a folder that nobody else can look into.
  ///
  /// - Throws: `BackendError` `.unavailable`.
  package static func make(in parent: String = NSTemporaryDirectory()) throws(BackendError) -> ExchangeFolder {
    var template = Array((URL(fileURLWithPath: parent).path + "/genbench-exchange.XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else {
      throw BackendError(.unavailable, "\(parent): no folder can be made there: \(String(cString: strerror(errno)))")
    }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return ExchangeFolder(at: path, prefix: "c")
  }

  /// Uses the folder of the other side.
  ///
  /// - Throws: `BackendError` `.invalidInput` when there's no such folder.
  package static func open(_ path: String) throws(BackendError) -> ExchangeFolder {
    var isFolder: ObjCBool = false
    guard path.hasPrefix("/"), FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
      throw BackendError(.invalidInput, "exchange: expected the absolute path of a folder, found '\(path)'")
    }
    return ExchangeFolder(at: path, prefix: "s")
  }

  private init(at path: String, prefix: String) {
    self.path = path
    self.prefix = prefix
  }

  /// Removes the folder and all in it.
  package func remove() { try? FileManager.default.removeItem(atPath: path) }

  /// Removes all files in it: what one side wrote and the other one never read.
  package func empty() {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
      try? FileManager.default.removeItem(atPath: path + "/" + name)
    }
  }

  private func nextName() -> String {
    "\(prefix)\(count.wrappingAdd(1, ordering: .relaxed).newValue).safetensors"
  }

  /// Writes one tensor into a file of its own.
  ///
  /// - Throws: `BackendError` `.processingFailed` when the disk is full, for one.
  package func write(_ tensor: Tensor, as name: String) throws(BackendError) -> TensorReference {
    TensorReference(file: try write([name: tensor]), tensor: name)
  }

  /// Writes tensors into one file and returns its name.
  package func write(_ tensors: [String: Tensor]) throws(BackendError) -> String {
    let file = nextName()
    do { try SafetensorsWriter.write(tensors, to: path + "/" + file) } catch { throw Self.failure(error) }
    return file
  }

  /// Writes pixels as `U8` `[H, W, C]`.
  package func write(_ bitmap: Bitmap, as name: String) throws(BackendError) -> TensorReference {
    let file = nextName()
    do {
      var writer = try SafetensorsStreamWriter(
        path: path + "/" + file,
        entries: [.init(name: name, dtype: .u8, shape: [bitmap.height, bitmap.width, bitmap.channels])])
      try writer.append(bytes: bitmap.samples)
      try writer.finish()
    } catch { throw Self.failure(error) }
    return TensorReference(file: file, tensor: name)
  }

  private static func failure(_ error: CheckpointError) -> BackendError {
    BackendError(.processingFailed, "a tensor can't be handed over: \(error)")
  }
}

/// Reads the files that one message names; each is deleted when all of it was read.
package final class ExchangeReader {
  private let folder: ExchangeFolder
  private let code: BackendError.Code
  private var files: [String: SafetensorsFile] = [:]

  /// Makes a reader.
  ///
  /// - Parameter code: Of the errors about what the other side wrote.
  package init(_ folder: ExchangeFolder, code: BackendError.Code) {
    self.folder = folder
    self.code = code
  }

  deinit {
    for name in files.keys { unlink(folder.path + "/" + name) }
  }

  private func refuse(_ message: String) -> BackendError { BackendError(code, message) }

  private func file(_ name: String) throws(BackendError) -> SafetensorsFile {
    if let file = files[name] { return file }
    guard !name.isEmpty, name.utf8.count <= 255, name.first != ".", !name.contains("/"), !name.utf8.contains(0) else {
      throw refuse("a reference: expected the plain name of a file in the exchange folder, found '\(name.prefix(300))'")
    }
    do {
      // Copied, as the other side could cut a mapped file short under the reader, which ends a process.
      let file = try SafetensorsFile(copying: folder.path + "/" + name, longest: BackendProtocol.largestFile)
      files[name] = file
      return file
    } catch {
      throw refuse("a reference: \(name): \(error.message)")
    }
  }

  private func view(_ reference: TensorReference) throws(BackendError) -> WeightView {
    guard let view = try file(reference.file).weight(named: reference.tensor) else {
      throw refuse("a reference: \(reference.file) has no tensor '\(reference.tensor)'")
    }
    return view
  }

  private func values(_ view: WeightView, _ file: String) throws(BackendError) -> Tensor {
    guard view.dtype == .f32 else {
      throw refuse("tensor '\(view.name)' of \(file): expected F32, found \(view.dtype.rawValue)")
    }
    let tensor = view.float32()
    guard !tensor.hasNonFinite else { throw refuse("tensor '\(view.name)' of \(file) holds values that aren't finite") }
    return tensor
  }

  /// A tensor of finite values.
  package func tensor(_ reference: TensorReference) throws(BackendError) -> Tensor {
    try values(try view(reference), reference.file)
  }

  /// All tensors of a file, of finite values.
  package func tensors(_ name: String) throws(BackendError) -> [String: Tensor] {
    let file = try file(name)
    var tensors: [String: Tensor] = [:]
    for weight in file.weightNames {
      if let view = file.weight(named: weight) { tensors[weight] = try values(view, name) }
    }
    return tensors
  }

  /// RGB pixels: `U8` `[H, W, 3]`, or `F32` `[1, 3, H, W]` in 0...1.
  package func bitmap(_ reference: TensorReference) throws(BackendError) -> Bitmap {
    let view = try view(reference)
    let extents = view.shape.dimensions
    if view.dtype == .u8, extents.count == 3, extents[2] == 3, Self.isSize(extents[1], extents[0]) {
      return Bitmap(width: extents[1], height: extents[0], samples: Array(view.bytes))
    }
    guard view.dtype == .f32, extents.count == 4, extents[0] == 1, extents[1] == 3, Self.isSize(extents[3], extents[2]) else {
      throw refuse(
        "image '\(reference.tensor)': expected U8 [H, W, 3] or F32 [1, 3, H, W] of at most \(BackendProtocol.largestSide) pixels a "
          + "side, found \(view.dtype.rawValue) \(view.shape)")
    }
    let tensor = try values(view, reference.file)
    guard tensor.withUnsafeBuffer({ $0.allSatisfy { $0 >= 0 && $0 <= 1 } }) else {
      throw refuse("image '\(reference.tensor)': expected values in 0...1, found others")
    }
    return Bitmap(unitValues: tensor)
  }

  private static func isSize(_ width: Int, _ height: Int) -> Bool {
    (1...BackendProtocol.largestSide).contains(width) && (1...BackendProtocol.largestSide).contains(height)
  }
}
