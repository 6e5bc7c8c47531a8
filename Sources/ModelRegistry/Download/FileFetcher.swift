import Checkpoints
import Foundation
import Synchronization

/// Brings one file over HTTP, and goes on where an earlier attempt, or an earlier process, stopped.
struct FileFetcher: Sendable {
  /// What the server said of the content that is being collected.
  struct Remote: Sendable, Hashable, Codable {
    var url: URL
    var etag: String?
    var lastModified: String?
    var total: Int?
    /// The sum that the server tells, as Hugging Face does.
    var sha256: String?

    /// What `If-Range` takes: a strong tag, else a date.
    var validator: String? {
      if let etag, !etag.hasPrefix("W/") { return etag }
      return lastModified
    }
  }

  let file: ModelFileDescriptor
  /// The folder of the download.
  let folder: URL
  /// Where it's collected there; ends in `.part`.
  let part: RelativePath
  let transport: any ModelTransport
  let policy: DownloadPolicy
  /// Told the bytes that are here, whenever they change.
  let onBytes: @Sendable (_ done: Int, _ total: Int?) -> Void
  /// Told of each retry.
  let onRetry: @Sendable (_ attempt: Int, _ reason: RegistryError, _ delay: Double) -> Void

  private var sidecar: URL { folder.appendingPathComponent(part.text + ".json") }
  private var name: String { file.url.shown.absoluteString }

  /// Brings the file; afterwards it's complete in `part`.
  ///
  /// - Returns: Its size and its SHA-256.
  /// - Throws: ``RegistryError``, `CancellationError`. What is here already is kept, unless it's wrong.
  func fetch() async throws -> (bytes: Int, sha256: String) {
    let guarded = try GuardedFolder(folder)
    let output = try await Blocking.run { stop in try PartFile(in: guarded, part) { try stop.check() } }
    var failures = 0
    var isResumable = output.offset > 0
    var isPieced = isResumable
    while true {
      try Task.checkCancellation()
      let before = output.offset
      do {
        try await attempt(output, resumes: isResumable)
        return try finish(output)
      } catch let again as Again {
        // Whoever makes progress isn't given up.
        failures = output.offset > before ? 1 : failures + 1
        guard failures <= policy.retries else {
          throw RegistryError(
            again.error.code, "\(again.error.message); given up after \(failures) attempts in a row",
            httpStatus: again.error.httpStatus)
        }
        isResumable = !again.isFromTheStart
        isPieced = isResumable
        let delay = policy.delay(retry: failures, serverAsksFor: again.serverAsksFor)
        onRetry(failures, again.error, delay)
        try await policy.wait(delay)
      } catch let error as RegistryError where error.code == .checksumMismatch && isPieced {
        // The pieces may be of different files; only the whole can tell.
        (isPieced, isResumable) = (false, false)
        onRetry(1, error, 0)
      }
    }
  }

  /// A failure after which another attempt makes sense.
  private struct Again: Error {
    var error: RegistryError
    var serverAsksFor: Double?
    var isFromTheStart = false
  }

  // MARK: - One attempt

  private func attempt(_ output: PartFile, resumes: Bool) async throws {
    let known = knownRemote()
    var canResume = resumes && output.offset > 0
    // Without a mark of the content, only a known sum can tell that the pieces belong together.
    if canResume, known?.validator == nil, file.sha256 == nil, known?.sha256 == nil { canResume = false }
    if let size = file.sizeBytes ?? known?.total, output.offset > size { canResume = false }
    if canResume, let size = file.sizeBytes ?? known?.total, output.offset == size { return onBytes(size, size) }
    if !canResume, output.offset > 0 { try output.restart() }

    var headers: [String: String] = [:]
    if canResume {
      headers["Range"] = "bytes=\(output.offset)-"
      if let validator = known?.validator { headers["If-Range"] = validator }
    }
    let (offset, isResuming) = (output.offset, canResume)
    let answer = Mutex<Answer?>(nil)
    onBytes(offset, file.sizeBytes ?? known?.total)
    let request = TransferRequest(url: file.url, headers: headers, idleTimeout: policy.idleTimeout)
    try await Self.retryingNetwork {
      try await transport.perform(request) { response in
        if response.status == 416, isResuming {
          // Complete already, or another file by now.
          let isWhole = file.sha256 != nil || known?.sha256 != nil || (file.sizeBytes ?? known?.total) == offset
          guard isWhole, Self.rangeTotal(response) == offset else {
            throw changed("the server has no bytes from \(offset) on")
          }
          answer.withLock { $0 = .nothingMore }
          return
        }
        let total = try take(response, output: output, offset: offset, known: known)
        answer.withLock { $0 = .content(total: total) }
        onBytes(output.offset, total)
      } onData: { data in
        guard case .content(let total) = answer.withLock({ $0 }) else { return }
        guard data.count <= (total ?? TransferLength.most) - output.offset else {
          throw RegistryError(
            .invalidContent, "\(name): more than the \(total ?? TransferLength.most) bytes that were announced or are allowed")
        }
        try data.withUnsafeBytes { try output.append($0) }
        onBytes(output.offset, total)
      }
    }
    switch answer.withLock({ $0 }) {
    case nil: throw Again(error: RegistryError(.networkFailed, "\(name): the connection ended without an answer"))
    case .nothingMore: return
    case .content(let total):
      if let total, output.offset < total {
        throw Again(
          error: RegistryError(.networkFailed, "\(name): the connection ended after \(output.offset) of \(total) bytes"))
      }
    }
  }

  /// An answer that was accepted; only what comes behind one is the file.
  private enum Answer {
    case content(total: Int?)
    /// All of it is here already.
    case nothingMore
  }

  private static func retryingNetwork(_ body: () async throws -> Void) async throws {
    do {
      try await body()
    } catch let error as RegistryError where error.code == .networkFailed {
      throw Again(error: error)
    }
  }

  /// Looks at an answer; gives the size of the whole file.
  private func take(_ response: TransferResponse, output: PartFile, offset: Int, known: Remote?) throws -> Int? {
    let headers = response.headers
    switch response.status {
    case 206:
      guard let range = Self.contentRange(headers["content-range"]), range.start == offset, offset > 0 else {
        throw changed("asked for bytes from \(offset) on, answered with '\(headers["content-range"] ?? "none")'")
      }
      if let old = known?.total, let new = range.total, old != new {
        throw changed("\(old) bytes before, \(new) bytes now")
      }
      if let old = known?.etag, let new = headers["etag"], old != new { throw changed("its tag was \(old), it's \(new) now") }
      try checkSpace(missing: (range.total ?? offset) - offset)
      return range.total ?? known?.total ?? range.end + 1
    case 200:
      if output.offset > 0 { try output.restart() }
      let total = try TransferLength.announced(headers["content-length"], by: name)
      if let size = file.sizeBytes, let total, size != total {
        throw RegistryError(.invalidContent, "\(name): expected \(size) bytes, the server has \(total)")
      }
      if response.endsWithConnection, file.sizeBytes == nil, file.sha256 == nil, Self.toldSum(response) == nil {
        throw RegistryError(
          .invalidContent,
          "\(name): the server tells neither length nor sum, so that a part can't be told from the whole; register the file with "
            + "its SHA-256 (--sha256)")
      }
      if let total { try checkSpace(missing: total) }
      let remote = Remote(
        url: file.url.shown, etag: headers["etag"], lastModified: headers["last-modified"], total: total,
        sha256: Self.toldSum(response))
      try remember(remote)
      return total
    default:
      let error = RegistryError(
        .httpError, "\(name): the server answers \(response.status)\(Self.hint(response.status))",
        httpStatus: response.status)
      guard [408, 425, 429, 500, 502, 503, 504].contains(response.status) else { throw error }
      throw Again(error: error, serverAsksFor: HTTPDate.retryAfter(headers))
    }
  }

  private func checkSpace(missing bytes: Int) throws {
    guard let free = policy.freeBytes(folder) else { return }
    let check = StorageCheck(bytes: bytes, margin: policy.spaceMargin, freeBytes: free)
    guard check.isAvailable else {
      throw RegistryError(
        .insufficientStorage,
        "\(file.filename): needs \(check.requiredBytes) bytes, \(free) are free; free some space and go on")
    }
  }

  private func changed(_ how: String) -> Again {
    Again(
      error: RegistryError(.invalidContent, "\(name): the file changed during the download (\(how))"),
      isFromTheStart: true)
  }

  private func finish(_ output: PartFile) throws -> (bytes: Int, sha256: String) {
    let sum = output.sha256
    func discard(_ error: RegistryError) throws -> Never {
      try output.restart()
      try FileTree.remove(sidecar)
      throw error
    }
    if let size = file.sizeBytes, output.offset != size {
      try discard(RegistryError(.invalidContent, "\(name): expected \(size) bytes, \(output.offset) arrived"))
    }
    if let wanted = (file.sha256 ?? knownRemote()?.sha256)?.lowercased(), wanted != sum {
      try discard(
        RegistryError(
          .checksumMismatch, "\(file.filename): expected SHA-256 \(wanted), found \(sum); the bad file was removed"))
    }
    if let problem = ContentCheck.problem(output.head, byteCount: output.offset, of: file) {
      try discard(RegistryError(.invalidContent, "\(name): \(problem)"))
    }
    if policy.waitsForDisk { try output.flush() }
    return (output.offset, sum)
  }

  // MARK: - What is known of the content

  private func knownRemote() -> Remote? {
    guard let data = FileManager.default.contents(atPath: sidecar.path),
      let remote = try? JSONDecoder().decode(Remote.self, from: data), remote.url == file.url.shown
    else { return nil }
    return remote
  }

  private func remember(_ remote: Remote) throws {
    do {
      try AtomicFile.write(try JSONEncoder().encode(remote), to: sidecar.path)
    } catch {
      throw RegistryError(.storageFailed, "\(error)")
    }
  }

  /// `bytes 5-9/10`.
  static func contentRange(_ text: String?) -> (start: Int, end: Int, total: Int?)? {
    guard let text, text.hasPrefix("bytes ") else { return nil }
    let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false).map { $0.trimming() }
    guard parts.count == 2 else { return nil }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false).map { TransferLength.number(String($0)) }
    let total = TransferLength.number(parts[1])
    guard ends.count == 2, let start = ends[0], let end = ends[1], total != nil || parts[1] == "*", start <= end,
      end < total ?? TransferLength.most, total ?? 0 <= TransferLength.most
    else { return nil }
    return (start, end, total)
  }

  /// `bytes */10`.
  private static func rangeTotal(_ response: TransferResponse) -> Int? {
    response.headers["content-range"].flatMap { $0.split(separator: "/").last }.flatMap { TransferLength.number($0.trimming()) }
  }

  /// The SHA-256 that a server tells of a large file: Hugging Face, in the tag of what it redirects to.
  static func toldSum(_ response: TransferResponse) -> String? {
    let tag = response.redirectHeaders["x-linked-etag"] ?? response.headers["x-linked-etag"]
    guard let text = tag?.trimmingCharacters(in: CharacterSet(charactersIn: "\"")), text.utf8.count == 64,
      text.allSatisfy(\.isHexDigit)
    else { return nil }
    return text.lowercased()
  }

  private static func hint(_ status: Int) -> String {
    switch status {
    case 401, 403: " (not allowed: the model may need an account)"
    case 404, 410: " (not there)"
    case 429: " (too many requests)"
    default: ""
    }
  }
}
