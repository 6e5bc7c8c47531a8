public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// Sends a request and receives the whole answer.
public protocol HTTPTransport: Sendable {
  /// Sends; cancelling the task ends it.
  func send(_ request: URLRequest) async throws -> (body: Data, status: Int)
}

/// The usual transport: `URLSession`, without cookies or caches.
public struct URLSessionTransport: HTTPTransport {
  private let session: URLSession

  /// Makes a transport.
  ///
  /// - Parameter timeout: Seconds without any data after which a request fails.
  public init(timeout: Double = 120) {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = timeout
    configuration.httpShouldSetCookies = false
    session = URLSession(configuration: configuration)
  }

  /// Sends by `URLSession`.
  public func send(_ request: URLRequest) async throws -> (body: Data, status: Int) {
    let (data, response) = try await session.data(for: request)
    guard let http = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
    return (data, http.statusCode)
  }
}
