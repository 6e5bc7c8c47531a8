import Checkpoints
import Foundation
import Tensors
import TestSupport
import Testing

/// Files with random damage: each either loads or throws a ``CheckpointError``; nothing else may happen.
@Suite struct MutationTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Changes one to four bytes, or cuts, doubles or removes a piece.
  private func mutated(_ bytes: [UInt8], within limit: Int, _ random: inout TestRandom) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let position = Int.random(in: 0..<min(limit, bytes.count), using: &random)
      switch UInt8.random(in: 0..<8, using: &random) {
      case 0: bytes[position] = 0xFF
      case 1: bytes[position] = 0
      case 2: bytes[position] &+= 1
      case 3: bytes.removeSubrange(position..<min(bytes.count, position + Int.random(in: 1...9, using: &random)))
      case 4: bytes.insert(contentsOf: bytes[position..<min(bytes.count, position + 8)], at: position)
      case 5: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      default: bytes[position] = UInt8.random(in: 0 ... .max, using: &random)
      }
      if bytes.isEmpty { return [0] }
    }
    return bytes
  }

  /// Counts how many of the damaged files were refused.
  private func attack(
    _ bytes: [UInt8], name: String, within limit: Int, times: Int, seed: UInt64, _ load: (String) throws -> Void
  ) throws -> Int {
    var random = TestRandom(seed: seed)
    var refused = 0
    for attempt in 0..<times {
      let path = try folder.write(mutated(bytes, within: limit, &random), to: name)
      do {
        try load(path)
      } catch is CheckpointError {
        refused += 1
      } catch {
        Issue.record("attempt \(attempt): expected a CheckpointError, found \(error)")
      }
    }
    return refused
  }

  private func readAll(_ source: any WeightSource) {
    for name in source.weightNames { _ = source.weight(named: name)?.float32() }
    _ = source.firstNonFinite()
  }

  private func bytes(_ path: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: Fixtures.folder.appendingPathComponent("checkpoints/\(path)")))
  }

  @Test func gguf() throws {
    let metadata = try bytes("gguf/metadata/metadata.gguf")
    let refused = try attack(metadata, name: "t.gguf", within: metadata.count, times: 600, seed: 1) {
      readAll(try GGUFFile(path: $0))
    }
    #expect(refused > 200)
    let types = try bytes("gguf/types/types.gguf")
    #expect(try attack(types, name: "t.gguf", within: 1200, times: 200, seed: 2) { readAll(try GGUFFile(path: $0)) } > 50)
    // Damaged values are numbers too.
    #expect(try attack(types, name: "t.gguf", within: types.count, times: 60, seed: 3) { readAll(try GGUFFile(path: $0)) } < 60)
  }

  @Test func safetensors() throws {
    let path = folder.path("whole")
    var random = TestRandom(seed: 4)
    try SafetensorsWriter.write(
      ["a": random.tensor([3, 4]), "b.weight": random.tensor([2]), "c": random.tensor([])], metadata: ["format": "pt"], to: path)
    let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let refused = try attack(whole, name: "t.safetensors", within: whole.count, times: 800, seed: 5) {
      readAll(try SafetensorsFile(path: $0))
    }
    #expect(refused > 300)
  }

  @Test func numpy() throws {
    let whole = try bytes("numpy/f16.npy")
    #expect(try attack(whole, name: "t.npy", within: whole.count, times: 800, seed: 6) { _ = try NumPyFile.read($0) } > 300)
  }

  @Test func json() throws {
    let whole = try bytes("sdxl/model/unet/config.json")
    let refused = try attack(whole, name: "t.json", within: whole.count, times: 800, seed: 7) {
      _ = try UNet2DConditionModelConfig(json: JSONValue(contentsOf: $0), file: $0)
    }
    #expect(refused > 300)
  }

  @Test(arguments: DiffusersFolderTests.families)
  func singleFiles(_ family: String) throws {
    // The header's names and shapes, and the metadata with the configuration.
    let whole = try bytes("\(family)/single.safetensors")
    let header = whole.prefix(8).enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
    _ = try attack(whole, name: "t.safetensors", within: 8 + header, times: 120, seed: 8) {
      let checkpoint = try DiffusionCheckpoint.open(path: $0, overrides: .init(predictionType: .epsilon))
      #expect(checkpoint.unetConfig.inChannels == 4)
    }
  }

  @Test func stableDiffusionCpp() throws {
    let whole = try bytes("gguf/sd15/sd15-q8_0.gguf")
    _ = try attack(whole, name: "t.gguf", within: 24000, times: 120, seed: 9) { _ = try DiffusionCheckpoint.open(path: $0) }
  }
}
