public import Foundation

/// What goes wrong with one `GET` of a file; the first fault is for the first one, and so on.
public enum ServerFault: Sendable {
  /// All as it should be.
  case none
  /// The connection breaks after so many bytes of the content.
  case cut(afterBytes: Int)
  /// Another status, without the content.
  case status(Int, retryAfter: String? = nil)
  /// Another length than the content's is announced.
  case length(Int)
  /// The range is ignored: all of it comes, with status 200.
  case ignoresRange
  /// Other bytes than the ones that were asked for.
  case wrongRange
  /// Waits at a gate after so many bytes.
  case hold(afterBytes: Int, Gate)
}

/// A file on a server.
public struct ServedFile: Sendable {
  /// What it holds.
  public var content: Data
  /// Its tag, quoted; nil sends none.
  public var etag: String?
  /// Where it really is: a path here, or a URL; nil when it's here.
  public var redirect: String?
  /// Header fields beside the usual ones.
  public var headers: [String: String] = [:]
  /// Whether `HEAD` and the content's length are told.
  public var tellsLength = true
  /// What goes wrong.
  public var faults: [ServerFault] = []

  /// Makes a file with a tag of its own.
  public init(_ content: Data, etag: String? = nil) {
    self.content = content
    self.etag = etag ?? "\"\(content.count)-\(Self.mark(content))\""
  }

  private static func mark(_ content: Data) -> UInt32 {
    var sum: UInt32 = 17
    for byte in content { sum = sum &* 31 &+ UInt32(byte) }
    return sum
  }
}

/// What a server was asked.
public struct ServerRequest: Sendable, Hashable {
  /// `GET` or `HEAD`.
  public var method: String
  /// The path.
  public var path: String
  /// Header fields, names in lower case.
  public var headers: [String: String]
  /// Makes a request.
  public init(method: String, path: String, headers: [String: String]) {
    self.method = method
    self.path = path
    self.headers = headers
  }
}
