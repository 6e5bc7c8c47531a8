import Foundation
public import GenBackend
import Goldens
import Kernels
import Measurement
import ReferenceEngine
import Reporting
public import Running

extension GenbenchCommandLine {
  /// Makes the engine that a `--backend` describes.
  ///
  /// - Throws: `KernelSelectionError` as a usage error when its kernels can't be had on this machine.
  public static func makeBackend(_ specification: BackendSpecification) async throws -> any GenBackend {
    switch specification.kind {
    case .null: return NullBackend()
    case .reference:
      var options = ReferenceBackend.Options()
      if let name = specification.kernels, let choice = KernelChoice(rawValue: name.rawValue) { options.kernels = choice }
      options.threads = specification.threads
      if specification.isFaultless { options.faults = [] }
      options.clipVocabulary = ProjectHome.fixtures()?.appendingPathComponent("Models/clip-vocabulary")
      do {
        return try ReferenceBackend(options: options)
      } catch let error as KernelSelectionError {
        throw CommandError(.usage, error.description)
      }
    }
  }
}
