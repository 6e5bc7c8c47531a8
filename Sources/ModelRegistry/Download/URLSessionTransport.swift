public import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// HTTP and HTTPS by `URLSession`.
public struct URLSessionTransport: ModelTransport {
  private let userAgent: String

  /// Makes a transport.
  public init(userAgent: String = "genbench/0.1") { self.userAgent = userAgent }

  /// Sends a request; see ``ModelTransport``.
  public func perform(
    _ request: TransferRequest, onResponse: @escaping @Sendable (TransferResponse) throws -> Void,
    onData: @escaping @Sendable (Data) throws -> Void
  ) async throws {
    var urlRequest = URLRequest(url: request.url, timeoutInterval: request.idleTimeout)
    urlRequest.httpMethod = request.method
    urlRequest.cachePolicy = .reloadIgnoringLocalCacheData
    // Ranges and sizes are those of the file, so it mustn't be packed on the way.
    urlRequest.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    urlRequest.setValue(userAgent, forHTTPHeaderField: "User-Agent")
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
    var redirects = 0
    var redirectHeaders: [String: String] = [:]
  }

  private let request: TransferRequest
  private let onResponse: @Sendable (TransferResponse) throws -> Void
  private let onData: @Sendable (Data) throws -> Void
  private let state = Mutex(State())
  private static let mostRedirects = 10

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
    let count = state.withLock { state in
      state.redirects += 1
      state.redirectHeaders.merge(Self.headers(response)) { $1 }
      return state.redirects
    }
    let from = request.url
    let scheme = newRequest.url?.scheme?.lowercased() ?? ""
    let target = newRequest.url?.absoluteString ?? "nowhere"
    if count > Self.mostRedirects {
      stop(RegistryError(.networkFailed, "\(from): redirected more than \(Self.mostRedirects) times, last to \(target)"))
    } else if scheme != "https", !(scheme == "http" && from.scheme?.lowercased() == "http") {
      stop(RegistryError(.networkFailed, "\(from): redirected to \(target), which is less safe; refused"))
    } else {
      var next = newRequest
      for (name, value) in task.originalRequest?.allHTTPHeaderFields ?? [:] { next.setValue(value, forHTTPHeaderField: name) }
      next.httpMethod = request.method
      completionHandler(next)
      return
    }
    completionHandler(nil)
    task.cancel()
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    if state.withLock({ $0.reason != nil }) { return completionHandler(.cancel) }
    guard let http = response as? HTTPURLResponse else {
      stop(RegistryError(.networkFailed, "\(request.url): expected an answer of HTTP, found \(type(of: response))"))
      return completionHandler(.cancel)
    }
    do {
      try onResponse(
        TransferResponse(
          status: http.statusCode, headers: Self.headers(http), redirectHeaders: state.withLock { $0.redirectHeaders }))
      completionHandler(.allow)
    } catch {
      stop(error)
      completionHandler(.cancel)
      dataTask.cancel()
    }
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
    let (continuation, reason) = state.withLock { state in
      defer { state.continuation = nil }
      return (state.continuation, state.reason)
    }
    if let reason {
      continuation?.resume(throwing: reason)
    } else if let error {
      continuation?.resume(throwing: RegistryError(.networkFailed, "\(request.url): \(Self.text(error))"))
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
