public import Foundation
import Imaging
public import Tensors

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A provider that speaks OpenAI's images API: a service, or a server of one's own such as `stable-diffusion.cpp`'s.
///
/// Text goes as JSON to `<base>/images/generations`, a picture to start from as a form to `<base>/images/edits`; both ask for
/// `b64_json`. An answer with a `url` is fetched from there, when it's on the web.
public struct HTTPImageProvider: ExternalImageProvider {
  /// What went wrong, for the person.
  public struct Failure: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// A sentence.
    public let description: String
    /// The HTTP status; nil when there's no answer that could be used.
    public let status: Int?
    /// The sentence, for `localizedDescription`.
    public var errorDescription: String? { description }
  }

  /// Sizes that a provider takes; nil is any.
  public typealias Sizes = [CGSize]

  /// The largest answer that's read, in bytes.
  public static let largestAnswer = 64 << 20

  /// What the person knows it by.
  public let name: String
  private let base: URL
  private let model: String?
  private let key: String?
  private let sizes: Sizes?
  private let transport: any HTTPTransport

  /// Makes a provider.
  ///
  /// - Parameters:
  ///   - name: What the person knows it by.
  ///   - base: The address up to and with the version: `https://host/v1`.
  ///   - model: The model's name; nil leaves it to the server.
  ///   - key: The person's key, sent as a bearer token; nil for none.
  ///   - sizes: The sizes that the server takes, of which the nearest is asked for; nil asks for the size as it is.
  ///   - transport: How requests are sent.
  public init(
    name: String, base: URL, model: String? = nil, key: String? = nil, sizes: Sizes? = nil,
    transport: any HTTPTransport = URLSessionTransport()
  ) {
    self.name = name
    self.base = base
    self.model = model
    self.key = key
    self.sizes = sizes
    self.transport = transport
  }

  /// Makes one image.
  ///
  /// - Throws: ``Failure``, or what the transport throws.
  public func image(_ request: ExternalImageRequest) async throws -> Bitmap {
    let wanted = CGSize(width: request.width, height: request.height)
    let size = sizes.flatMap { ImagePlaygroundOptions.SizeSpecification.closest(to: wanted, in: $0) } ?? wanted
    var fields = [("prompt", request.prompt), ("n", "1"), ("size", "\(Int(size.width))x\(Int(size.height))")]
    if let model { fields.append(("model", model)) }
    fields.append(("response_format", "b64_json"))
    var message: URLRequest
    if let source = request.sourceImage {
      message = form(fields, picture: try PNGFile.encode(source))
    } else {
      message = try json(fields)
    }
    message.httpMethod = "POST"
    if let key { message.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization") }
    let (body, status) = try await transport.send(message)
    return try await picture(in: body, status: status)
  }

  // MARK: - Question

  private func json(_ fields: [(String, String)]) throws -> URLRequest {
    var object: [String: Any] = [:]
    for (name, value) in fields { object[name] = name == "n" ? 1 : value }
    var message = URLRequest(url: base.appendingPathComponent("images/generations"))
    message.setValue("application/json", forHTTPHeaderField: "Content-Type")
    message.httpBody = try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])
    return message
  }

  private func form(_ fields: [(String, String)], picture: [UInt8]) -> URLRequest {
    let boundary = "genbench-\(UUID().uuidString)"
    var body = Data()
    func part(_ header: String, _ content: Data) {
      body.append(Data("--\(boundary)\r\nContent-Disposition: form-data; \(header)\r\n\r\n".utf8))
      body.append(content)
      body.append(Data("\r\n".utf8))
    }
    for (name, value) in fields { part("name=\"\(name)\"", Data(value.utf8)) }
    part("name=\"image\"; filename=\"image.png\"\r\nContent-Type: image/png", Data(picture))
    body.append(Data("--\(boundary)--\r\n".utf8))
    var message = URLRequest(url: base.appendingPathComponent("images/edits"))
    message.setValue("multipart/form-data; boundary=\(boundary)", forHTTPHeaderField: "Content-Type")
    message.httpBody = body
    return message
  }

  // MARK: - Answer

  private struct Answer: Decodable {
    struct Item: Decodable {
      var b64_json: String?
      var url: String?
    }
    var data: [Item]
  }

  private struct Refusal: Decodable {
    struct Content: Decodable { var message: String? }
    var error: Content?
  }

  private func picture(in body: Data, status: Int) async throws -> Bitmap {
    guard body.count <= Self.largestAnswer else { throw failure("an answer of \(body.count >> 20) MiB is too large", status) }
    guard (200..<300).contains(status) else {
      let told = (try? JSONDecoder().decode(Refusal.self, from: body))?.error?.message
      throw failure(told ?? "it answered with status \(status)", status)
    }
    guard let item = (try? JSONDecoder().decode(Answer.self, from: body))?.data.first else {
      throw failure("expected an object with data, found \(body.count) bytes of something else", status)
    }
    if let text = item.b64_json {
      guard let bytes = Data(base64Encoded: text, options: .ignoreUnknownCharacters) else {
        throw failure("its image isn't base64", status)
      }
      return try decode(bytes, status)
    }
    guard let url = item.url.flatMap({ URL(string: $0) }), url.scheme == "https" || url.scheme == "http" else {
      throw failure("expected b64_json or an address on the web, found neither", status)
    }
    // The key goes to the provider alone.
    let (bytes, second) = try await transport.send(URLRequest(url: url))
    guard (200..<300).contains(second), bytes.count <= Self.largestAnswer else {
      throw failure("its image can't be fetched: status \(second)", second)
    }
    return try decode(bytes, second)
  }

  private func decode(_ bytes: Data, _ status: Int) throws -> Bitmap {
    do {
      return try ImageFile.decode([UInt8](bytes), file: "the image of \(name)")
    } catch {
      throw failure(error.description, status)
    }
  }

  private func failure(_ text: String, _ status: Int?) -> Failure { Failure(description: "\(name): \(text)", status: status) }
}
