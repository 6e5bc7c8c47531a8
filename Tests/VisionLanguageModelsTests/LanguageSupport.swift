import Checkpoints
import Foundation
import Goldens
import KernelContract
import Kernels
import Tensors
import TestSupport
import VisionLanguageModels

func makeKernels(_ choice: KernelChoice = .fast) throws -> any KernelSet { try KernelFactory.make(choice, threads: 2) }

/// The path of a file of a small model.
func modelPath(_ variant: String, _ name: String) -> String {
  Fixtures.folder.appendingPathComponent("TestModels/\(variant)/\(name).gguf").path
}

func openModel(_ variant: String, _ choice: KernelChoice = .fast) throws -> VisionLanguageModel {
  try VisionLanguageModel(
    GGUFFile(path: modelPath(variant, "model")), projector: GGUFFile(path: modelPath(variant, "mmproj")),
    kernels: makeKernels(choice))
}

/// Greedy decoding that keeps the logits of each step.
struct GreedyRun {
  var ids: [Int] = []
  var logits: [Tensor] = []

  init(_ model: LanguageModel, _ prompt: PreparedPrompt, maxTokens: Int, _ context: ExecutionContext) throws {
    var cache = KVCache(model.decoder.config, capacity: prompt.ids.count + maxTokens)
    var sampler = TokenSampler(TokenSampler.Settings())
    var row = try model.decoder.prefill(prompt.embeddings, positions: prompt.positions, cache: &cache, context)
    while true {
      logits.append(row)
      let id = sampler.next(row, history: [])
      ids.append(id)
      if ids.count == maxTokens || model.endIDs.contains(id) { return }
      row = try model.decoder.prefill(
        model.decoder.embeddings(of: [id]), positions: [TokenPosition(prompt.nextPosition + ids.count - 1)], cache: &cache,
        context)
    }
  }
}

/// Makes GGUF files by changing a good one: keys and tensors are replaced, the rest is kept.
struct GGUFEditor {
  struct NotFound: Error { var text: String }

  private var bytes: [UInt8]

  init(path: String) throws { bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }

  private func place(of text: String) throws -> Range<Int> {
    guard let range = bytes.firstRange(of: Array(text.utf8)) else { throw NotFound(text: text) }
    return range
  }

  /// Replaces the first occurrence of a text by another of the same length.
  mutating func replace(_ old: String, _ new: String) throws {
    precondition(old.utf8.count == new.utf8.count)
    let range = try place(of: old)
    bytes.replaceSubrange(range, with: Array(new.utf8))
  }

  /// Gives a key another name, of any length; tensors keep their place since what moves is taken from the alignment's padding
  /// or adds whole blocks of 32 bytes.
  mutating func rename(_ old: String, _ new: String) throws {
    let range = try place(of: old)
    let grown = new.utf8.count - old.utf8.count
    withUnsafeBytes(of: UInt64(new.utf8.count).littleEndian) {
      bytes.replaceSubrange((range.lowerBound - 8)..<range.lowerBound, with: $0)
    }
    bytes.replaceSubrange(range, with: Array(new.utf8))
    // The description of the file is a text whose length doesn't matter: it takes up what the key has grown by.
    let name = try place(of: "general.name")
    let lengthAt = name.upperBound + 4
    let length = bytes[lengthAt..<(lengthAt + 8)].reversed().reduce(0) { $0 << 8 | Int($1) }
    let filler = (32 - grown % 32) % 32
    withUnsafeBytes(of: UInt64(length + filler).littleEndian) { bytes.replaceSubrange(lengthAt..<(lengthAt + 8), with: $0) }
    bytes.insert(contentsOf: [UInt8](repeating: 0x20, count: filler), at: lengthAt + 8 + length)
  }

  /// Changes the u32 behind a key.
  mutating func set(_ key: String, _ value: UInt32) throws {
    let range = try place(of: key)
    // The key, its type (4 bytes), the value.
    let start = range.upperBound + 4
    withUnsafeBytes(of: value.littleEndian) { bytes.replaceSubrange(start..<(start + 4), with: $0) }
  }

  /// Changes the number of rows of a matrix in the tensor table.
  mutating func setSlowestExtent(ofMatrix name: String, _ rows: UInt64) throws {
    let range = try place(of: name)
    // The name, the rank (4 bytes), the row length (8 bytes), the rows.
    let start = range.upperBound + 12
    withUnsafeBytes(of: rows.littleEndian) { bytes.replaceSubrange(start..<(start + 8), with: $0) }
  }

  mutating func truncate(to count: Int) { bytes.removeLast(max(0, bytes.count - count)) }
  var count: Int { bytes.count }

  func write(to folder: TemporaryFolder, _ name: String = "model.gguf") throws -> String { try folder.write(bytes, to: name) }
}
