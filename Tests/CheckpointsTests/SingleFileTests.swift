import Checkpoints
import Foundation
import Tensors
import TestSupport
import Testing

@Suite struct SingleFileTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static func path(_ family: String) -> String {
    DiffusersFolderTests.fixture(family).appendingPathComponent("single.safetensors").path
  }

  /// Writes a copy of a single file with other tensors or metadata.
  private func rewritten(
    _ family: String, metadata: [String: String]? = nil, _ change: (inout [String: Tensor]) -> Void = { _ in }
  ) throws -> String {
    let file = try SafetensorsFile(path: Self.path(family))
    var tensors: [String: Tensor] = [:]
    for name in file.weightNames { tensors[name] = file.weight(named: name)?.float32() }
    change(&tensors)
    let path = folder.path("changed.safetensors")
    try SafetensorsWriter.write(tensors, metadata: metadata ?? file.metadata, to: path)
    return path
  }

  // MARK: - Well-formed

  @Test(arguments: DiffusersFolderTests.families)
  func equalsTheFolder(_ family: String) throws {
    let single = try DiffusionCheckpoint.open(path: Self.path(family))
    let model = try DiffusionCheckpoint.open(path: DiffusersFolderTests.model(family))
    #expect(single.format == .ldm && single.variant == model.variant)
    #expect(difference(single.unet, model.unet) == nil)
    #expect(difference(single.vae, model.vae) == nil)
    // SD2's single file has a 24th layer and a projection, which aren't used.
    #expect(difference(single.textEncoder.weights, model.textEncoder.weights) == nil)
    if let second = model.textEncoder2 {
      let found = try #require(single.textEncoder2)
      #expect(difference(found.weights, second.weights) == nil)
      #expect(found.config == second.config)
    }
    #expect(single.safetyChecker == nil)
  }

  @Test(arguments: DiffusersFolderTests.families)
  func readsSizesFromTheTensors(_ family: String) throws {
    let single = try DiffusionCheckpoint.open(path: Self.path(family))
    let model = try DiffusionCheckpoint.open(path: DiffusersFolderTests.model(family))
    var expected = model.unetConfig
    expected.sampleSize = single.unetConfig.sampleSize
    #expect(single.unetConfig == expected)
    var expectedVAE = model.vaeConfig
    expectedVAE.sampleSize = single.vaeConfig.sampleSize
    #expect(single.vaeConfig == expectedVAE)
    var expectedText = model.textEncoder.config
    expectedText.projectionDim = single.textEncoder.config.projectionDim
    #expect(single.textEncoder.config == expectedText)
    #expect(single.textEncoder.tokenizer.padToken == model.textEncoder.tokenizer.padToken)
    #expect(single.textEncoder.tokenizer.files == .standard)
  }

  @Test func knowsThePublishedSchedulers() throws {
    let sd15 = try DiffusionCheckpoint.open(path: Self.path("sd15"))
    #expect(sd15.scheduler.className == "PNDMScheduler" && sd15.scheduler.values["skip_prk_steps"] == true)
    #expect(sd15.scheduler.values["beta_schedule"] == "scaled_linear" && sd15.unetConfig.sampleSize == 64)
    let sd20 = try DiffusionCheckpoint.open(path: Self.path("sd20"))
    #expect(sd20.scheduler.className == "DDIMScheduler" && sd20.scheduler.values["prediction_type"] == "v_prediction")
    #expect(sd20.unetConfig.sampleSize == 96)
    let sdxl = try DiffusionCheckpoint.open(path: Self.path("sdxl"))
    #expect(sdxl.scheduler.className == "EulerDiscreteScheduler" && sdxl.scheduler.values["timestep_spacing"] == "leading")
    #expect(sdxl.forceZerosForEmptyPrompt && sdxl.vaeConfig.scalingFactor == 0.13025)
  }

  // MARK: - Prediction types

  @Test func readsPredictionTypes() throws {
    #expect(try DiffusionCheckpoint.open(path: Self.path("sd15")).predictionType == .epsilon)
    // The tensor v_pred marks XL's.
    #expect(try DiffusionCheckpoint.open(path: Self.path("sdxl")).predictionType == .vPrediction)
    #expect(try DiffusionCheckpoint.open(path: rewritten("sdxl") { $0["v_pred"] = nil }).predictionType == .epsilon)
    #expect(try DiffusionCheckpoint.open(path: Self.path("sd20")).predictionType == .vPrediction)
    let base = try rewritten("sd20") { $0["global_step"] = Tensor([875_000], shape: []) }
    let checkpoint = try DiffusionCheckpoint.open(path: base)
    #expect(checkpoint.predictionType == .epsilon && checkpoint.scheduler.className == "PNDMScheduler")
    #expect(checkpoint.unetConfig.sampleSize == 64)
  }

  @Test func asksWhatSD2Predicts() throws {
    let silent = try rewritten("sd20") { $0["global_step"] = nil }
    expectFailure(.invalid, "--prediction-type") { _ = try DiffusionCheckpoint.open(path: silent) }
    for type in [PredictionType.epsilon, .vPrediction] {
      #expect(try DiffusionCheckpoint.open(path: silent, overrides: .init(predictionType: type)).predictionType == type)
    }
    let file = try SafetensorsFile(path: Self.path("sd20"))
    let told = try rewritten("sd20", metadata: file.metadata.merging(["modelspec.prediction_type": "epsilon"]) { $1 })
    #expect(try DiffusionCheckpoint.open(path: told).predictionType == .epsilon)
  }

  @Test func readsZeroTerminalSNR() throws {
    let checkpoint = try DiffusionCheckpoint.open(path: rewritten("sdxl") { $0["ztsnr"] = Tensor(zeros: [0]) })
    #expect(checkpoint.scheduler.values["rescale_betas_zero_snr"] == true)
    #expect(checkpoint.scheduler.values["timestep_spacing"] == "trailing")
  }

  // MARK: - Refused

  @Test(arguments: [
    ("model.diffusion_model.", CheckpointError.Code.unsupported, "no Stable Diffusion UNet"),
    ("first_stage_model.", .unsupported, "it has no VAE"),
    ("cond_stage_model.", .unsupported, "it has no text encoder"),
    ("model.diffusion_model.out.2.weight", .invalid, "tensor 'conv_out.weight' is missing"),
    ("model.diffusion_model.middle_block.1", .invalid, "attn2.to_k.weight' is missing"),
    ("model.diffusion_model.input_blocks.1.0", .invalid, "resnets.0.conv1.weight' is missing"),
    ("first_stage_model.encoder.down", .invalid, "expected 1 to 8 encoder blocks, found 0"),
    ("first_stage_model.decoder.conv_in", .invalid, "decoder.conv_in.weight' is missing"),
    ("cond_stage_model.transformer.text_model.encoder", .invalid, "no layers found"),
    ("cond_stage_model.transformer.text_model.embeddings.token", .invalid, "token_embedding.weight' is missing"),
  ])
  func tellsWhatIsMissing(_ prefix: String, _ code: CheckpointError.Code, _ text: String) throws {
    let path = try rewritten("sd15") { tensors in tensors = tensors.filter { !$0.key.hasPrefix(prefix) } }
    expectFailure(code, text) { _ = try DiffusionCheckpoint.open(path: path) }
  }

  @Test func refusesOtherModels() throws {
    let refiner = try rewritten("sdxl") { tensors in
      tensors = tensors.filter { !$0.key.hasPrefix("conditioner.embedders.1.") }
    }
    expectFailure(.unsupported, "one text encoder, such as the refiner") { _ = try DiffusionCheckpoint.open(path: refiner) }
    let inpainting = try rewritten("sd15") {
      $0["model.diffusion_model.input_blocks.0.0.weight"] = Tensor(zeros: [4, 9, 3, 3])
    }
    expectFailure(.unsupported, "an inpainting model") { _ = try DiffusionCheckpoint.open(path: inpainting) }
    // A tensor that no module has keeps its name: whoever builds the network tells it.
    let strange = try rewritten("sd15") { $0["model.diffusion_model.joint_blocks.0.weight"] = Tensor(zeros: [1]) }
    #expect(try DiffusionCheckpoint.open(path: strange).unet.weight(named: "joint_blocks.0.weight") != nil)
    let flat = try rewritten("sd15") { $0["model.diffusion_model.out.2.weight"] = Tensor(zeros: [36]) }
    expectFailure(.invalid, "expected 4 axes, found shape [36]") { _ = try DiffusionCheckpoint.open(path: flat) }
    let uneven = try rewritten("sdxl") {
      $0["conditioner.embedders.1.model.transformer.resblocks.0.attn.in_proj_bias"] = Tensor(zeros: [35])
    }
    expectFailure(.invalid, "three equal parts") { _ = try DiffusionCheckpoint.open(path: uneven) }
  }

  @Test func readsItsOwnConfiguration() throws {
    let file = try SafetensorsFile(path: Self.path("sdxl"))
    let config = try #require(file.metadata["genbench.config"])
    #expect(config.contains("attention_head_dim"))
    // Without it, heads of an unusual size can't be known.
    expectFailure(.unsupported, "attention_head_dim") {
      _ = try DiffusionCheckpoint.open(path: rewritten("sdxl", metadata: [:]))
    }
    expectFailure(.invalid, "metadata 'genbench.config': not valid JSON at byte 0") {
      _ = try DiffusionCheckpoint.open(path: rewritten("sdxl", metadata: ["genbench.config": "x"]))
    }
    expectFailure(.invalid, "expected a JSON object") {
      _ = try DiffusionCheckpoint.open(path: rewritten("sdxl", metadata: ["genbench.config": "[]"]))
    }
    expectFailure(.unsupported, "class_embed_type") {
      _ = try DiffusionCheckpoint.open(
        path: rewritten("sd15", metadata: ["genbench.config": #"{"unet": {"class_embed_type": "x"}}"#]))
    }
    expectFailure(.unsupported, "prediction_type") {
      _ = try DiffusionCheckpoint.open(
        path: rewritten("sd15", metadata: ["genbench.config": #"{"scheduler": {"prediction_type": "x"}}"#]))
    }
  }
}
