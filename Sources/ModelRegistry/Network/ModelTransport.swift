public import Foundation

/// What is asked of a server.
public struct TransferRequest: Sendable, Hashable {
  /// Where.
  public var url: URL
  /// `GET` or `HEAD`.
  public var method: String
  /// Header fields.
  public var headers: [String: String]
  /// Seconds without a byte after which it's given up.
  public var idleTimeout: Double

  /// Makes a request.
  public init(url: URL, method: String = "GET", headers: [String: String] = [:], idleTimeout: Double = 300) {
    self.url = url
    self.method = method
    self.headers = headers
    self.idleTimeout = idleTimeout
  }
}

/// What a server answers, before the content.
public struct TransferResponse: Sendable, Hashable {
  /// The status.
  public var status: Int
  /// Header fields of the answer, names in lower case.
  public var headers: [String: String]
  /// Header fields of the redirects that led to it, names in lower case, a later one winning.
  public var redirectHeaders: [String: String]
  /// Whether the content has no end of its own: nobody can tell all of it from a part.
  public var endsWithConnection: Bool

  /// Makes an answer.
  public init(
    status: Int, headers: [String: String], redirectHeaders: [String: String] = [:], endsWithConnection: Bool = false
  ) {
    self.status = status
    self.headers = headers
    self.redirectHeaders = redirectHeaders
    self.endsWithConnection = endsWithConnection
  }
}

/// How files are brought over the network.
public protocol ModelTransport: Sendable {
  /// Sends a request and hands its answer on, piece by piece, in order.
  ///
  /// What `onResponse` or `onData` throw ends the transfer and is thrown on. Cancelling the task ends it too.
  ///
  /// - Throws: ``RegistryError`` `networkFailed` when the connection can't be made or breaks; `CancellationError`.
  func perform(
    _ request: TransferRequest, onResponse: @escaping @Sendable (TransferResponse) throws -> Void,
    onData: @escaping @Sendable (Data) throws -> Void
  ) async throws
}
