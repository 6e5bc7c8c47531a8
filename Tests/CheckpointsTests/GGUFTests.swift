import Checkpoints
import Foundation
import Goldens
import Tensors
import TestSupport
import Testing

@Suite struct GGUFTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static func fixture(_ name: String) -> URL { Fixtures.folder.appendingPathComponent("checkpoints/gguf/\(name)") }

  private func open(_ builder: GGUFBuilder) throws -> GGUFFile { try open(builder.bytes) }

  private func open(_ bytes: [UInt8]) throws -> GGUFFile { try GGUFFile(path: folder.write(bytes, to: "t.gguf")) }

  private static var small: GGUFBuilder {
    var builder = GGUFBuilder()
    builder.add("general.architecture", "test")
    builder.addKey(
      "list", type: 9,
      GGUFBuilder.little(UInt32(8)) + GGUFBuilder.little(UInt64(2)) + ["a", "bc"].flatMap { GGUFBuilder.string($0.utf8) })
    builder.add("a", [1, 2, 3, 4, 5, 6], extents: [3, 2])
    builder.add("b", [7], extents: [1])
    return builder
  }

  // MARK: - Goldens

  @Test func dequantisesAsThePackageDoes() throws {
    let golden = try GoldenCase(folder: Self.fixture("types"))
    let file = try GGUFFile(path: Self.fixture("types").appendingPathComponent("types.gguf").path)
    let expected = try golden.tensors()
    #expect(expected.weightNames.count == 17 && file.weightNames.count == 17)
    for name in file.weightNames {
      let view = try #require(file.weight(named: name))
      let actual = view.float32()
      let golden = try #require(expected.weight(named: "output.\(name)")).float32()
      #expect(actual.shape == golden.shape, "\(name)")
      // Bit by bit: the sign of zero counts.
      let wrong = zip(actual.elements, golden.elements).enumerated().first { $1.0.bitPattern != $1.1.bitPattern }
      #expect(wrong == nil, "\(name) at \(wrong?.offset ?? 0): \(String(describing: wrong?.element))")
    }
  }

  @Test func dequantisesPartsOfRows() throws {
    let file = try GGUFFile(path: Self.fixture("types").appendingPathComponent("types.gguf").path)
    for name in file.weightNames {
      let view = try #require(file.weight(named: name))
      let whole = view.float32().elements
      let block = view.dtype.blockLength
      guard whole.count >= 3 * block else { continue }
      let part = Tensor(shape: [2 * block]) { target in
        if let base = target.baseAddress { view.dequantize(elements: block..<(3 * block), into: base) }
      }
      #expect(part.elements == Array(whole[block..<(3 * block)]), "\(name)")
      #expect(view.shape.rank < 2 || view.rows(1..<2).float32().elements == Array(whole[view.shape[1]..<(2 * view.shape[1])]))
      #expect(view.firstNonFinite == nil, "\(name)")
    }
  }

  @Test func readsEveryKindOfMetadata() throws {
    struct Expected: Decodable {
      var ints: [String: Int]
      var numbers: [String: Double]
      var strings: [String: String]
    }
    let golden = try GoldenCase(folder: Self.fixture("metadata"))
    let expected: Expected = try golden.attributes()
    let file = try GGUFFile(path: Self.fixture("metadata").appendingPathComponent("metadata.gguf").path)
    for (key, value) in expected.ints { #expect(file.metadata[key]?.int == value, "\(key)") }
    for (key, value) in expected.numbers { #expect(file.metadata[key]?.double == value, "\(key)") }
    for (key, value) in expected.strings { #expect(file.metadata[key]?.string == value, "\(key)") }
    #expect(file.metadata["bool.true"]?.bool == true && file.metadata["bool.false"]?.bool == false)
    #expect(file.metadata["strings"]?.strings == ["", "<s>", "Ġthe"])
    #expect(file.metadata["ints"]?.ints == [3, -1, 7])
    #expect(file.metadata["numbers"]?.doubles == [0.5, -2.25])
    #expect(file.metadata["bools"] == .array(.bools([true, false])))
    #expect(file.metadata["nested"] == .array(.arrays([.integers([1, 2]), .integers([3])])))
    #expect(file.metadata["general.alignment"]?.int == 64)
    #expect(file.architecture == "everything")
    #expect(file.weight(named: "matrix")?.float32().elements == (0..<12).map(Float.init))
    #expect(file.weight(named: "matrix")?.shape == [3, 4])
    #expect(file.weight(named: "kernel")?.shape == [1, 4, 3, 3])
  }

  @Test func asksForMetadata() throws {
    var builder = Self.small
    builder.add("count", 5)
    builder.addKey("nan", type: 6, GGUFBuilder.little(Float.nan.bitPattern))
    builder.addKey("huge", type: 10, GGUFBuilder.little(UInt64.max))
    let file = try open(builder)
    #expect(try file.requireInt("count") == 5)
    #expect(try file.requireDouble("count") == 5)
    #expect(try file.requireString("general.architecture") == "test")
    #expect(try file.requireStrings("list") == ["a", "bc"])
    #expect(file.metadata["huge"] == .unsigned(.max))
    expectFailure(.invalid, "expected 6 to 9, found 5") { _ = try file.requireInt("count", in: 6...9) }
    expectFailure(.invalid, "found nothing") { _ = try file.requireInt("absent") }
    expectFailure(.invalid, "expected a string, found another type") { _ = try file.requireString("count") }
    expectFailure(.invalid, "expected a whole number") { _ = try file.requireInt("huge") }
    expectFailure(.invalid, "a finite number") { _ = try file.requireDouble("nan") }
  }

  // MARK: - Damaged headers

  @Test func refusesEveryTruncation() throws {
    let whole = Self.small.bytes
    #expect(try open(whole).weightNames == ["a", "b"])
    for length in 0..<whole.count {
      _ = failure("\(length) of \(whole.count) bytes") { _ = try open(Array(whole.prefix(length))) }
    }
  }

  @Test(arguments: [UInt64(4), 1 << 20, 1 << 40, .max, UInt64(Int.max)])
  func refusesHugeCounts(_ count: UInt64) {
    var builder = Self.small
    builder.tensorCount = count
    _ = failure("tensors") { _ = try open(builder) }
    builder = Self.small
    builder.keyCount = count
    _ = failure("keys") { _ = try open(builder) }
    builder = Self.small
    builder.addKey("list2", type: 9, GGUFBuilder.little(UInt32(0)) + GGUFBuilder.little(count &+ 10000))
    _ = failure("elements") { _ = try open(builder) }
    builder = Self.small
    builder.addKey("text", type: 8, GGUFBuilder.little(count &+ 10000))
    _ = failure("length") { _ = try open(builder) }
  }

  private func expect(
    _ text: String, code: CheckpointError.Code = .invalid, sourceLocation: SourceLocation = #_sourceLocation,
    _ change: (inout GGUFBuilder) -> Void
  ) {
    var builder = Self.small
    change(&builder)
    expectFailure(code, text, sourceLocation: sourceLocation) { _ = try open(builder) }
  }

  @Test func refusesLyingHeaders() {
    expectFailure(.invalid, "expected a GGUF file") { _ = try open(Array("GGML".utf8) + [3, 0, 0, 0]) }
    expect("version 1", code: .unsupported) { $0.version = 1 }
    expect("big-endian", code: .unsupported) { $0.version = 3 << 24 }
    expect("one of 3 parts", code: .unsupported) { $0.addKey("split.count", type: 2, [3, 0]) }
    expect("occurs twice") { $0.add("general.architecture", "again") }
    expect("13 is no metadata type") { $0.addKey("odd", type: 13, [0]) }
    expect("a boolean is 0 or 1") { $0.addKey("flag", type: 7, [2]) }
    expect("not valid UTF-8") { $0.addKey("text", type: 8, GGUFBuilder.string([0xC3, 0x28])) }
    expect("not valid UTF-8") { $0.keys.append(GGUFBuilder.string([0xFF]) + [0, 0, 0, 0, 1]) }
    expect("general.alignment") { $0.add("general.alignment", 0) }
    expect("general.alignment") { $0.add("general.alignment", 24) }
    expect("general.alignment") { $0.add("general.alignment", 1 << 30) }
    expect("general.alignment") { $0.add("general.alignment", "32") }
  }

  @Test func boundsNesting() {
    func nested(_ depth: Int) -> [UInt8] {
      let inner = GGUFBuilder.little(UInt32(9)) + GGUFBuilder.little(UInt64(1))
      return Array(repeatElement(inner, count: depth - 1).joined()) + GGUFBuilder.little(UInt32(4))
        + GGUFBuilder.little(UInt64(0))
    }
    expect("nested deeper than 4") { $0.addKey("deep", type: 9, nested(5)) }
    expect("nested deeper than 4") { $0.addKey("deep", type: 9, nested(100_000)) }
    var builder = Self.small
    builder.addKey("deep", type: 9, nested(4))
    #expect(throws: Never.self) { try open(builder) }
  }

  @Test func refusesLyingTensors() {
    expect("overlap") { $0.tensors[1].offset = 0 }
    expect("lie outside") { $0.tensors[1].offset = 1 << 30 }
    expect("lie outside") { $0.tensors[1].offset = UInt64(Int.max) & ~31 }
    expect("isn't a multiple of the alignment") { $0.tensors[1].offset = 33 }
    expect("isn't a multiple") { $0.tensors[1].offset = .max - 31 }
    expect("lie outside") { $0.tensors[1].extents = [1 << 20] }
    expect("isn't possible") { $0.tensors[1].extents = [.max] }
    expect("isn't possible") { $0.tensors[1].extents = [1 << 40, 1 << 40] }
    expect("5 axes") { $0.tensors[1].extents = [1, 1, 1, 1, 1] }
    expect("99 is no tensor type") { $0.tensors[1].type = 99 }
    expect("type IQ4_NL isn't supported", code: .unsupported) { $0.tensors[1].type = 20 }
    expect("rows of 48 elements") {
      $0.tensors[1].type = 8
      $0.tensors[1].extents = [48, 2]
    }
    expect("tensor 'a' occurs twice") { $0.tensors[1].name = Array("a".utf8) }
    expect("not valid UTF-8") { $0.tensors[1].name = [0x80] }
  }

  // MARK: - stable-diffusion.cpp

  @Test func readsStableDiffusionCpp() throws {
    struct Expected: Decodable { var quantised: Int }
    let golden = try GoldenCase(folder: Self.fixture("sd15"))
    let path = Self.fixture("sd15").appendingPathComponent("sd15-q8_0.gguf").path
    let checkpoint = try DiffusionCheckpoint.open(path: path)
    let model = try DiffusionCheckpoint.open(path: DiffusersFolderTests.model("sd15"))
    #expect(checkpoint.format == .gguf && checkpoint.variant == .sd15 && checkpoint.predictionType == .epsilon)
    #expect(difference(checkpoint.vae, model.vae) == nil)
    var quantised = 0
    for (actual, expected) in [(checkpoint.unet, model.unet), (checkpoint.textEncoder.weights, model.textEncoder.weights)] {
      #expect(actual.weightNames == expected.weightNames)
      for name in expected.weightNames {
        let a = try #require(actual.weight(named: name))
        let e = try #require(expected.weight(named: name))
        #expect(a.shape == e.shape, "\(name)")
        if a.dtype == .q8_0 { quantised += 1 }
        // 8 bits: half a step of 2/127 at values up to 2.
        let comparison = try #require(Comparison(actual: a.float32(), expected: e.float32()))
        #expect(comparison.maxAbsolute <= (a.dtype == .q8_0 ? 0.009 : 0), "\(name)")
      }
    }
    #expect(try quantised == golden.attributes(Expected.self).quantised)
  }

  /// XL as stable-diffusion.cpp converts a diffusers folder: diffusers' names behind prefixes.
  @Test(arguments: [false, true])
  func readsConvertedFolders(hasInternalNames: Bool) throws {
    let model = try DiffusionCheckpoint.open(path: DiffusersFolderTests.model("sdxl"))
    let single = try SafetensorsFile(path: DiffusersFolderTests.fixture("sdxl").appendingPathComponent("single.safetensors").path)
    var builder = GGUFBuilder()
    builder.add("genbench.config", single.metadata["genbench.config"] ?? "")
    let prefixes =
      hasInternalNames
      ? ["model.diffusion_model.", "first_stage_model.", "cond_stage_model.transformer.", "cond_stage_model.1.transformer."]
      : ["unet.", "vae.", "te.", "te.1."]
    let second = try #require(model.textEncoder2)
    for (prefix, source) in zip(prefixes, [model.unet, model.vae, model.textEncoder.weights, second.weights]) {
      for name in source.weightNames {
        let tensor = try #require(source.weight(named: name)).float32()
        let name = hasInternalNames && name == "text_projection.weight" ? "text_model.text_projection" : name
        builder.add(prefix + name, tensor.elements, extents: tensor.shape.dimensions.reversed().map(UInt64.init))
      }
    }
    let checkpoint = try DiffusionCheckpoint(gguf: open(builder))
    #expect(checkpoint.variant == .sdxl && checkpoint.predictionType == .epsilon)
    #expect(difference(checkpoint.unet, model.unet) == nil)
    #expect(difference(checkpoint.vae, model.vae) == nil)
    #expect(difference(checkpoint.textEncoder.weights, model.textEncoder.weights) == nil)
    #expect(difference(try #require(checkpoint.textEncoder2).weights, second.weights) == nil)
    #expect(checkpoint.textEncoder2?.config.hiddenAct == .gelu && checkpoint.textEncoder.config.hiddenAct == .quickGELU)
  }

  /// OpenCLIP's fused matrices under transformers' names, and its projection still as [in, out].
  @Test func readsFusedProjections() throws {
    let single = try SafetensorsFile(path: DiffusersFolderTests.fixture("sdxl").appendingPathComponent("single.safetensors").path)
    let model = try DiffusionCheckpoint.open(path: DiffusersFolderTests.model("sdxl"))
    let renames = [
      ("token_embedding", "text_model.embeddings.token_embedding"),
      ("positional_embedding", "text_model.embeddings.position_embedding.weight"), ("ln_final", "text_model.final_layer_norm"),
      ("text_projection", "text_model.text_projection"), ("transformer.resblocks", "text_model.encoder.layers"),
      ("attn.in_proj_", "self_attn.in_proj."), ("attn.out_proj", "self_attn.out_proj"), ("ln_1", "layer_norm1"),
      ("ln_2", "layer_norm2"), ("mlp.c_fc", "mlp.fc1"), ("mlp.c_proj", "mlp.fc2"),
    ]
    var builder = GGUFBuilder()
    builder.add("genbench.config", single.metadata["genbench.config"] ?? "")
    for name in single.weightNames where name != "v_pred" {
      let tensor = try #require(single.weight(named: name)).float32()
      var newName = name
      if name.hasPrefix("conditioner.embedders.1.model.") {
        newName = String(name.dropFirst("conditioner.embedders.1.model.".count))
        for (old, new) in renames {
          if let range = newName.range(of: old) { newName.replaceSubrange(range, with: new) }
        }
        newName = "cond_stage_model.1.transformer." + newName
      }
      let extents = tensor.shape.rank == 0 ? [1] : tensor.shape.dimensions.reversed().map(UInt64.init)
      builder.add(newName, tensor.elements, extents: extents)
    }
    let checkpoint = try DiffusionCheckpoint(gguf: open(builder))
    let second = try #require(model.textEncoder2)
    #expect(difference(try #require(checkpoint.textEncoder2).weights, second.weights) == nil)
  }

  @Test func refusesLanguageModels() throws {
    for architecture in ["llama", "qwen2vl", "clip"] {
      var builder = GGUFBuilder()
      builder.add("general.architecture", architecture)
      builder.add("token_embd.weight", [1], extents: [1])
      let path = try folder.write(builder.bytes, to: "llm.gguf")
      expectFailure(.unsupported, "not Stable Diffusion") { _ = try DiffusionCheckpoint.open(path: path) }
    }
    let path = try folder.write(Self.small.bytes, to: "other.gguf")
    expectFailure(.unsupported, "no Stable Diffusion UNet") { _ = try DiffusionCheckpoint.open(path: path) }
  }

  /// An extent of 0 is legal: the tensor has no elements.
  @Test func emptyTensors() throws {
    let folder = try TemporaryFolder()
    var builder = GGUFBuilder()
    builder.add("full", [1, 2], extents: [2])
    builder.add("empty", [], extents: [0, 3])
    builder.add("last", [3], extents: [1])
    let file = try GGUFFile(path: folder.write(builder.bytes, to: "empty.gguf"))
    let empty = try #require(file.weight(named: "empty"))
    #expect(empty.shape == [3, 0])
    #expect(empty.bytes.isEmpty)
    #expect(empty.float32().count == 0)
    #expect(try #require(file.weight(named: "last")).float32().elements == [3])
  }
}
