/// The timesteps of distilled consistency models: N of the few that the student was trained on.
struct ConsistencyTimesteps: Sendable {
  private let originalCount: Int

  /// Reads `original_inference_steps`.
  init(_ reader: ConfigReader, trainCount: Int) throws(SchedulerError) {
    originalCount = try reader.int("original_inference_steps", default: 50, in: 1...trainCount)
  }

  /// N timesteps, falling, the first one near the last training step.
  func make(_ stepCount: Int, trainCount: Int, className: String) throws(SchedulerError) -> [Double] {
    guard stepCount <= originalCount else {
      throw SchedulerError(
        .invalidArgument,
        "\(className): steps: expected at most \(originalCount) (original_inference_steps), found \(stepCount)")
    }
    let stride = trainCount / originalCount
    return NumericArrays.linspace(0, Double(originalCount), count: stepCount, includesEnd: false).map { position in
      Double((originalCount - Int(position)) * stride - 1)
    }
  }
}
