public import Foundation

/// Writes whole files: to a temporary name beside the target, then renamed, so that nobody sees half a file.
public enum AtomicFile {
  /// Writes data.
  ///
  /// - Throws: ``CheckpointError`` `.unwritable`; nothing is left behind then.
  public static func write(_ data: Data, to path: String) throws(CheckpointError) {
    let target = URL(fileURLWithPath: path)
    let temporary = target.deletingLastPathComponent()
      .appendingPathComponent(
        ".\(target.lastPathComponent).\(ProcessInfo.processInfo.processIdentifier).\(UInt32.random(in: 0 ... .max)).tmp")
    do {
      try data.write(to: temporary)
    } catch {
      try? FileManager.default.removeItem(at: temporary)
      throw CheckpointError(.unwritable, file: path, "can't be written: \(error.localizedDescription)")
    }
    guard rename(temporary.path, target.path) == 0 else {
      let reason = String(cString: strerror(errno))
      try? FileManager.default.removeItem(at: temporary)
      throw CheckpointError(.unwritable, file: path, "can't be written: \(reason)")
    }
  }

  /// Writes text as UTF-8.
  ///
  /// - Throws: ``CheckpointError`` `.unwritable`.
  public static func write(_ text: String, to path: String) throws(CheckpointError) {
    try write(Data(text.utf8), to: path)
  }
}
