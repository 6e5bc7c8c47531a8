public import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// HTTP and HTTPS by `URLSession`; redirects are handed on, not followed.
public struct URLSessionTransport: ModelTransport {
  private let userAgent: String

  /// Makes a transport.
  public init(userAgent: String = "genbench/0.1") { self.userAgent = userAgent }

  /// Sends a request; see ``ModelTransport``.
  public func perform(
    _ request: TransferRequest, onResponse: @escaping @Sendable (TransferResponse) throws -> Void,
    onData: @escaping @Sendable (Data) throws -> Void
  ) async throws {
    var urlRequest = URLRequest(url: request.url.withoutUser, timeoutInterval: request.idleTimeout)
    urlRequest.httpMethod = request.method
    urlRequest.cachePolicy = .reloadIgnoringLocalCacheData
    // Ranges and sizes are those of the file, so it mustn't be packed on the way.
    urlRequest.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    urlRequest.setValue(userAgent, forHTTPHeaderField: "User-Agent")
    urlRequest.setValue(request.url.basicAuthorization, forHTTPHeaderField: "Authorization")
    for (name, value) in request.headers { urlRequest.setValue(value, forHTTPHeaderField: name) }

    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = request.idleTimeout
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let delegate = TransferDelegate(request: request, onResponse: onResponse, onData: onData)
    let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
    defer { session.finishTasksAndInvalidate() }
    let task = session.dataTask(with: urlRequest)
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        delegate.start(continuation)
        task.resume()
      }
    } onCancel: {
      delegate.stop(CancellationError())
      task.cancel()
    }
  }
}

/// Hands the events of one transfer on.
private final class TransferDelegate: NSObject, URLSessionDataDelegate, Sendable {
  private struct State {
    var continuation: CheckedContinuation<Void, any Error>?
    /// Why it was stopped from this side.
    var reason: (any Error)?
    var hasAnswered = false
  }

  private let request: TransferRequest
  private let onResponse: @Sendable (TransferResponse) throws -> Void
  private let onData: @Sendable (Data) throws -> Void
  private let state = Mutex(State())

  init(
    request: TransferRequest, onResponse: @escaping @Sendable (TransferResponse) throws -> Void,
    onData: @escaping @Sendable (Data) throws -> Void
  ) {
    self.request = request
    self.onResponse = onResponse
    self.onData = onData
  }

  func start(_ continuation: CheckedContinuation<Void, any Error>) { state.withLock { $0.continuation = continuation } }

  /// Remembers why it ends; the first reason counts.
  func stop(_ reason: any Error) { state.withLock { $0.reason = $0.reason ?? reason } }

  private static func headers(_ response: HTTPURLResponse) -> [String: String] {
    var headers: [String: String] = [:]
    for (name, value) in response.allHeaderFields { headers["\(name)".lowercased()] = "\(value)" }
    return headers
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    answer(response)
    completionHandler(nil)
    task.cancel()
  }

  /// Hands the head of the answer on.
  private func answer(_ response: HTTPURLResponse) {
    let isFirst = state.withLock { state in
      defer { state.hasAnswered = true }
      return !state.hasAnswered
    }
    guard isFirst else { return }
    do {
      try onResponse(TransferResponse(status: response.statusCode, headers: Self.headers(response)))
    } catch {
      stop(error)
    }
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    if state.withLock({ $0.reason != nil }) { return completionHandler(.cancel) }
    guard let http = response as? HTTPURLResponse else {
      stop(RegistryError(.networkFailed, "\(request.url.shown): expected an answer of HTTP, found \(type(of: response))"))
      return completionHandler(.cancel)
    }
    answer(http)
    let isWanted = state.withLock { $0.reason == nil }
    completionHandler(isWanted ? .allow : .cancel)
    if !isWanted { dataTask.cancel() }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    if state.withLock({ $0.reason != nil }) { return }
    do {
      try onData(data)
    } catch {
      stop(error)
      dataTask.cancel()
    }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    // On Linux, a redirect without a place to go ends without a word.
    if error == nil {
      if let response = task.response as? HTTPURLResponse { answer(response) }
      if !state.withLock({ $0.hasAnswered }) {
        stop(RegistryError(.networkFailed, "\(request.url.shown): the connection ended without an answer"))
      }
    }
    let (continuation, reason) = state.withLock { state in
      defer { state.continuation = nil }
      return (state.continuation, state.reason)
    }
    if let reason {
      continuation?.resume(throwing: reason)
    } else if let error {
      continuation?.resume(throwing: RegistryError(.networkFailed, "\(request.url.shown): \(Self.text(error))"))
    } else {
      continuation?.resume()
    }
  }

  private static func text(_ error: any Error) -> String {
    guard let error = error as? URLError else { return error.localizedDescription }
    let kind =
      switch error.code {
      case .timedOut: "no byte came for too long"
      case .cannotFindHost, .dnsLookupFailed: "the host isn't known"
      case .cannotConnectToHost: "nobody answers there"
      case .networkConnectionLost: "the connection broke"
      case .notConnectedToInternet: "there's no network"
      case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
        .serverCertificateHasUnknownRoot:
        "the secure connection can't be trusted"
      default: "the transfer failed"
      }
    return "\(kind) (\(error.localizedDescription))"
  }
}
