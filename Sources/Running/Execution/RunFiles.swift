import Checkpoints
package import Foundation
import Imaging
package import Reporting
import Tensors

/// Writes the files of a run beside its images.
package struct RunFiles {
  private let folder: URL
  private let host: any RunHost

  /// Names the run's folder.
  package init(folder: URL, host: any RunHost) {
    self.folder = folder
    self.host = host
  }

  /// Writes `run.json`, `table.md`, the contact sheet and the figures; says what it couldn't draw.
  package func write(_ run: RunDocument, drawsFigures: Bool) throws {
    try AtomicFile.write(try run.json(), to: folder.appendingPathComponent("run.json").path)
    try AtomicFile.write(RunTable.markdown(run), to: folder.appendingPathComponent("table.md").path)
    try writeContactSheet(run)
    guard drawsFigures else { return }
    let plots = folder.appendingPathComponent("plots")
    for figure in [RunFigures.stepTimes(run), RunFigures.memory(run)].compactMap({ $0 }) {
      if let complaint = try Gnuplot.draw(figure, in: plots, environment: host.environment).complaint(about: figure.name) {
        host.warn(complaint)
      }
    }
  }

  private func writeContactSheet(_ run: RunDocument) throws {
    let groups = run.cases.map { runCase in
      runCase.artifacts.compactMap { try? ImageFile.read(path: folder.appendingPathComponent($0).path) }
    }
    guard let sheet = ContactSheet.make(groups) else { return }
    try AtomicFile.write(Data(try PNGFile.encode(sheet)), to: folder.appendingPathComponent("contact-sheet.png").path)
  }
}
