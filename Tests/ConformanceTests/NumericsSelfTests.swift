import Checkpoints
import Conformance
import ConformanceAdapters
import Foundation
import GenBackend
import Goldens
import RunAnywhere
import Tensors
import TestSupport
import Testing

/// Every golden case passes on its own tensors, and fails when one of them is changed: without computing anything.
struct NumericsSelfTests {
  static func cases() throws -> [GoldenCase] { try NumericsChecks.areas.flatMap { try Fixtures.cases(in: $0) } }

  /// Gives back what the golden holds, changed or not.
  struct Echo: NumericsImplementation {
    let name = "echo"
    var change: @Sendable (Tensor) -> Tensor = { $0 }

    func outputs(of golden: GoldenCase) async throws -> [NumericOutput]? {
      let names = try golden.tensors().weightNames.filter { $0.hasPrefix("output.") || $0.hasPrefix("block.") }
      return try names.enumerated().map { index, name in
        let tensor = try golden.tensor(name)
        return NumericOutput(name, index == names.count - 1 ? change(tensor) : tensor)
      }
    }
  }

  /// An engine whose trace is the golden's.
  struct EchoBackend: GenBackend {
    var golden: GoldenCase
    var changed: String?
    var removed: String?
    var info: BackendInfo { BackendInfo(name: "echo", version: "1", capabilities: [.trace]) }
    func load(_ request: LoadRequest, control: GenerationControl) async throws -> ModelInfo {
      ModelInfo(id: ModelID("e"), variant: "sd15", capabilities: [.trace, .textToImage])
    }
    func unload(_ model: ModelID) async {}
    func generateImages(_ request: ImageRequest, control: GenerationControl) async throws -> ImageResult {
      var trace: [String: Tensor] = [:]
      for name in try golden.tensors().weightNames where !name.hasPrefix("input.") && name != removed {
        let tensor = try golden.tensor(name)
        trace[name] = name == changed ? NumericsSelfTests.disturbed(tensor) : tensor
      }
      return ImageResult(images: [], scheduler: "ddim", steps: 1, guidanceScale: 1, trace: trace)
    }
    func generateText(_ request: TextRequest, control: GenerationControl) async throws -> TextResult {
      throw BackendError(.notSupported, "no text")
    }
  }

  /// The tensor with one element a good deal off.
  static func disturbed(_ tensor: Tensor) -> Tensor {
    var copy = tensor
    let largest = tensor.elements.map { abs($0) }.max() ?? 1
    // The image's bound is a mean over all pixels, so all are moved there.
    if tensor.shape.rank == 4, tensor.shape[1] == 3 { return tensor.map { $0 * 0.9 + 0.02 } }
    copy[flat: copy.count / 2] += 0.05 * max(largest, 0.1)
    return copy
  }

  private func verdict(_ golden: GoldenCase, numerics: any NumericsImplementation = Echo(), backend: (any GenBackend)? = nil)
    async
    -> Verdict
  {
    let facts = DiffusionSurface.Facts(models: [:], checkedVariants: [], numerics: numerics, fixtures: Fixtures.folder)
    let subject = Subject(
      name: "echo", version: "1",
      environment: Environment<DiffusionSurface>("echo", facts: facts) { _, _ in
        let backend = backend ?? EchoBackend(golden: golden)
        var implementation = DiffusionImplementation.runAnywhere(SDKInstance(backend: backend))
        implementation.backend = backend
        return .init(implementation)
      })
    return await Runner().run(NumericsChecks.check(of: golden), on: subject).verdict
  }

  /// Cases of tensors; a few hold their values in `case.json`.
  static func tensorCases() throws -> [GoldenCase] {
    try cases().filter { golden in
      golden.op != "pipeline"
        && FileManager.default.fileExists(atPath: golden.folder.appendingPathComponent("tensors.safetensors").path)
    }
  }

  @Test(arguments: try tensorCases())
  func caseCanPassAndFail(_ golden: GoldenCase) async throws {
    let names = try golden.tensors().weightNames.filter { $0.hasPrefix("output.") || $0.hasPrefix("block.") }
    try #require(!names.isEmpty)
    #expect(await verdict(golden).kind == .pass)
    #expect(await verdict(golden, numerics: Echo(change: Self.disturbed)).kind == .fail)
    let nan = await verdict(golden, numerics: Echo(change: { $0.map { _ in .nan } }))
    #expect(nan.kind == .fail, "NaN never passes: \(nan)")
    let short = await verdict(golden, numerics: Echo(change: { Tensor(zeros: [$0.count + 1]) }))
    #expect(short.kind == .fail, "a wrong shape never passes: \(short)")
  }

  @Test(arguments: try cases().filter { $0.op == "pipeline" })
  func pipelineTellsWhereItParts(_ golden: GoldenCase) async throws {
    #expect(await verdict(golden).kind == .pass)
    let names = try golden.tensors().weightNames
    for name in ["prompt_embeds", "timesteps", "latents.init", "noise_pred.1", "latents.1", "image"] where names.contains(name) {
      let verdict = await verdict(golden, backend: EchoBackend(golden: golden, changed: name))
      #expect(verdict.kind == .fail, "\(name): \(verdict.detail)")
      #expect(verdict.evidence?.expected.hasPrefix(name + " ") == true, "\(verdict.detail)")
    }
    let missing = await verdict(golden, backend: EchoBackend(golden: golden, removed: "latents.0"))
    #expect(missing.evidence?.expected == "latents.0 in the trace", "\(missing.detail)")
  }
}
