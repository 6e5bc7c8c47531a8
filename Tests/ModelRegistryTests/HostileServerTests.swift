import Checkpoints
import Foundation
import ModelRegistry
import Synchronization
import TestSupport
import Testing

/// Servers that don't send what they say, or what nobody should say.
struct HostileServerTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func registry(retries: Int = 0, waits: Fractions? = nil) -> ModelRegistry {
    var policy = DownloadPolicy(retries: retries, waitsForDisk: false)
    policy.wait = { waits?.add($0) }
    return ModelRegistry(folder: folder.url, policy: policy)
  }

  private func download(
    _ server: RawServer, retries: Int = 0, name: String = "m.bin", sizeBytes: Int? = nil, sha256: String? = nil
  ) async throws -> Data? {
    let registry = registry(retries: retries)
    defer { server.stop() }
    let file = ModelFileDescriptor(url: server.url("/m"), filename: name, sizeBytes: sizeBytes, sha256: sha256)
    try registry.register(
      ModelRegistration(
        id: "m", name: "m", framework: .diffusers, modality: .imageGeneration, artifactType: .singleFile, files: [file]))
    do {
      return try await registry.downloadModel("m").localPath.map { try Data(contentsOf: $0) }
    } catch {
      #expect(try registry.model("m").localPath == nil)
      throw error
    }
  }

  private static let end = "Connection: close\r\n\r\n"

  @Test(arguments: [
    "302 Found\r\n", "302 Found\r\nLocation: \r\n", "301 Moved\r\nLocation: http://\r\n", "307 T\r\nLocation: ht!tp:/:x\r\n",
    "308 P\r\nLocation: //\r\n", "300 Choices\r\n", "304 Not Modified\r\n", "305 Use Proxy\r\nLocation: http://127.0.0.1:1/\r\n",
  ])
  func aRedirectThatLeadsNowhereBringsNothing(_ head: String) async throws {
    let server = try RawServer("HTTP/1.1 \(head)Content-Length: 0\r\n\(Self.end)", repeats: true)
    let found = await code { _ = try await download(server, retries: 3) }
    #expect(found == .httpError)
    #expect(server.requests.count == 1, "not tried again")
  }

  @Test func redirectsInACircleArentTriedAgain() async throws {
    let server = try RawServer(
      "HTTP/1.1 302 F\r\nLocation: /a\r\nContent-Length: 0\r\n\(Self.end)",
      "HTTP/1.1 302 F\r\nLocation: /m\r\nContent-Length: 0\r\n\(Self.end)", repeats: true)
    #expect(await code { _ = try await download(server, retries: 5) } == .httpError)
    #expect(server.requests.count <= 3)
  }

  @Test(arguments: ["Content-Length: 0\r\n", "Transfer-Encoding: chunked\r\n"])
  func nothingIsNoModel(_ field: String) async throws {
    let body = field.hasPrefix("T") ? "0\r\n\r\n" : ""
    let server = try RawServer("HTTP/1.1 200 OK\r\n\(field)\(Self.end)\(body)", repeats: true)
    #expect(await code { _ = try await download(server) } == .invalidContent)
    // Unless that's what was registered.
    let other = try RawServer("HTTP/1.1 200 OK\r\n\(field)\(Self.end)\(body)", repeats: true)
    #expect(try await download(other, sizeBytes: 0) == Data())
  }

  @Test func noMoreBytesThanTheseIsNoProofThatTheseAreAll() async throws {
    let part = String(repeating: "x", count: 30_000)
    let server = try RawServer(
      "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 260416\r\n\(Self.end)\(part)",
      "HTTP/1.1 416 No\r\nContent-Range: bytes */30000\r\nContent-Length: 0\r\n\(Self.end)", repeats: true)
    let error = await #expect(throws: RegistryError.self) { _ = try await download(server, retries: 3) }
    #expect(error?.code == .invalidContent || error?.code == .networkFailed || error?.code == .httpError)
  }

  @Test func a416WithTheAnnouncedLengthIsTheEnd() async throws {
    let part = String(repeating: "x", count: 30_000)
    let sum = SHA256.hex(part.utf8)
    let server = try RawServer(
      "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 260416\r\n\(Self.end)\(part)",
      "HTTP/1.1 416 No\r\nContent-Range: bytes */30000\r\nContent-Length: 0\r\n\(Self.end)", repeats: true)
    #expect(try await download(server, retries: 3, sha256: sum)?.count == 30_000)
  }

  @Test(arguments: [
    "6000000000000000000", "9223372036854775807", "9223372036854775808", "18446744073709551616", "-1", "+5", "5, 6", "0x5", "1e3",
    "",
    "99999999999999999999999999999999",
  ])
  func impossibleLengthsAreRefused(_ length: String) async throws {
    let server = try RawServer("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\(Self.end)hello", repeats: true)
    #expect(await code { _ = try await download(server, retries: 3) } == .invalidContent)
    #expect(server.requests.count == 1)
  }

  @Test(arguments: ["5", "5, 5", " 5 "])
  func possibleLengthsAreTaken(_ length: String) async throws {
    let server = try RawServer("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\(Self.end)hello")
    #expect(try await download(server) == Data("hello".utf8))
  }

  @Test func hugeLengthsOfSeveralFilesDontOverflow() async throws {
    let server = try RawServer("HTTP/1.1 200 OK\r\nContent-Length: 1125899906842624\r\n\(Self.end)", repeats: true)
    defer { server.stop() }
    let registry = registry()
    let files = (0..<3).map { ModelFileDescriptor(url: server.url("/\($0)"), filename: "\($0)") }
    try registry.registerMultiFileModel(id: "m", name: "m", files: files, framework: .diffusers)
    #expect(await code { try await registry.downloadModel("m") } == .insufficientStorage)
    let large = (0..<3).map { ModelFileDescriptor(url: server.url("/\($0)"), filename: "\($0)", sizeBytes: .max) }
    #expect(
      await code { try registry.registerMultiFileModel(id: "l", name: "l", files: large, framework: .diffusers) } == .invalidInput
    )
  }

  @Test func interimAnswersArePassedOver() async throws {
    let server = try RawServer(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\(Self.end)hello"
    )
    #expect(try await download(server) == Data("hello".utf8))
    let endless = try RawServer(String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 500))
    #expect(await code { _ = try await download(endless) } == .networkFailed)
  }

  @Test func headsInLatin1AreRead() async throws {
    let head = "HTTP/1.1 200 D'accord\r\nX-Note: caf\u{e9} \u{fc}\r\nContent-Length: 5\r\n\(Self.end)hello"
    let server = try RawServer([head.unicodeScalars.map { UInt8($0.value) }])
    #expect(try await download(server) == Data("hello".utf8))
  }

  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 7.0), ("Sunday, 06-Nov-94 08:49:37 GMT", 7), ("Sun Nov  6 08:49:37 1994", 7), ("12", 12),
    ("Sun, 06 Nov 1994 08:00:00 GMT", 2), ("nan", 2), ("-5", 2), ("1e300", 2), ("99999999999999999999", 2), ("soon", 2), ("", 2),
    ("86400", 60), ("Fri, 31 Dec 9999 23:59:59 GMT", 60),
  ])
  func theServersWishForAWaitIsHeard(_ text: String, _ wanted: Double) async throws {
    let server = try RawServer(
      "HTTP/1.1 503 No\r\nDate: Sun, 06 Nov 1994 08:49:30 GMT\r\nRetry-After: \(text)\r\nContent-Length: 0\r\n\(Self.end)",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\(Self.end)hello")
    defer { server.stop() }
    let waits = Fractions()
    let registry = registry(retries: 1, waits: waits)
    try registry.registerModel(id: "m", name: "m", url: server.url("/m"), framework: .diffusers)
    try await registry.downloadModel("m")
    #expect(waits.all == [wanted])
  }

  @Test func chunksAreJoinedAndMustEnd() async throws {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(Self.end)"
    let whole = try RawServer("\(head)3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nTrailer: x\r\n\r\n")
    #expect(try await download(whole) == Data("hello".utf8))
    for body in ["3\r\nhel\r\n", "3\r\nhello\r\n0\r\n\r\n", "zz\r\n", "fffffffffffffffff\r\n", "-1\r\n", "\r\n"] {
      let server = try RawServer(head + body)
      #expect(await code { _ = try await download(server) } == .networkFailed, "\(body)")
    }
  }

  @Test func anEndThatIsNoEndNeedsASum() async throws {
    let head = "HTTP/1.0 200 OK\r\n\r\nhello"
    #expect(await code { _ = try await download(RawServer(head)) } == .invalidContent)
    #expect(try await download(RawServer(head), sha256: SHA256.hex("hello".utf8)) == Data("hello".utf8))
    #expect(try await download(RawServer(head), sizeBytes: 5) == Data("hello".utf8))
  }

  @Test(arguments: [
    "", "garbage\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 200", "HTTP/1.1 99 x\r\n\r\n",
    "HTTP/1.1 101 Switch\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx",
    "HTTP/1.1 200 OK\r\n" + String(repeating: "X: y\r\n", count: 20_000),
    "HTTP/1.1 200 " + String(repeating: "x", count: 100_000),
  ])
  func whatIsNoHTTPIsANetworkFailure(_ answer: String) async throws {
    let server = try RawServer(answer)
    #expect(await code { _ = try await download(server) } == .networkFailed)
  }

  @Test func aSilentServerIsLeftAtOnceWhenCancelled() async throws {
    let server = try RawServer("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhello", repeats: true, holds: true)
    defer { server.stop() }
    let registry = registry()
    try registry.registerModel(id: "m", name: "m", url: server.url("/m"), framework: .diffusers)
    let (reached, told) = AsyncStream.makeStream(of: Void.self)
    let task = Task { try await registry.downloadModel("m") { _ in told.yield() } }
    for await _ in reached { break }
    task.cancel()
    // The connection stays open: without the cancellation this would wait for 300 seconds.
    #expect(await code { _ = try await task.value } == .cancelled)
  }

  @Test func theUserOfAnAddressIsToldToTheServerAndToNobodyElse() async throws {
    let secret = "pa%3Ass"
    let server = try RawServer("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\(Self.end)", repeats: true)
    defer { server.stop() }
    let url = try #require(
      URL(string: "http://ann:\(secret)@127.0.0.1:\(server.port)/m.bin?token=abc123&download=true#frag"))
    let registry = registry()
    try registry.registerModel(id: "m", name: "m", url: url, framework: .diffusers)
    let error = await #expect(throws: RegistryError.self) { try await registry.downloadModel("m") }
    let request = try #require(server.requests.first)
    #expect(request.hasPrefix("GET /m.bin?token=abc123&download=true HTTP/1.1\r\n"))
    #expect(request.contains("Authorization: Basic \(Data("ann:pa:ss".utf8).base64EncodedString())\r\n"))
    for text in [error?.message ?? "", try String(contentsOf: folder.url.appendingPathComponent("index.json"), encoding: .utf8)] {
      for word in ["ann", "pa%3Ass", "pa:ss", "abc123", "frag"] { #expect(!text.contains(word), "\(word) in \(text)") }
      #expect(text.contains("token=***") && text.contains("download=true"))
    }
    let secrets = folder.url.appendingPathComponent("secrets.json")
    let mode = try FileManager.default.attributesOfItem(atPath: secrets.path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    // Another process of this user has the whole address.
    #expect(try self.registry().model("m").files[0].url == url)
    let descriptor = String(decoding: try JSONEncoder().encode(try registry.model("m")), as: UTF8.self)
    #expect(!descriptor.contains("abc123") && !descriptor.contains("pa%3Ass"))
    try registry.unregisterModel("m")
    #expect(try !String(contentsOf: secrets, encoding: .utf8).contains("abc123"))
  }

  @Test func tokensOfRedirectsArentShown() async throws {
    let server = try RawServer(
      "HTTP/1.1 302 F\r\nLocation: ftp://u:secretword@h/x?X-Amz-Signature=deadbeef\r\nContent-Length: 0\r\n\(Self.end)")
    let error = await #expect(throws: RegistryError.self) { _ = try await download(server) }
    #expect(error?.message.contains("secretword") == false && error?.message.contains("deadbeef") == false)
    #expect(error?.message.contains("ftp://h/x") == true)
  }

  @Test(arguments: [
    ("a.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "LFS"),
    ("a.gguf", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "LFS"),
    ("a.safetensors", "<!DOCTYPE html><title>Sign in</title>", "HTML"), ("a.gguf", "\n <HTML><body>", "HTML"),
    ("a.safetensors", "{\"error\": \"Access to model x is restricted\"}", "JSON"), ("a.gguf", "[1, 2]", "JSON"),
    ("a.safetensors", "<?xml version='1.0'?><Error>", "XML"), ("a.safetensors", "Entry not found", "message"),
    ("a.gguf", "\u{1f}\u{8b}\u{8}\u{0}\u{0}\u{0}\u{0}\u{0}", "gzip"), ("a.safetensors", "PK\u{3}\u{4}12345678", "zip"),
    ("a.safetensors", "\u{80}\u{2}}q\u{0}(X\u{4}\u{0}", "pickle"), ("a.gguf", "GGUF\u{3}\u{0}\u{0}\u{0}", "too few"),
    ("a.safetensors", "\u{2}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}{", "too few"),
    ("a.gguf", "\u{9}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}{\"a\": 1 }", ".safetensors"),
  ])
  func foreignContentIsNamed(_ name: String, _ content: String, _ word: String) async throws {
    let bytes = content.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    let head = "HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\(Self.end)"
    let error = await #expect(throws: RegistryError.self) {
      _ = try await download(RawServer([Array(head.utf8) + bytes]), name: name)
    }
    #expect(error?.code == .invalidContent && error?.message.contains(word) == true, "\(error?.message ?? "")")
  }
}
