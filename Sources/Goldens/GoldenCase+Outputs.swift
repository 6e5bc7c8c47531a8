import Tensors

extension GoldenCase {
  /// Compares results one after the other; the first that is off is the one to look at.
  ///
  /// - Returns: How far they're off, in a sentence.
  /// - Throws: ``GoldenMismatch`` that names the first result that is off; `CheckpointError` when the golden can't be read.
  public func compare(_ outputs: [NumericOutput]) throws -> String {
    guard !outputs.isEmpty else { throw GoldenMismatch(expected: "\(id): results", seen: "none") }
    var worst = 0.0
    for (place, output) in outputs.enumerated() {
      var expected = try tensor(output.name)
      if let row = output.row {
        guard expected.shape.rank > 0, row >= 0, row < expected.shape[0] else {
          throw GoldenMismatch(expected: "\(output.name) with \(expected.shape) as its shape", seen: "a row \(row)")
        }
        expected = expected.slice(row..<(row + 1))
      }
      let tolerance = output.tolerance ?? tolerance
      let actual = output.tensor.count == expected.count ? output.tensor.reshaped(to: expected.shape) : output.tensor
      if let mismatch = tolerance.mismatch(actual: actual, expected: expected) {
        throw GoldenMismatch(
          expected: "\(output.name)\(output.row.map { ", entry \($0)," } ?? "") as \(origin.tool) has it",
          seen: "\(place == 0 ? "" : "\(place) results before it agree, the first that doesn't: ")\(mismatch)")
      }
      worst = max(worst, Comparison(actual: actual, expected: expected)?.maxRelative ?? 0)
    }
    return "\(outputs.count) tensors, worst relative error \(Float(worst))"
  }
}
