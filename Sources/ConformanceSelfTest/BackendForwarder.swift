import Conformance
import GenBackend
import Tensors

/// An engine that does what another one does, but for what is changed.
struct BackendForwarder: GenBackend {
  private let base: any GenBackend
  private let beforeImages: @Sendable (ImageRequest) throws -> Void
  private let changeTrace: @Sendable (ImageRequest, inout [String: Tensor]) -> Void
  private let changeText: @Sendable (inout TextResult) -> Void

  init(
    _ base: any GenBackend, images beforeImages: @escaping @Sendable (ImageRequest) throws -> Void = { _ in },
    trace changeTrace: @escaping @Sendable (ImageRequest, inout [String: Tensor]) -> Void = { _, _ in },
    text changeText: @escaping @Sendable (inout TextResult) -> Void = { _ in }
  ) {
    self.base = base
    self.beforeImages = beforeImages
    self.changeTrace = changeTrace
    self.changeText = changeText
  }

  var info: BackendInfo { get async throws { try await base.info } }

  func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo {
    try await base.load(request, control: control)
  }

  func unload(_ model: ModelID) async { await base.unload(model) }

  func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult {
    try beforeImages(request)
    var result = try await base.generateImages(request, control: control)
    changeTrace(request, &result.trace)
    return result
  }

  func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult {
    var result = try await base.generateText(request, control: control)
    changeText(&result)
    return result
  }
}
