/// Why something with a model's files didn't work; switch on ``code``, show ``message``.
public struct RegistryError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The kinds of failure.
  public enum Code: String, Sendable, Hashable, Codable, CaseIterable {
    /// No model of that id is registered.
    case modelNotFound
    /// A registration or an option can't be used.
    case invalidInput
    /// The server couldn't be reached, or the connection broke, more often than is allowed.
    case networkFailed
    /// The server answered with a status that means no; see ``RegistryError/httpStatus``.
    case httpError
    /// Something arrived that isn't the file: another size, a page of HTML.
    case invalidContent
    /// The SHA-256 is another one.
    case checksumMismatch
    /// The disk has no room for it.
    case insufficientStorage
    /// The archive is damaged or hostile.
    case extractionFailed
    /// The archive is of a kind that isn't unpacked here.
    case unsupportedArchive
    /// The model can't be run here, whatever is downloaded.
    case notSupported
    /// Somebody cancelled it.
    case cancelled
    /// The model is loaded, being downloaded, or not empty.
    case inUse
    /// The store's own files can't be read or written.
    case storageFailed
  }

  /// The kind of failure.
  public let code: Code
  /// A sentence: which model or file, what was expected, what was found, what to do.
  public let message: String
  /// The status of the server's answer.
  public let httpStatus: Int?

  /// Makes an error.
  public init(_ code: Code, _ message: String, httpStatus: Int? = nil) {
    self.code = code
    self.message = message
    self.httpStatus = httpStatus
  }

  /// The code and the message.
  public var description: String { "\(code.rawValue): \(message)" }
}
