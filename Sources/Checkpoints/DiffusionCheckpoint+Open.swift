import Foundation

extension DiffusionCheckpoint {
  /// Opens a model of any known layout: a diffusers folder, a single `.safetensors`, a `.gguf` of stable-diffusion.cpp.
  ///
  /// What the path is decides its content, not its extension.
  ///
  /// - Throws: ``CheckpointError``: `.missing` when there's nothing at the path, `.unsupported` with the remedy for other kinds.
  public static func open(path: String, overrides: Overrides = Overrides()) throws(CheckpointError) -> DiffusionCheckpoint {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw CheckpointError(.missing, file: path, "nothing there; give a diffusers folder, a .safetensors or a .gguf file")
    }
    let name = path.lowercased()
    if isFolder.boolValue {
      if name.hasSuffix(".mlmodelc") || name.hasSuffix(".mlpackage") || isCoreMLFolder(path) {
        throw CheckpointError(
          .unsupported, file: path,
          "compiled CoreML models aren't read; give the diffusers folder or the .safetensors that they were made from")
      }
      return try DiffusionCheckpoint(folder: DiffusersFolder(path: path), overrides: overrides)
    }
    if name.hasSuffix("model_index.json") {
      let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
      return try DiffusionCheckpoint(folder: DiffusersFolder(path: folder), overrides: overrides)
    }
    let file = try MappedFile(path: path)
    switch FileKind(file) {
    case .gguf: return try DiffusionCheckpoint(gguf: GGUFFile(path: path), overrides: overrides)
    case .safetensors: return try DiffusionCheckpoint(singleFile: SafetensorsFile(path: path), overrides: overrides)
    case .zip where name.hasSuffix(".zip"):
      throw CheckpointError(
        .unsupported, file: path,
        "archives aren't read in place; unpack it and give the folder (CoreML models inside aren't read either)")
    case .zip, .pickle:
      throw CheckpointError(
        .unsupported, file: path,
        "pickled checkpoints (.ckpt, .pt, .bin) aren't read, as they can run code; get the .safetensors of this model, or convert it"
          + " with Python: safetensors.torch.save_file(torch.load(path, weights_only=True)[\"state_dict\"], out)")
    case .unknown:
      let start = file.bytes.prefix(ForeignContent.startLength)
      if let problem = ForeignContent.problem(start, byteCount: file.bytes.count, expected: .safetensors) {
        throw CheckpointError(.invalid, file: path, "expected safetensors or GGUF, found \(problem)")
      }
      throw CheckpointError(
        .unsupported, file: path, "neither safetensors nor GGUF; give a diffusers folder, a .safetensors or a .gguf file")
    }
  }

  private static func isCoreMLFolder(_ path: String) -> Bool {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else { return false }
    return !names.contains("model_index.json") && names.contains { $0.hasSuffix(".mlmodelc") || $0.hasSuffix(".mlpackage") }
  }

  private enum FileKind {
    case gguf, safetensors, zip, pickle, unknown

    init(_ file: MappedFile) {
      let start = Array(file.bytes.prefix(10))
      func begins(_ prefix: [UInt8]) -> Bool { start.starts(with: prefix) }
      if GGUFFile.hasMagic(file.bytes) {
        self = .gguf
      } else if begins(Array("PK".utf8)) {
        self = .zip
      } else if start.count == 10, start[8] == UInt8(ascii: "{") {
        self = .safetensors
      } else if file.path.lowercased().hasSuffix(".safetensors") {
        // Let its reader say what's wrong with it.
        self = .safetensors
      } else if start.count >= 2, start[0] == 0x80, start[1] <= 5 {
        self = .pickle
      } else {
        self = .unknown
      }
    }
  }
}
