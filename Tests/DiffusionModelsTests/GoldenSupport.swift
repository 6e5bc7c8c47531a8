import Checkpoints
import DiffusionModels
import Foundation
import Goldens
import KernelContract
import Kernels
import Synchronization
import Tensors
import TestSupport
import Testing

/// The tensors `weight.…` of a golden case under their own names.
struct CaseWeights: WeightSource {
  let file: SafetensorsFile
  var location: String { file.location }
  var weightNames: [String] { file.weightNames.filter { $0.hasPrefix("weight.") }.map { String($0.dropFirst(7)) } }
  func weight(named name: String) -> WeightView? { file.weight(named: "weight." + name) }
}

/// Collects what a network shows its observer.
final class Observed: Sendable {
  let outputs = Mutex<[String: Tensor]>([:])
}

extension GoldenCase {
  /// The parameters of the case itself, or of the model that it names.
  func loader(_ kernels: any KernelSet, folder: String? = nil) throws -> ParameterLoader {
    guard let folder else { return ParameterLoader(FileParameters(CaseWeights(file: try tensors())), kernels: kernels) }
    let path = Fixtures.folder.appendingPathComponent(folder)
    let checkpoint = try DiffusionCheckpoint(folder: DiffusersFolder(path: path.deletingLastPathComponent().path))
    let weights: any WeightSource
    switch path.lastPathComponent {
    case "unet": weights = checkpoint.unet
    case "vae": weights = checkpoint.vae
    case let other: throw CheckpointError(.unsupported, file: folder, "no network '\(other)' in this test")
    }
    return ParameterLoader(FileParameters(weights), kernels: kernels)
  }

  /// Reports how far a result is from the golden `output.name`.
  func expect(_ actual: Tensor, _ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let mismatch = tolerance.mismatch(actual: actual, expected: try tensor(name))
    #expect(mismatch == nil, "\(id) \(name)", sourceLocation: sourceLocation)
  }

  /// Reports how far the observed blocks are from the goldens `block.…`; all of these must have been seen.
  func expectBlocks(_ observed: Observed, ignoring isIgnored: (String) -> Bool = { _ in false }) throws {
    let outputs = observed.outputs.withLock { $0 }
    for name in try tensors().weightNames where name.hasPrefix("block.") && !isIgnored(String(name.dropFirst(6))) {
      let block = String(name.dropFirst(6))
      guard let actual = outputs[block] else {
        Issue.record("\(id): block '\(block)' wasn't observed")
        continue
      }
      try expect(actual.reshaped(to: try tensor(name).shape), name)
    }
  }
}

/// A context over a kernel set that notes the blocks.
func observingContext(_ kernels: any KernelSet) -> (ExecutionContext, Observed) {
  let observed = Observed()
  let context = ExecutionContext(kernels: kernels) { name, output in
    let tensor = output()
    observed.outputs.withLock { $0[name] = tensor }
  }
  return (context, observed)
}

func makeKernels(_ choice: KernelChoice) throws -> any KernelSet { try KernelFactory.make(choice, threads: 2) }
