import Checkpoints
import DiffusionModels
import Foundation
package import GenBackend
package import Measurement
import ReferenceEngine
package import Reporting
package import Running
import VisionLanguageModels

/// What runs use of the command line and of the engine in the box.
extension CommandContext: RunHost {
  package var version: String { GenbenchCommandLine.version }
  package var signal: Int32? { interrupts.signal }

  package func say(_ text: String) { console.say(text) }
  package func warn(_ text: String) { console.warn(text) }
  package func beginProgress(_ title: String, total: Int) -> any RunProgress {
    ProgressDisplay(title, total: total, console: console)
  }

  package func userModel(_ path: String, variant: String?) throws -> ModelLocation {
    try ModelLocation.user(path, variant: variant, environment: environment)
  }

  package func holdsLanguageModel(_ path: String) -> Bool {
    guard path.lowercased().hasSuffix(".gguf"), let file = try? GGUFFile(path: path) else { return false }
    if case .language = ModelFileKind(file) { return true }
    return false
  }

  package func sizeMultiple(of subject: RunPlan.Subject) -> Int? {
    if subject.isText || !subject.backend.hasPrefix(BackendSpecification.Kind.reference.rawValue) { return nil }
    if subject.isFullSize {
      return subject.variant.flatMap { DiffusionVariant(rawValue: $0) }.flatMap { try? DiffusionArchitecture(fullSize: $0) }?
        .vae.scaleFactor
    }
    var overrides = DiffusionCheckpoint.Overrides()
    overrides.variant = subject.variant.flatMap { DiffusionVariant(rawValue: $0) }
    // What is wrong with the files is told when they're loaded.
    guard let checkpoint = try? DiffusionCheckpoint.open(path: subject.path, overrides: overrides) else { return nil }
    return DiffusionArchitecture(checkpoint).vae.scaleFactor
  }

  package func writeFullSizeModel(_ variant: String, fixtures: String?) throws -> String {
    try FullSizeWeights.make(variant, fixtures: fixtures, context: self).folder.path
  }

  package func work(of subject: RunPlan.Subject, size: ImageSize) -> [String: StageWork]? {
    subject.isFullSize
      ? CaseWork.count(fullSize: subject.variant ?? "", size: size)
      : CaseWork.count(path: subject.path, variant: subject.variant, size: size)
  }

  package func probeMachine(threads: Int?) -> EnvironmentRecord.Probe? { MachineProbe.measure(threads: threads) }

  package func exit(for error: any Error) -> RunDocument.Exit {
    let status = ProgramExit(error, signal: interrupts.signal)
    return .init(code: status.code, reason: status.reason)
  }
}

extension ProgressDisplay: RunProgress {
  package func update(done: Int, detail: String) { update(done: done, of: nil, detail: detail) }
}
