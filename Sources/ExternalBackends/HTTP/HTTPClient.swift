import Checkpoints
import Foundation
import GenBackend
import Tensors

/// Asks a server over plain HTTP, one connection a request.
///
/// Foundation's own client follows redirects, keeps whole answers before it shows any of them on Linux, and has no limit to their
/// length; so this one is used. Encrypted connections aren't spoken: what is measured is local.
struct HTTPClient: Sendable {
  var endpoint: HTTPEndpoint
  var limits: HTTPLimits
  /// Sent as a bearer token, where a server asks for one.
  var token: String?

  /// A request.
  struct Request: Sendable {
    var method = "GET"
    var path: String
    var body: JSONValue?
    var accept = "application/json"
  }

  /// Sends a request and reads its answer, on a thread of its own.
  ///
  /// - Parameter onBody: Sees the parts of a good answer's body as they come; the response's body is empty then.
  /// - Throws: `BackendError`: `.unavailable` when there's no server or it's silent, `.cancelled`, `.processingFailed` for an answer
  ///   that can't be read, and what the server's status means.
  func send(
    _ request: Request, cancellation: CancellationToken = CancellationToken(),
    onBody: (@Sendable ([UInt8]) throws(BackendError) -> Void)? = nil
  ) async throws(BackendError) -> HTTPResponse {
    let result: Result<HTTPResponse, BackendError> = await withCheckedContinuation { continuation in
      let thread = Thread {
        continuation.resume(
          returning: Result { () throws(BackendError) in try exchange(request, cancellation: cancellation, onBody: onBody) })
      }
      thread.name = "http"
      thread.stackSize = 1 << 20
      thread.start()
    }
    return try result.get()
  }

  /// Sends a request whose answer is JSON.
  ///
  /// - Throws: As ``send(_:cancellation:onBody:)``, and `.processingFailed` for anything but JSON.
  func json(_ request: Request, cancellation: CancellationToken = CancellationToken()) async throws(BackendError) -> JSONValue {
    let response = try await send(request, cancellation: cancellation)
    guard let value = Self.parse(response.body) else {
      throw BackendError(
        .processingFailed, "\(place(request)) answered with something else than JSON: \(Self.excerpt(response.body))")
    }
    return value
  }

  /// The JSON of bytes; nil when they're none.
  static func parse(_ bytes: [UInt8]) -> JSONValue? {
    bytes.withUnsafeBytes { try? JSONValue(parsing: $0, file: "answer") }
  }

  private static func excerpt(_ body: [UInt8]) -> String {
    let text = String(decoding: body.prefix(200), as: UTF8.self).split(whereSeparator: \.isNewline).joined(separator: " ")
    return body.isEmpty ? "nothing" : "'\(text)\(body.count > 200 ? "…" : "")'"
  }

  private func place(_ request: Request) -> String { "\(request.method) \(endpoint.text)\(request.path)" }

  // MARK: - One connection

  private func exchange(
    _ request: Request, cancellation: CancellationToken, onBody: (([UInt8]) throws(BackendError) -> Void)?
  ) throws(BackendError) -> HTTPResponse {
    do {
      let connection = try HTTPConnection(endpoint, limits: limits, cancellation: cancellation)
      var text = "\(request.method) \(endpoint.base)\(request.path) HTTP/1.1\r\nHost: \(endpoint.host):\(endpoint.port)\r\n"
      text += "Accept: \(request.accept)\r\nUser-Agent: genbench\r\nConnection: close\r\n"
      if let token { text += "Authorization: Bearer \(token)\r\n" }
      let body = request.body.map { Array($0.text(indent: nil).utf8) } ?? []
      if request.method != "GET" { text += "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n" }
      try connection.write(Array((text + "\r\n").utf8) + body)
      return try read(connection, onBody: onBody)
    } catch {
      // A bare reason gets the place that it's about.
      throw error.code == .cancelled ? error : BackendError(error.code, "\(place(request)): \(error.message)")
    }
  }

  private func read(
    _ connection: HTTPConnection, onBody: (([UInt8]) throws(BackendError) -> Void)?
  ) throws(BackendError) -> HTTPResponse {
    var head = try connection.head()
    while head.status < 200 { head = try connection.head() }
    guard !(300...399).contains(head.status) else {
      let target = head.headers["location"].map { " to '\($0.prefix(200))'" } ?? ""
      throw BackendError(.unavailable, "status \(head.status) sends elsewhere\(target), which isn't followed; give that address")
    }
    let framing = try head.framing()
    if case .length(let length) = framing, length > limits.longestBody {
      throw BackendError(.processingFailed, "expected at most \(limits.longestBody) bytes, \(length) are announced")
    }
    let isGood = (200...299).contains(head.status)
    var chunks = ChunkDecoder()
    var body: [UInt8] = []
    var count = 0
    while true {
      switch framing {
      case .length(let length) where count >= length: return try finished(head, body)
      case .chunked where chunks.isComplete: return try finished(head, body)
      default: break
      }
      guard var part = try connection.next() else {
        switch framing {
        case .close: return try finished(head, body)
        case .length(let length):
          throw BackendError(.processingFailed, "the connection ended after \(count) of \(length) bytes")
        case .chunked: throw BackendError(.processingFailed, "the connection ended within a chunked answer, after \(count) bytes")
        }
      }
      if case .chunked = framing { part = try chunks.take(part[...]) }
      if case .length(let length) = framing { part = Array(part.prefix(length - count)) }
      count += part.count
      guard count <= limits.longestBody else {
        throw BackendError(.processingFailed, "expected at most \(limits.longestBody) bytes, more were sent")
      }
      if isGood, let onBody { if !part.isEmpty { try onBody(part) } } else { body += part }
    }
  }

  private func finished(_ head: HTTPHead, _ body: [UInt8]) throws(BackendError) -> HTTPResponse {
    if (200...299).contains(head.status) { return HTTPResponse(head: head, body: body) }
    // Servers of this kind tell {"error": "…"}, {"error": {"message": "…"}} or {"detail": "…"}.
    let value = Self.parse(body)
    let told =
      value?["error"]?["message"]?.string ?? value?["error"]?.string ?? value?["detail"]?.string ?? value?["message"]?.string
    let message = "status \(head.status): \(told ?? Self.excerpt(body))"
    switch head.status {
    case 400, 413, 422: throw BackendError(.invalidInput, message)
    case 404, 405, 501: throw BackendError(.notSupported, message)
    case 409, 429: throw BackendError(.busy, message)
    case 401, 403, 502, 503, 504: throw BackendError(.unavailable, message)
    default: throw BackendError(.processingFailed, message)
    }
  }
}
