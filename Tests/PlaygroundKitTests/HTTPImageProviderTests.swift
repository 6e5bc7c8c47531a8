import Conformance
import ConformanceDoubles
import Foundation
import GenBackend
import Imaging
import PlaygroundKit
import Tensors
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The external provider over HTTP: once over a real connection, otherwise over a transport of the test.
struct HTTPImageProviderTests {
  private static func json(_ object: Any) -> Data { (try? JSONSerialization.data(withJSONObject: object)) ?? Data() }

  private static func png(_ bitmap: Bitmap) -> Data { (try? Data(PNGFile.encode(bitmap))) ?? Data() }

  private static func answer(_ bitmap: Bitmap) -> Data {
    json(["created": 1, "data": [["b64_json": png(bitmap).base64EncodedString()]]])
  }

  /// Answers without a network.
  struct StubTransport: HTTPTransport {
    var answers: @Sendable (URLRequest) throws -> (Data, Int)
    func send(_ request: URLRequest) async throws -> (body: Data, status: Int) { try answers(request) }
  }

  @Test func aRealServerMakesTheImageOfASession() async throws {
    let server = try StubServer { _ in .init(body: Self.answer(plain(64, 64, [9, 200, 9]))) }
    defer { server.stop() }
    let provider = HTTPImageProvider(name: "Stub", base: server.base, model: "m-1", key: "secret")
    let (system, backend) = try await scriptedSystem(externalProvider: provider)
    let urls = Locked<[URL]>([])
    let file = try await MainActor.run { () -> ImagePlaygroundSession in
      var presentation = ImagePlaygroundPresentation(concepts: [.text("a boat \"at sea\"")], allowedStyles: [.externalProvider])
      presentation.onCompletion = { url in urls.change { $0.append(url) } }
      return try ImagePlaygroundSession(presentation, on: system)
    }
    #expect(await file.generate() == .showing)
    try await file.accept()
    let image = try ImageFile.read(path: try #require(urls.value.first).path)
    #expect(image.width == 512 && image.height == 512 && image.pixel(256, 256) == [9, 200, 9])
    #expect(backend.runs.isEmpty && server.requests.count == 1)
    let request = try #require(server.requests.first)
    #expect(request.method == "POST" && request.path == "/v1/images/generations")
    #expect(request.headers["authorization"] == "Bearer secret" && request.headers["content-type"] == "application/json")
    let body = try #require(try JSONSerialization.jsonObject(with: request.body) as? [String: Any])
    #expect(body["prompt"] as? String == "a boat \"at sea\"" && body["model"] as? String == "m-1")
    #expect(body["size"] as? String == "512x512" && body["n"] as? Int == 1 && body["response_format"] as? String == "b64_json")
  }

  @Test func aSourceImageGoesAsAForm() async throws {
    let server = try StubServer { _ in .init(body: Self.answer(plain(8, 8))) }
    defer { server.stop() }
    let provider = HTTPImageProvider(name: "Stub", base: server.base, sizes: [CGSize(width: 256, height: 256)])
    let source = plain(40, 30, [1, 2, 3])
    _ = try await provider.image(ExternalImageRequest(prompt: "a boat", width: 512, height: 512, sourceImage: source))
    let request = try #require(server.requests.first)
    #expect(request.path == "/v1/images/edits" && request.headers["authorization"] == nil)
    let boundary = try #require(request.headers["content-type"]?.components(separatedBy: "boundary=").last)
    let parts = String(decoding: request.body, as: Unicode.ASCII.self).components(separatedBy: "--\(boundary)")
    #expect(parts.contains { $0.contains("name=\"prompt\"\r\n\r\na boat\r\n") })
    #expect(parts.contains { $0.contains("name=\"size\"\r\n\r\n256x256\r\n") } && parts.last == "--\r\n")
    let png = try #require(request.body.range(of: Data([0x89, 0x50, 0x4e, 0x47])))
    #expect(try ImageFile.decode([UInt8](request.body[png.lowerBound...])) == source)
  }

  @Test func anAddressIsFetchedWithoutTheKey() async throws {
    let requests = Locked<[URLRequest]>([])
    let provider = HTTPImageProvider(
      name: "Stub", base: URL(string: "http://provider/v1")!, key: "secret",
      transport: StubTransport { request in
        requests.change { $0.append(request) }
        return request.url?.host == "provider"
          ? (Self.json(["data": [["url": "https://cdn/x.png"]]]), 200) : (Self.png(plain(5, 4, [7, 8, 9])), 200)
      })
    let image = try await provider.image(ExternalImageRequest(prompt: "a boat", width: 64, height: 64))
    #expect(image == plain(5, 4, [7, 8, 9]))
    #expect(requests.value.map { $0.value(forHTTPHeaderField: "Authorization") } == ["Bearer secret", nil])
  }

  static let useless: [(Data, Int, String)] = [
    (json(["error": ["message": "you have no credit"]]), 402, "you have no credit"), (Data("<html>".utf8), 500, "status 500"),
    (Data(), 200, "0 bytes"), (json(["data": []]), 200, "expected an object with data"),
    (json(["data": [["b64_json": "%%%"]]]), 200, "base64"),
    (json(["data": [["b64_json": Data("text".utf8).base64EncodedString()]]]), 200, "the image of Stub"),
    (json(["data": [["url": "file:///etc/passwd"]]]), 200, "address on the web"), (json(["data": [[:]]]), 200, "found neither"),
    (Data(count: HTTPImageProvider.largestAnswer + 1), 200, "too large"),
  ]

  @Test(arguments: useless.indices)
  func uselessAnswersAreToldToThePerson(_ index: Int) async throws {
    let (data, status, word) = Self.useless[index]
    let provider = HTTPImageProvider(
      name: "Stub", base: URL(string: "http://provider/v1")!, transport: StubTransport { _ in (data, status) })
    let error = await #expect(throws: HTTPImageProvider.Failure.self) {
      try await provider.image(ExternalImageRequest(prompt: "a boat", width: 64, height: 64))
    }
    #expect(error?.description.contains(word) == true && error?.description.hasPrefix("Stub: ") == true, "\(error as Any)")
    let (system, _) = try await scriptedSystem(externalProvider: provider)
    let session = try await MainActor.run {
      try ImagePlaygroundSession(
        ImagePlaygroundPresentation(concepts: [.text("a boat")], allowedStyles: [.externalProvider]), on: system)
    }
    guard case .failed(let why) = await session.generate() else {
      Issue.record("expected a failure")
      return
    }
    #expect(why.contains(word))
  }

  @Test func aServerThatIsNotThereIsAFailureOfTheSheetAlone() async throws {
    let server = try StubServer { _ in .init(body: Data()) }
    server.stop()
    let provider = HTTPImageProvider(name: "Stub", base: server.base, transport: URLSessionTransport(timeout: 10))
    await #expect(throws: (any Error).self) {
      try await provider.image(ExternalImageRequest(prompt: "a boat", width: 64, height: 64))
    }
  }
}
