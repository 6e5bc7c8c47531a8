package import Foundation
import InputFiles

/// A text that the user names: a file, a pipe, or `-` for standard input.
package enum UserFile {
  /// Bytes that are read at most.
  private static let limit = 1 << 30

  /// The whole content.
  ///
  /// - Throws: `InputFileError`.
  package static func content(_ path: String) throws -> Data { Data(try InputFile.read(path, limit: limit)) }
}
