/// The figures that `plot` draws.
public enum PlotKind: String, Sendable, CaseIterable {
  /// The time of each denoising step.
  case steps
  /// Memory over time, with the cases marked.
  case memory
  /// A request's time against steps, size, threads or another setting.
  case latency
  /// The speed-up with more threads, beside the ideal.
  case scaling
  /// A quantity over the history's runs, with its interval and the changes of level.
  case trend
  /// What stages reach against what the machine can.
  case roofline
  /// Two runs side by side.
  case compare
  /// Minute by minute of a sustained run.
  case sustained
}
