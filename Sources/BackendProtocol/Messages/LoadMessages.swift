package import GenBackend
import Tensors

/// `load`: the files of a model and how they're used.
package struct LoadMessage: Sendable, Codable {
  package var path: String
  package var projector: String?
  package var variant: String?
  package var predictionType: String?
  package var safety: String?
  package var reduceMemory: Bool?
  package var precision: String?
  package var threads: Int?

  private enum CodingKeys: String, CodingKey {
    case path, projector, variant, safety, precision, threads
    case predictionType = "prediction_type"
    case reduceMemory = "reduce_memory"
  }

  /// Settings that are the default are left out: an engine must refuse what it can't honour.
  package init(_ request: LoadRequest, threads: Int?) {
    let standard = LoadRequest(path: request.path)
    path = request.path
    projector = request.projectorPath
    variant = request.variant?.rawValue
    predictionType = request.predictionType?.rawValue
    if request.safety != standard.safety { safety = request.safety.rawValue }
    if request.reduceMemory != standard.reduceMemory { reduceMemory = request.reduceMemory }
    if request.precision != standard.precision { precision = request.precision.rawValue }
    self.threads = threads
  }

  /// The request; values that aren't known are refused.
  package func request() throws(BackendError) -> LoadRequest {
    var request = LoadRequest(path: path, projectorPath: projector)
    if let variant { request.variant = try choice("variant", variant) }
    if let predictionType { request.predictionType = try choice("prediction_type", predictionType) }
    if let safety {
      request.safety = try choice("safety", safety)
    }
    if let reduceMemory { request.reduceMemory = reduceMemory }
    if let precision { request.precision = try choice("precision", precision) }
    return request
  }
}

/// `loaded`: the model that is ready.
package struct LoadedReply: Sendable, Codable {
  /// The keys of `model`.
  package struct Model: Sendable, Codable {
    package var id: String
    package var variant: String
    package var capabilities: [String]
    package var nativeSizes: [[Int]]?
    package var sizeMultiple: Int?
    package var predictionType: String?
    package var defaultScheduler: String?
    package var defaultSteps: Int?
    package var defaultGuidanceScale: Double?
    package var contextLength: Int?
    package var parameterCount: Int?
    package var weightBytes: Int?

    private enum CodingKeys: String, CodingKey {
      case id, variant, capabilities
      case nativeSizes = "native_sizes"
      case sizeMultiple = "size_multiple"
      case predictionType = "prediction_type"
      case defaultScheduler = "default_scheduler"
      case defaultSteps = "default_steps"
      case defaultGuidanceScale = "default_guidance_scale"
      case contextLength = "context_length"
      case parameterCount = "parameter_count"
      case weightBytes = "weight_bytes"
    }
  }

  package var model: Model

  package init(_ info: ModelInfo) {
    model = Model(
      id: info.id.rawValue, variant: info.variant, capabilities: info.capabilities.map(\.rawValue).sorted(),
      nativeSizes: info.nativeSizes.map { [$0.width, $0.height] }, sizeMultiple: info.sizeMultiple,
      predictionType: info.predictionType?.rawValue, defaultScheduler: info.defaultScheduler, defaultSteps: info.defaultSteps,
      defaultGuidanceScale: info.defaultGuidanceScale, contextLength: info.contextLength, parameterCount: info.parameterCount,
      weightBytes: info.weightBytes)
  }

  /// The description under an id of the client's.
  ///
  /// - Throws: `BackendError` `.processingFailed` for sizes and counts that no model has.
  package func info(id: ModelID, loadNs: UInt64) throws(BackendError) -> ModelInfo {
    func refuse(_ what: String) -> BackendError {
      BackendError(.processingFailed, "the description of the loaded model: \(what)")
    }
    var sizes: [ImageSize] = []
    for size in model.nativeSizes ?? [] {
      guard size.count == 2, size.allSatisfy({ (1...BackendProtocol.largestSide).contains($0) }) else {
        throw refuse("native_sizes: expected pairs in 1...\(BackendProtocol.largestSide), found \(size)")
      }
      sizes.append(ImageSize(width: size[0], height: size[1]))
    }
    let multiple = model.sizeMultiple ?? 1
    guard (1...BackendProtocol.largestSide).contains(multiple) else {
      throw refuse("size_multiple: expected 1...\(BackendProtocol.largestSide), found \(multiple)")
    }
    for (name, value, least) in [
      ("default_steps", model.defaultSteps, 1), ("context_length", model.contextLength, 1),
      ("parameter_count", model.parameterCount, 0), ("weight_bytes", model.weightBytes, 0),
    ] {
      if let value, value < least { throw refuse("\(name): expected at least \(least), found \(value)") }
    }
    let plain = ModelInfo(id: id, variant: model.variant, capabilities: [])
    let predictionType: PredictionType? =
      if let text = model.predictionType { try choice("prediction_type", text) } else { nil }
    return ModelInfo(
      id: id, variant: model.variant, capabilities: Set(model.capabilities.compactMap { Capability(rawValue: $0) }),
      nativeSizes: sizes, sizeMultiple: multiple, predictionType: predictionType, defaultScheduler: model.defaultScheduler,
      defaultSteps: model.defaultSteps ?? plain.defaultSteps,
      defaultGuidanceScale: model.defaultGuidanceScale ?? plain.defaultGuidanceScale, contextLength: model.contextLength,
      parameterCount: model.parameterCount ?? 0, weightBytes: model.weightBytes ?? 0, loadNs: loadNs)
  }
}
