import Checkpoints
import Foundation
import GenBackend
import Imaging
import Synchronization
import Tensors

/// What the backends over HTTP share: one request at a time, the model that the server holds, images as text.
final class HTTPEngine: Sendable {
  let client: HTTPClient
  private let running = Mutex<(model: ModelID?, token: CancellationToken)?>(nil)
  private let models = Mutex<[ModelID: ModelInfo]>([:])
  private let count = Atomic<Int>(0)

  init(_ endpoint: HTTPEndpoint, limits: HTTPLimits, token: String?) {
    client = HTTPClient(endpoint: endpoint, limits: limits, token: token)
  }

  /// Runs one request alone; cancelling the task cancels it.
  func exclusively<Result: Sendable>(
    model: ModelID?, _ control: GenerationControl, _ body: () async throws -> Result
  ) async throws -> Result {
    let isFree = running.withLock { running in
      guard running == nil else { return false }
      running = (model, control.cancellation)
      return true
    }
    guard isFree else { throw BackendError(.busy, "another request is running; wait for it or cancel it") }
    defer { running.withLock { $0 = nil } }
    return try await withTaskCancellationHandler {
      func checkCancelled() throws(BackendError) {
        if control.cancellation.isCancelled { throw BackendError(.cancelled, "the request was cancelled") }
      }
      try checkCancelled()
      if let model { _ = try info(model) }
      let result = try await body()
      try checkCancelled()
      return result
    } onCancel: {
      control.cancellation.cancel()
    }
  }

  /// The model of an id.
  func info(_ id: ModelID) throws(BackendError) -> ModelInfo {
    guard let info = models.withLock({ $0[id] }) else {
      throw BackendError(.notLoaded, "model '\(id)' isn't loaded; load it first")
    }
    return info
  }

  /// Keeps a model under an id of its own.
  func keep(_ make: (ModelID) -> ModelInfo) -> ModelInfo {
    let info = make(ModelID("model-\(count.add(1, ordering: .relaxed).newValue)"))
    models.withLock { $0[info.id] = info }
    return info
  }

  /// Forgets a model, which the server keeps, and cancels its running request.
  func forget(_ id: ModelID) {
    models.withLock { $0[id] = nil }
    running.withLock { if let running = $0, running.model == id { running.token.cancel() } }
  }

  /// Refuses files that aren't those that the server has loaded, as nobody could say whose numbers these are.
  ///
  /// - Parameter served: What the server calls its model: a path, a file's name, or that without its ending.
  func require(_ request: LoadRequest, served: [String]) throws(BackendError) {
    if request.reduceMemory { throw BackendError(.notSupported, "reduce_memory: a server's memory is set where it's started") }
    if request.predictionType != nil {
      throw BackendError(.notSupported, "prediction type: it's set where the server is started")
    }
    if request.safety == .required {
      throw BackendError(.notSupported, "safety checker: the server has none that can be asked for")
    }
    if let named = client.endpoint.model {
      guard served.contains(named) else {
        throw BackendError(
          .modelNotFound, "\(client.endpoint.text) has no model '\(named)': it serves \(served.joined(separator: ", "))")
      }
      return
    }
    let url = URL(fileURLWithPath: request.path)
    let names = Set([request.path, url.path, url.resolvingSymlinksInPath().path].flatMap(Self.names))
    guard served.contains(where: { !names.isDisjoint(with: Self.names($0)) }) else {
      throw BackendError(
        .modelNotFound,
        "\(client.endpoint.text) serves \(served.isEmpty ? "no model" : served.joined(separator: ", ")), not \(request.path); start it "
          + "with that file, or add ?model=NAME to its address if it calls the same model so")
    }
  }

  /// A path's last component, with and without its ending.
  private static func names(_ path: String) -> [String] {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return [name] }
    return [name, String(name[..<dot])]
  }

  /// Refuses the settings of an image that are set and not among those that a server honours.
  static func refuse(_ request: ImageRequest, but honoured: Set<String>, _ server: String) throws(BackendError) {
    let standard = ImageRequest(model: request.model, prompt: request.prompt)
    let set: [(String, Bool)] = [
      ("negative_prompt", request.negativePrompt != nil), ("size", request.size != nil), ("steps", request.steps != nil),
      ("guidance_scale", request.guidanceScale != nil), ("guidance_rescale", request.guidanceRescale != standard.guidanceRescale),
      ("scheduler", request.scheduler != nil), ("timestep_spacing", request.timestepSpacing != nil), ("eta", request.eta != nil),
      ("seed", request.seed != nil), ("random_source", request.randomSource != standard.randomSource),
      ("latents", request.latents != nil), ("image", request.image != nil), ("mask", request.mask != nil),
      ("image_count", request.imageCount != 1), ("preview_stride", request.previewStride != nil),
      ("trace_level", request.traceLevel != .none), ("long_prompt", request.longPrompt != standard.longPrompt),
      ("clip_skip", request.clipSkip != nil),
    ]
    for (name, isSet) in set where isSet && !honoured.contains(name) {
      throw BackendError(.notSupported, "\(name): \(server) can't be told that; leave it out")
    }
    if request.imageCount < 1 || request.imageCount > 64 {
      throw BackendError(.invalidInput, "image count: expected 1...64, found \(request.imageCount)")
    }
    if let steps = request.steps, steps < 1 { throw BackendError(.invalidInput, "steps: expected at least 1, found \(steps)") }
    for value in [request.guidanceScale, request.eta, request.strength] {
      if let value, !value.isFinite { throw BackendError(.invalidInput, "a setting isn't finite: \(value)") }
    }
  }

  /// An image of base64 text, possibly of a `data:` address.
  static func bitmap(base64 text: String, size: ImageSize?) throws(BackendError) -> Bitmap {
    let encoded = text.hasPrefix("data:") ? text.split(separator: ",", maxSplits: 1).last.map(String.init) ?? "" : text
    guard let data = Data(base64Encoded: encoded), !data.isEmpty else {
      throw BackendError(.processingFailed, "an image isn't base64: '\(text.prefix(40))'")
    }
    let bitmap: Bitmap
    do { bitmap = try ImageFile.decode(Array(data), file: "the server's image").rgbOnWhite() } catch {
      throw BackendError(.processingFailed, "\(error)")
    }
    if let size, bitmap.width != size.width || bitmap.height != size.height {
      throw BackendError(.processingFailed, "an image: expected \(size), found \(bitmap.width)x\(bitmap.height)")
    }
    return bitmap
  }

  /// Pixels as base64 text of a PNG.
  static func base64(_ bitmap: Bitmap) throws(BackendError) -> String {
    do { return Data(try PNGFile.encode(bitmap)).base64EncodedString() } catch {
      throw BackendError(.processingFailed, "an image can't be sent: \(error)")
    }
  }

  /// A tensor of values in 0...1 as pixels.
  static func base64(_ tensor: Tensor, channels: Int, _ name: String) throws(BackendError) -> String {
    guard tensor.shape.rank == 4, tensor.shape[0] == 1, tensor.shape[1] == channels, tensor.count > 0, !tensor.hasNonFinite else {
      throw BackendError(.invalidInput, "\(name): expected finite values of shape [1, \(channels), H, W], found \(tensor.shape)")
    }
    return try base64(Bitmap(unitValues: tensor))
  }

  /// A whole number of 64 bits without sign, as JSON.
  static func seed(_ value: UInt64, largest: UInt64) throws(BackendError) -> JSONValue {
    guard value <= largest, let number = Int(exactly: value) else {
      throw BackendError(.notSupported, "seed: the server takes 0...\(largest), found \(value)")
    }
    return .integer(number)
  }
}
