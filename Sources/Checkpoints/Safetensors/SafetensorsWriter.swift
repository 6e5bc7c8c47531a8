public import Tensors

/// Writes safetensors files of tensors in memory: traces, exchange between engines, small models.
public enum SafetensorsWriter {
  /// Writes tensors in the order of their names, to a temporary file that is then renamed.
  ///
  /// - Parameters:
  ///   - tensors: By name.
  ///   - dtype: How they're stored: `f32`, or rounded to `f16` or `bf16`.
  ///   - metadata: Free-form `__metadata__`.
  ///   - path: Where to; replaced when it exists.
  /// - Throws: ``CheckpointError`` `.unwritable`.
  public static func write(
    _ tensors: [String: Tensor], dtype: DType = .f32, metadata: [String: String] = [:], to path: String
  ) throws(CheckpointError) {
    let sorted = tensors.sorted { $0.key < $1.key }
    var writer = try SafetensorsStreamWriter(
      path: path, entries: sorted.map { .init(name: $0.key, dtype: dtype, shape: $0.value.shape) }, metadata: metadata)
    for (_, tensor) in sorted { try writer.append(tensor) }
    try writer.finish()
  }
}
