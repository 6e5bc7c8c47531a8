import Foundation
public import Tensors

/// Writes safetensors files of `F32` and `I64` tensors: traces and exchange between engines.
public enum SafetensorsWriter {
  /// Writes tensors in the order of their names, to a temporary file that is then renamed.
  ///
  /// - Parameters:
  ///   - tensors: By name; written as `F32`.
  ///   - metadata: Free-form `__metadata__`.
  ///   - path: Where to; replaced when it exists.
  /// - Throws: ``CheckpointError`` `.unwritable`.
  public static func write(_ tensors: [String: Tensor], metadata: [String: String] = [:], to path: String) throws(CheckpointError)
  {
    var header: [String: Any] = metadata.isEmpty ? [:] : ["__metadata__": metadata]
    var data = Data()
    for name in tensors.keys.sorted() {
      guard let tensor = tensors[name] else { continue }
      let start = data.count
      tensor.withUnsafeBuffer { data.append(contentsOf: UnsafeRawBufferPointer($0)) }
      header[name] = ["dtype": "F32", "shape": tensor.shape.dimensions, "data_offsets": [start, data.count]]
    }
    let problem: String
    do {
      var json = try JSONSerialization.data(withJSONObject: header, options: [.sortedKeys, .withoutEscapingSlashes])
      while json.count % 8 != 0 { json.append(UInt8(ascii: " ")) }
      var file = withUnsafeBytes(of: UInt64(json.count).littleEndian) { Data($0) }
      file.append(json)
      file.append(data)
      try AtomicFile.write(file, to: path)
      return
    } catch let error as CheckpointError {
      throw error
    } catch {
      problem = "\(error)"
    }
    throw CheckpointError(.unwritable, file: path, problem)
  }
}
