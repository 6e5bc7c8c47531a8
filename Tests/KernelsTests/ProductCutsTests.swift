import Testing

@testable import KernelsFastBaseline

/// The tasks of a matrix product: together they are the whole, once, and each thread gets about as much.
@Suite struct ProductCutsTests {
  static let shapes: [(rows: Int, panels: Int)] = [
    (1, 1), (7, 3), (32, 27), (128, 27), (512, 14), (2048, 7), (5000, 2), (9000, 214), (130, 1),
  ]

  private func parts(_ shape: (rows: Int, panels: Int), threads: Int, perTask: Int = 5) -> [ProductPart] {
    ProductCuts(
      rows: shape.rows, panels: shape.panels, threads: threads, rowsPerChunk: 2048, panelsPerTask: perTask, tileRows: 8
    ).parts()
  }

  @Test(arguments: shapes, [1, 2, 3, 8])
  func everyPartOnce(shape: (rows: Int, panels: Int), threads: Int) {
    var taken = [Int](repeating: 0, count: shape.panels * ((shape.rows + 7) / 8))
    for part in parts(shape, threads: threads) {
      #expect(part.rows.lowerBound % 8 == 0 && (part.rows.upperBound % 8 == 0 || part.rows.upperBound == shape.rows))
      #expect(part.panels.count <= 5 && !part.panels.isEmpty && !part.rows.isEmpty)
      for panel in part.panels {
        for tile in (part.rows.lowerBound / 8)..<((part.rows.upperBound + 7) / 8) {
          taken[tile * shape.panels + panel] += 1
        }
      }
    }
    #expect(taken.allSatisfy { $0 == 1 })
  }

  /// Threads that take the next task whenever they are free end within half a panel of the mean.
  @Test(arguments: [(2048, 7), (512, 14), (128, 27), (128, 214), (2048, 54)])
  func twoThreadsEndTogether(rows: Int, panels: Int) {
    var ends = [0, 0]
    for part in parts((rows, panels), threads: 2) {
      let thread = ends[0] <= ends[1] ? 0 : 1
      ends[thread] += part.rows.count * part.panels.count
    }
    #expect(2 * max(ends[0], ends[1]) - rows * panels <= rows, "\(ends)")
  }

  @Test func nothingToDo() {
    #expect(parts((0, 5), threads: 2).isEmpty)
    #expect(parts((5, 0), threads: 2).isEmpty)
  }
}
