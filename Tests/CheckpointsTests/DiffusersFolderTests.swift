import Checkpoints
import Foundation
import Goldens
import Tensors
import TestSupport
import Testing

/// The weights that diffusers and transformers have for a fixture: shape and first values by canonical name.
typealias ExpectedWeights = [String: [String: String]]

@Suite struct DiffusersFolderTests {
  static let families = ["sd15", "sd20", "sdxl"]

  static func fixture(_ family: String) -> URL { Fixtures.folder.appendingPathComponent("checkpoints/\(family)") }

  static func model(_ family: String) -> String { fixture(family).appendingPathComponent("model").path }

  /// Compares all names, shapes and first values with what the oracle wrote.
  static func expectWeights(_ checkpoint: DiffusionCheckpoint, _ expected: ExpectedWeights) {
    var sources: [String: any WeightSource] = [
      "unet": checkpoint.unet, "vae": checkpoint.vae, "text_encoder": checkpoint.textEncoder.weights,
    ]
    sources["text_encoder_2"] = checkpoint.textEncoder2?.weights
    sources["safety_checker"] = checkpoint.safetyChecker?.weights
    #expect(sources.keys.sorted() == expected.keys.sorted())
    for (component, weights) in expected {
      guard let source = sources[component] else { continue }
      #expect(Set(source.weightNames) == Set(weights.keys), "\(component)")
      for (name, line) in weights {
        let view = source.weight(named: name)
        let elements = view?.float32().elements.prefix(3).map { String(Double($0)) } ?? []
        let shape = view?.shape.dimensions.map(String.init).joined(separator: "x") ?? ""
        #expect(([shape] + elements).joined(separator: " ") == line, "\(component) \(name)")
      }
    }
  }

  // MARK: - Well-formed

  @Test(arguments: families)
  func hasTheNamesOfTheLibraries(_ family: String) throws {
    let golden = try GoldenCase(folder: Self.fixture(family))
    let checkpoint = try DiffusionCheckpoint.open(path: Self.model(family))
    Self.expectWeights(checkpoint, try golden.attributes())
    #expect(checkpoint.variant.rawValue == family)
    #expect(checkpoint.format == .diffusers)
    #expect(checkpoint.unet.firstNonFinite() == nil)
  }

  @Test func readsSD15() throws {
    let checkpoint = try DiffusionCheckpoint.open(path: Self.model("sd15"))
    #expect(checkpoint.predictionType == .epsilon && !checkpoint.forceZerosForEmptyPrompt)
    #expect(checkpoint.scheduler.className == "PNDMScheduler")
    #expect(checkpoint.scheduler.values["steps_offset"] == 1)
    #expect(checkpoint.unetConfig.attentionHeadDim == [2, 2] && checkpoint.unetConfig.layersPerBlock == [2, 2])
    #expect(checkpoint.nativeSize == 16)
    let tokenizer = checkpoint.textEncoder.tokenizer
    #expect(tokenizer.padToken == "<|endoftext|>")
    guard case .vocabAndMerges(let vocab, let merges) = tokenizer.files else {
      Issue.record("vocab.json and merges.txt expected")
      return
    }
    #expect(vocab.hasSuffix("tokenizer/vocab.json") && merges.hasSuffix("tokenizer/merges.txt"))
    let checker = try #require(checkpoint.safetyChecker)
    #expect(checker.config.visionConfig.hiddenSize == 8 && checker.config.projectionDim == 6)
    #expect(checker.imageProcessor.cropHeight == 28 && checker.imageProcessor.imageStd == [0.2, 0.3, 0.4])
  }

  @Test func readsSD20InItsOldForm() throws {
    let checkpoint = try DiffusionCheckpoint.open(path: Self.model("sd20"))
    #expect(checkpoint.predictionType == .vPrediction)
    #expect(checkpoint.textEncoder.config.numHiddenLayers == 23 && checkpoint.textEncoder.config.hiddenAct == .gelu)
    // special_tokens_map.json counts, not tokenizer_config.json.
    #expect(checkpoint.textEncoder.tokenizer.padToken == "!")
    #expect(checkpoint.safetyChecker == nil && checkpoint.textEncoder2 == nil)
    #expect(checkpoint.vae.weight(named: "decoder.mid_block.attentions.0.to_q.weight")?.shape == [6, 6])
  }

  @Test func readsSDXL() throws {
    let checkpoint = try DiffusionCheckpoint.open(path: Self.model("sdxl"))
    #expect(checkpoint.forceZerosForEmptyPrompt && checkpoint.vaeConfig.scalingFactor == 0.13025)
    #expect(checkpoint.textEncoder2?.config.hasProjection == true && !checkpoint.textEncoder.config.hasProjection)
    #expect(checkpoint.textEncoder2?.tokenizer.padToken == "!")
    #expect(checkpoint.textEncoder.tokenizer.padToken == "<|endoftext|>")
    guard case .tokenizerJSON = checkpoint.textEncoder.tokenizer.files else {
      Issue.record("tokenizer.json expected")
      return
    }
    #expect(checkpoint.unetConfig.transformerLayersPerBlock == [1, 1, 2])
    #expect(checkpoint.unet.location.hasSuffix("diffusion_pytorch_model.safetensors.index.json"))
  }

  @Test func readsTheSmallModels() throws {
    for family in Self.families {
      let path = Fixtures.folder.appendingPathComponent("TestModels/\(family)").path
      let checkpoint = try DiffusionCheckpoint.open(path: path)
      #expect(checkpoint.variant.rawValue == family)
      #expect(try DiffusionCheckpoint.open(path: path + "/model_index.json").variant.rawValue == family)
    }
  }

  @Test func followsOverrides() throws {
    let overrides = DiffusionCheckpoint.Overrides(predictionType: .vPrediction, opensSafetyChecker: false)
    let checkpoint = try DiffusionCheckpoint.open(path: Self.model("sd15"), overrides: overrides)
    #expect(checkpoint.predictionType == .vPrediction && checkpoint.safetyChecker == nil)
    #expect(checkpoint.scheduler.values["prediction_type"] == "v_prediction")
    expectFailure(.invalid, "variant sdxl") {
      _ = try DiffusionCheckpoint.open(path: Self.model("sd15"), overrides: .init(variant: .sdxl))
    }
  }

  // MARK: - Damaged and incomplete

  /// Opens a copy of a fixture after `change`, and expects it to fail.
  private func expectDamage(
    _ code: CheckpointError.Code, _ text: String, family: String = "sd15", sourceLocation: SourceLocation = #_sourceLocation,
    after change: (String) throws -> Void
  ) throws {
    let folder = try TemporaryFolder()
    let copy = try folder.copy(URL(fileURLWithPath: Self.model(family)), to: "model")
    try change(copy)
    expectFailure(code, text, sourceLocation: sourceLocation) { _ = try DiffusionCheckpoint.open(path: copy) }
  }

  private func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: path) }

  @Test(arguments: [
    ("model_index.json", "no model_index.json"), ("unet/config.json", "not there, but the model needs it"),
    ("vae", "not there, but the model needs it"), ("scheduler/scheduler_config.json", "the model needs it"),
    ("text_encoder/model.safetensors", "no weights there: expected model.safetensors"),
    ("tokenizer/vocab.json", "no tokenizer there"), ("safety_checker", "names a safety checker, but its folder isn't there"),
    ("text_encoder/config.json", "the model needs it"), ("unet/diffusion_pytorch_model.safetensors", "no weights there"),
  ])
  func tellsWhatIsMissing(_ file: String, _ text: String) throws {
    try expectDamage(.missing, text) { try remove($0 + "/" + file) }
  }

  @Test func doesWithoutAnAbsentSafetyChecker() throws {
    let folder = try TemporaryFolder()
    let copy = try folder.copy(URL(fileURLWithPath: Self.model("sd15")), to: "model")
    try remove(copy + "/safety_checker")
    #expect(try DiffusionCheckpoint.open(path: copy, overrides: .init(opensSafetyChecker: false)).safetyChecker == nil)
    try edit(copy + "/model_index.json", ["safety_checker": [nil, nil]])
    #expect(try DiffusionCheckpoint.open(path: copy).safetyChecker == nil)
    try remove(copy + "/feature_extractor")
    #expect(try DiffusionCheckpoint.open(path: copy).location == copy)
  }

  @Test func refusesPickles() throws {
    try expectDamage(.unsupported, "safe_serialization=True") {
      try FileManager.default.moveItem(
        atPath: $0 + "/unet/diffusion_pytorch_model.safetensors", toPath: $0 + "/unet/diffusion_pytorch_model.bin")
    }
  }

  @Test func takesOneOtherVariant() throws {
    let folder = try TemporaryFolder()
    let copy = try folder.copy(URL(fileURLWithPath: Self.model("sd15")), to: "model")
    let stem = copy + "/unet/diffusion_pytorch_model."
    try FileManager.default.moveItem(atPath: stem + "safetensors", toPath: stem + "non_ema.safetensors")
    #expect(try DiffusionCheckpoint.open(path: copy).unet.location.hasSuffix("non_ema.safetensors"))
    try FileManager.default.copyItem(atPath: stem + "non_ema.safetensors", toPath: stem + "ema.safetensors")
    expectFailure(.missing, "several variants") { _ = try DiffusionCheckpoint.open(path: copy) }
    try FileManager.default.copyItem(atPath: stem + "non_ema.safetensors", toPath: stem + "fp16.safetensors")
    #expect(try DiffusionCheckpoint.open(path: copy).unet.location.hasSuffix("fp16.safetensors"))
  }

  @Test func refusesDamagedShards() throws {
    let index = "/unet/diffusion_pytorch_model.safetensors.index.json"
    try expectDamage(.missing, "shard listed in", family: "sdxl") {
      try remove($0 + "/unet/diffusion_pytorch_model-00002-of-00003.safetensors")
    }
    try expectDamage(.invalid, "the index says it's in this shard", family: "sdxl") {
      var map = try JSONValue(contentsOf: $0 + index)["weight_map"]?.object ?? [:]
      map["conv_in.extra"] = "diffusion_pytorch_model-00002-of-00003.safetensors"
      try edit($0 + index, ["weight_map": .object(map)])
    }
    for bad: JSONValue in ["../vae/diffusion_pytorch_model.safetensors", "/etc/passwd", "..", "", 3] {
      try expectDamage(.invalid, "expected the name of a file beside the index", family: "sdxl") {
        try edit($0 + index, ["weight_map": ["conv_in.weight": bad]])
      }
    }
    try expectDamage(.invalid, "weight_map", family: "sdxl") { try edit($0 + index, ["weight_map": [1]]) }
  }

  @Test func refusesTwoSpellings() throws {
    try expectDamage(.invalid, "'text_model.final_layer_norm.bias' occurs twice") {
      let path = $0 + "/text_encoder/model.safetensors"
      let file = try SafetensorsFile(path: path)
      var tensors: [String: Tensor] = [:]
      for name in file.weightNames { tensors[name] = file.weight(named: name)?.float32() }
      tensors["text_model.final_layer_norm.bias"] = tensors["final_layer_norm.bias"]
      try SafetensorsWriter.write(tensors, to: path)
    }
  }

  @Test func refusesPartsThatDontBelongTogether() throws {
    try expectDamage(.unsupported, "found 9 (an inpainting model)") {
      try edit($0 + "/unet/config.json", ["in_channels": 9])
    }
    try expectDamage(.unsupported, "expected 4 input channels") { try edit($0 + "/unet/config.json", ["in_channels": 8]) }
    try expectDamage(.invalid, "expected 4 output channels") { try edit($0 + "/unet/config.json", ["out_channels": 8]) }
    try expectDamage(.invalid, "cross_attention_dim is 64, but the text encoder gives 32") {
      try edit($0 + "/unet/config.json", ["cross_attention_dim": 64])
    }
    try expectDamage(.invalid, "expected 34", family: "sdxl") {
      try edit($0 + "/unet/config.json", ["projection_class_embeddings_input_dim": 40])
    }
    try expectDamage(.unsupported, "an XL refiner", family: "sdxl") {
      try edit($0 + "/model_index.json", ["text_encoder": [nil, nil]])
    }
    try expectDamage(.invalid, "expected a CLIPTextModelWithProjection", family: "sdxl") {
      try edit($0 + "/model_index.json", ["text_encoder_2": ["transformers", "CLIPTextModel"]])
    }
    try expectDamage(.unsupported, "prediction_type") {
      try edit($0 + "/scheduler/scheduler_config.json", ["prediction_type": "flow"])
    }
    try expectDamage(.invalid, "_class_name") { try edit($0 + "/model_index.json", ["_class_name": .some(nil)]) }
    try expectDamage(.unsupported, "time_cond_proj_dim") { try edit($0 + "/unet/config.json", ["time_cond_proj_dim": 256]) }
    try expectDamage(.invalid, "not valid JSON") { try AtomicFile.write("{\"a\": }", to: $0 + "/vae/config.json") }
  }

  // MARK: - What a path is

  @Test func saysWhatItCantOpen() throws {
    let folder = try TemporaryFolder()
    func expect(_ code: CheckpointError.Code, _ text: String, _ path: String, sourceLocation: SourceLocation = #_sourceLocation) {
      expectFailure(code, text, sourceLocation: sourceLocation) { _ = try DiffusionCheckpoint.open(path: path) }
    }
    expect(.missing, "nothing there", folder.path("absent"))
    expect(.missing, "no model_index.json", folder.url.path)
    expect(.unsupported, "neither safetensors nor GGUF", try folder.write(Array("hello, world".utf8), to: "notes.txt"))
    expect(.invalid, "is empty", try folder.write([], to: "empty"))
    expect(.unsupported, "weights_only=True", try folder.write([0x80, 2, 0x8A, 0x0A], to: "old.ckpt"))
    expect(.unsupported, "weights_only=True", try folder.write(Array("PK\u{3}\u{4}archive/".utf8), to: "model.ckpt"))
    expect(.unsupported, "unpack it", try folder.write(Array("PK\u{3}\u{4}unet.mlmodelc/".utf8), to: "model.zip"))
    expect(.invalid, "truncated", try folder.write([1, 2, 3], to: "short.safetensors"))
    try FileManager.default.createDirectory(atPath: folder.path("Unet.mlmodelc"), withIntermediateDirectories: false)
    expect(.unsupported, "CoreML", folder.path("Unet.mlmodelc"))
    expect(.unsupported, "CoreML", folder.url.path)
  }
}
