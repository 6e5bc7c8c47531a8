public import Foundation

/// HTTP and HTTPS with redirects: plain HTTP by a reader of its own, HTTPS by `URLSession`.
///
/// `URLSession` on Linux stops the process at a `Content-Length` near 2^63, doesn't know interim answers and loses fields that
/// aren't UTF-8; behind a proxy it's taken for plain HTTP as well, as it knows what `http_proxy` says.
public struct NetworkTransport: ModelTransport {
  private let plain: any ModelTransport
  private let secure: any ModelTransport
  private static let mostRedirects = 10

  /// Makes a transport.
  public init() { self.init(environment: ProcessInfo.processInfo.environment) }

  init(environment: [String: String]) {
    secure = URLSessionTransport()
    plain = environment["http_proxy"].map { $0.isEmpty } ?? true ? SocketTransport() : secure
  }

  /// Sends a request, follows where it's sent, and hands the last answer on; see ``ModelTransport``.
  ///
  /// - Throws: ``RegistryError`` `httpError` for a redirect that leads nowhere, in a circle or from HTTPS to HTTP.
  public func perform(
    _ request: TransferRequest, onResponse: @escaping @Sendable (TransferResponse) throws -> Void,
    onData: @escaping @Sendable (Data) throws -> Void
  ) async throws {
    var next = request
    var headers: [String: String] = [:]
    var seen: Set<URL> = [request.url]
    while true {
      let (from, told) = (next.url, headers)
      let isSecure = from.scheme?.lowercased() == "https"
      do {
        return try await (isSecure ? secure : plain).perform(next) { response in
          if let target = try Self.target(of: response, from: from) { throw Redirect(to: target, headers: response.headers) }
          var response = response
          response.redirectHeaders = told
          try onResponse(response)
        } onData: {
          try onData($0)
        }
      } catch let redirect as Redirect {
        guard seen.insert(redirect.to).inserted, seen.count <= Self.mostRedirects + 1 else {
          throw RegistryError(
            .httpError,
            "\(request.url.shown): redirected in a circle, or more than \(Self.mostRedirects) times, last to \(redirect.to.shown)"
          )
        }
        headers.merge(redirect.headers) { $1 }
        next.url = redirect.to
      }
    }
  }

  private struct Redirect: Error {
    var to: URL
    var headers: [String: String]
  }

  /// Where an answer sends; nil when it's no redirect.
  static func target(of response: TransferResponse, from: URL) throws(RegistryError) -> URL? {
    guard [301, 302, 303, 307, 308].contains(response.status) else { return nil }
    func refused(_ why: String) -> RegistryError {
      RegistryError(.httpError, "\(from.shown): the server answers \(response.status) \(why)", httpStatus: response.status)
    }
    guard let location = response.headers["location"], !location.isEmpty else { throw refused("without saying where to go") }
    guard let target = URL(string: location, relativeTo: from)?.absoluteURL, let scheme = target.scheme?.lowercased() else {
      throw refused("with a place to go that is no address")
    }
    guard scheme == "https" || scheme == "http" && from.scheme?.lowercased() == "http" else {
      throw refused("and sends to \(target.shown), which is less safe; refused")
    }
    guard let host = target.host, !host.isEmpty else { throw refused("with a place to go that has no host") }
    return target
  }
}
