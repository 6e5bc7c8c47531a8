import Checkpoints
import Foundation
import Kernels
import TestSupport
import Testing
import Tokenizers
import VisionLanguageModels

/// Files that are no model, not this model, or damaged: each gives an error that says so.
struct DamagedModelTests {
  private func load(_ model: String, _ projector: String) throws {
    _ = try VisionLanguageModel(GGUFFile(path: model), projector: GGUFFile(path: projector), kernels: makeKernels())
  }

  private func message(_ model: String, _ projector: String) -> String {
    do {
      try load(model, projector)
      return "loaded"
    } catch let error as CheckpointError { return error.message } catch let error as TokenizerError { return error.message } catch
    { return "unexpected: \(error)" }
  }

  @Test(arguments: ["smolvlm", "qwen2vl"])
  func swappedFilesAreToldApart(_ variant: String) throws {
    let (model, projector) = (modelPath(variant, "model"), modelPath(variant, "mmproj"))
    #expect(message(projector, model).contains("is a projector"))
    #expect(message(projector, projector).contains("is a projector"))
    #expect(message(model, model).contains("is a language model"))
    #expect(message(model, projector) == "loaded")
  }

  @Test func filesOfTwoFamiliesDoNotBelongTogether() throws {
    #expect(message(modelPath("smolvlm", "model"), modelPath("qwen2vl", "mmproj")).contains("don't belong together"))
    #expect(message(modelPath("qwen2vl", "model"), modelPath("smolvlm", "mmproj")).contains("don't belong together"))
  }

  @Test(arguments: ["smolvlm", "qwen2vl"], ["model", "mmproj"])
  func truncatedFiles(_ variant: String, _ name: String) throws {
    let folder = try TemporaryFolder()
    let whole = try GGUFEditor(path: modelPath(variant, name))
    for count in [0, 3, 20, 200, 5000, whole.count / 2, whole.count - 64] {
      var editor = whole
      editor.truncate(to: count)
      let path = try editor.write(to: folder)
      let (model, projector) =
        name == "model" ? (path, modelPath(variant, "mmproj")) : (modelPath(variant, "model"), path)
      #expect(throws: CheckpointError.self, "\(count) bytes") { try load(model, projector) }
    }
  }

  @Test(
    arguments: [
      ("llama.block_count", 4, "missing"), ("llama.block_count", 0, "expected a whole number"),
      ("llama.embedding_length", 96, "rotary elements"), ("llama.attention.head_count", 5, "head"),
      ("llama.attention.head_count_kv", 3, "share"), ("llama.attention.head_count", 0, "expected a whole number"),
      ("llama.context_length", 0, "expected a whole number"),
      ("llama.feed_forward_length", 0xFFFF_FFFF, "expected a whole number"),
      ("llama.rope.dimension_count", 8, "one even width"), ("tokenizer.ggml.eos_token_id", 70_000, "found 70000"),
    ] as [(String, UInt32, String)])
  func impossibleSizes(_ key: String, _ value: UInt32, _ expected: String) throws {
    let folder = try TemporaryFolder()
    var editor = try GGUFEditor(path: modelPath("smolvlm", "model"))
    // The second occurrence would be a longer key with this beginning; the writer puts the shorter one first.
    try editor.set(key, value)
    #expect(message(try editor.write(to: folder), modelPath("smolvlm", "mmproj")).contains(expected))
  }

  /// What the network run here has no place for changes the answer: it is refused by name.
  @Test func whatIsNotUnderstoodIsRefused() throws {
    let folder = try TemporaryFolder()
    let projector = modelPath("smolvlm", "mmproj")
    func changed(_ name: String = "model", _ change: (inout GGUFEditor) throws -> Void) throws -> String {
      var editor = try GGUFEditor(path: modelPath("smolvlm", name))
      try change(&editor)
      return try editor.write(to: folder, "\(UUID().uuidString).gguf")
    }
    let shallow = message(try changed { try $0.set("llama.block_count", 1) }, projector)
    #expect(shallow.contains("no place for, 'blk.1.") && shallow.contains("and others"), "\(shallow)")
    let shallowTower = message(
      modelPath("smolvlm", "model"), try changed("mmproj") { try $0.set("clip.vision.block_count", 1) })
    #expect(shallowTower.contains("no place for, 'v.blk.1."), "\(shallowTower)")
    for (key, value, word) in [
      ("llama.logit_scal", 7, "'llama.logit_scal': 7 isn't understood"), ("llama.vocab_size", 3, "loaded"),
      ("llama.logit_scal", 0, "loaded"),
    ] as [(String, UInt32, String)] {
      let found = message(
        try changed {
          try $0.set("llama.vocab_size", value)
          try $0.replace("llama.vocab_size", key)
        }, projector)
      #expect(found.contains(word), "\(key): \(found)")
    }
    // A factor without a type scales linearly.
    for (value, word) in [(4, "scaled by 4 aren't run here"), (1, "loaded"), (0, "loaded")] as [(UInt32, String)] {
      let found = message(
        try changed {
          try $0.set("llama.vocab_size", value)
          try $0.rename("llama.vocab_size", "llama.rope.scaling.factor")
        }, projector)
      #expect(found.contains(word), "\(value): \(found)")
    }
  }

  @Test(
    arguments: [
      ("clip.vision.block_count", 3, "missing"), ("clip.vision.patch_size", 0, "expected a whole number"),
      ("clip.vision.image_size", 40, "can't be cut"), ("clip.vision.attention.head_count", 7, "can't be cut"),
      ("clip.vision.projector.scale_factor", 3, "can't be cut"), ("clip.vision.embedding_length", 24, "expected shape"),
    ] as [(String, UInt32, String)])
  func impossibleEyes(_ key: String, _ value: UInt32, _ expected: String) throws {
    let folder = try TemporaryFolder()
    var editor = try GGUFEditor(path: modelPath("smolvlm", "mmproj"))
    try editor.set(key, value)
    #expect(message(modelPath("smolvlm", "model"), try editor.write(to: folder)).contains(expected))
  }

  @Test(arguments: [
    ("model", "blk.1.attn_k.weight", "blk.1.attn_x.weight", "'blk.1.attn_k.weight' is missing"),
    ("model", "token_embd.weight", "tokem_embd.weight", "token_embd.weight"),
    ("model", "gpt2", "gptX", "expected a byte-level one"),
    ("model", "smollm", "smolxx", "expected a split"), ("model", "<global-img>", "<global_img>", "no token '<global-img>'"),
    ("mmproj", "idefics3", "idefics4", "clip.projector_type"),
    ("mmproj", "mm.model.fc.weight", "mm.model.fx.weight", "is missing"),
    ("mmproj", "v.post_ln.weight", "v.post_lx.weight", "is missing"),
  ])
  func missingParts(_ name: String, _ old: String, _ new: String, _ expected: String) throws {
    let folder = try TemporaryFolder()
    var editor = try GGUFEditor(path: modelPath("smolvlm", name))
    try editor.replace(old, new)
    let path = try editor.write(to: folder)
    let found = name == "model" ? message(path, modelPath("smolvlm", "mmproj")) : message(modelPath("smolvlm", "model"), path)
    #expect(found.contains(expected))
  }

  @Test(arguments: ["smolvlm", "qwen2vl"])
  func vocabularyAndEmbeddingsOfDifferentSizes(_ variant: String) throws {
    let folder = try TemporaryFolder()
    var editor = try GGUFEditor(path: modelPath(variant, "model"))
    try editor.setSlowestExtent(ofMatrix: "token_embd.weight", 300)
    let found = message(try editor.write(to: folder), modelPath(variant, "mmproj"))
    #expect(found.contains("has embeddings for 300"))
  }

  @Test func sectionsMustFillHalfAHead() throws {
    let folder = try TemporaryFolder()
    var editor = try GGUFEditor(path: modelPath("qwen2vl", "model"))
    try editor.replace("rope.dimension_sections", "rope.dimension_sectionz")
    #expect(message(try editor.write(to: folder), modelPath("qwen2vl", "mmproj")).contains("dimension_sections"))
  }
}
