import Checkpoints
import DiffusionModels
import Foundation
import Goldens
import KernelContract
import Kernels
import Tensors
import TestSupport
import Testing

/// The text encoders against transformers: every layer, the final norm, the pooled output.
struct CLIPTextModelTests {
  struct Attributes: Decodable {
    var config: CLIPTextModelConfig?
    var model: String?
  }

  @Test(arguments: try Fixtures.cases(in: "diffusion/text-encoder"), KernelChoice.allCases)
  func allLayers(_ golden: GoldenCase, _ choice: KernelChoice) throws {
    let kernels = try makeKernels(choice)
    let attributes = try golden.attributes(Attributes.self)
    let hasProjection = golden.op == "clipTextModelWithProjection"
    var config: CLIPTextModelConfig
    let loader: ParameterLoader
    if let model = attributes.model {
      let path = Fixtures.folder.appendingPathComponent(model)
      let folder = try DiffusersFolder(path: path.deletingLastPathComponent().path)
      let checkpoint = try DiffusionCheckpoint(folder: folder)
      let encoder = path.lastPathComponent == "text_encoder" ? checkpoint.textEncoder : try #require(checkpoint.textEncoder2)
      config = encoder.config
      loader = ParameterLoader(FileParameters(encoder.weights), kernels: kernels)
    } else {
      config = try #require(attributes.config)
      loader = try golden.loader(kernels)
    }
    config.hasProjection = hasProjection
    let model = try CLIPTextModel(config: config, loader: loader)

    let ids = try golden.tensor("input.ids")
    let length = ids.shape[1]
    let rows = (0..<ids.shape[0]).map { row in
      ids.elements[(row * length)..<((row + 1) * length)].map { Int($0) }
    }
    let output = try model(rows, ExecutionContext(kernels: kernels))
    for (index, hidden) in output.hiddenStates.enumerated() { try golden.expect(hidden, "output.hidden_states.\(index)") }
    try golden.expect(output.lastHiddenState, "output.last_hidden_state")
    try golden.expect(output.pooled, hasProjection ? "output.text_embeds" : "output.pooler_output")
  }
}
