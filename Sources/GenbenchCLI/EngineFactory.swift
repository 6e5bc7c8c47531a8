public import ExternalBackends
import Foundation
public import GenBackend
import Goldens
import Kernels
import Measurement
import ReferenceEngine
import Reporting
public import Running

extension GenbenchCommandLine {
  /// Makes the engine that a `--backend` describes; a program isn't started before it's needed.
  ///
  /// - Parameter processes: Where programs are noted, so that they can be ended with this one.
  /// - Throws: `KernelSelectionError` as a usage error when its kernels can't be had on this machine.
  public static func makeBackend(
    _ specification: BackendSpecification, processes: EngineProcesses? = nil
  ) async throws -> any GenBackend {
    switch specification.kind {
    case .null: return NullBackend()
    case .process:
      var options = ProcessBackend.Options(words: specification.words, threads: specification.threads)
      if let timeoutNs = specification.timeoutNs { options.limits.timeoutNs = timeoutNs }
      if let silenceNs = specification.silenceNs { options.limits.silenceNs = silenceNs }
      options.client = ("genbench", version)
      options.processes = processes
      return ProcessBackend(options)
    case .sdServer, .llamaServer, .openAI, .a1111:
      let endpoint: HTTPEndpoint
      do { endpoint = try HTTPEndpoint(specification.address) } catch { throw CommandError(.usage, error.message) }
      var limits = HTTPLimits()
      if let timeoutNs = specification.timeoutNs { limits.timeoutNs = timeoutNs }
      if let silenceNs = specification.silenceNs { limits.silenceNs = silenceNs }
      let token = ProcessInfo.processInfo.environment["GENBENCH_API_TOKEN"]
      switch specification.kind {
      case .sdServer: return SDServerBackend(endpoint, limits: limits, token: token)
      case .llamaServer: return LlamaServerBackend(endpoint, limits: limits, token: token)
      case .openAI: return OpenAIBackend(endpoint, limits: limits, token: token)
      default: return A1111Backend(endpoint, limits: limits, token: token)
      }
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
