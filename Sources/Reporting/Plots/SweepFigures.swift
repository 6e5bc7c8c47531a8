import Markup
import Measurement

/// Figures over a setting that was swept.
public enum SweepFigures {
  /// A setting that cases differ in.
  public enum Axis: String, Sendable, CaseIterable {
    case steps, size, threads, batch, max_tokens

    /// Its value in a case: pixels for sizes; nil where the case doesn't have it.
    func value(_ runCase: RunCase) -> Double? {
      let parameters = runCase.parameters
      return switch self {
      case .steps: parameters.steps.map { Double($0) }
      case .size: parameters.width.flatMap { width in parameters.height.map { Double(width * $0) } }
      case .threads: parameters.settings.engine.threads.map { Double($0) }
      case .batch: parameters.batch.map { Double($0) }
      case .max_tokens: parameters.maxTokens.map { Double($0) }
      }
    }

    /// What a case is called without this setting, so that cases which differ in it alone share a curve.
    func curve(_ runCase: RunCase) -> String {
      let parameters = runCase.parameters
      var parts = [runCase.caseID.split(separator: "/").first.map(String.init) ?? runCase.caseID]
      if self != .size, let width = parameters.width, let height = parameters.height { parts.append("\(width)x\(height)") }
      if let scheduler = parameters.scheduler { parts.append(scheduler) }
      if self != .steps, let steps = parameters.steps { parts.append("\(steps) steps") }
      if self != .batch, let batch = parameters.batch, batch > 1 { parts.append("batch \(batch)") }
      if self != .max_tokens, let tokens = parameters.maxTokens { parts.append("\(tokens) tokens") }
      if runCase.scenario != .single { parts.append(runCase.scenario.rawValue) }
      for (key, value) in parameters.settings.texts.sorted(by: { $0.key < $1.key })
      where key != rawValue && key != "precision" || value == "bf16" {
        parts.append("\(key) \(value)")
      }
      if let side = runCase.side { parts.append("[\(side)]") }
      return parts.joined(separator: " ")
    }

    /// The axis' label.
    var label: String {
      switch self {
      case .steps: "denoising steps"
      case .size: "pixels"
      case .threads: "threads"
      case .batch: "images of one request"
      case .max_tokens: "most tokens of an answer"
      }
    }
  }

  struct Curve {
    var name: String
    var points: [(x: Double, median: Double, low: Double, high: Double)]
  }

  static func curves(_ runs: [RunDocument], axis: Axis, metric: MetricName) -> [Curve] {
    var curves: [Curve] = []
    for run in runs {
      for runCase in run.cases {
        guard let x = axis.value(runCase), let summary = runCase.summary(metric), let median = summary.median else { continue }
        let name = axis.curve(runCase)
        // One request that stood still mustn't stretch the axis: with few sessions the deviation is shown.
        let interval = summary.ci.flatMap { $0.method == "bootstrap-session-medians" ? $0 : nil }
        let spread = summary.mad ?? 0
        let point = (x: x, median: median, low: interval?.low ?? median - spread, high: interval?.high ?? median + spread)
        if let place = curves.firstIndex(where: { $0.name == name }) {
          curves[place].points.append(point)
        } else {
          curves.append(Curve(name: name, points: [point]))
        }
      }
    }
    for index in curves.indices { curves[index].points.sort { $0.x < $1.x } }
    return curves.filter { Set($0.points.map(\.x)).count > 1 }
  }

  /// The axis that the cases differ in most; nil when they don't.
  public static func bestAxis(_ runs: [RunDocument]) -> Axis? {
    Axis.allCases.map { axis in (axis, curves(runs, axis: axis, metric: .endToEnd).map(\.points.count).max() ?? 0) }
      .filter { $0.1 > 1 }.max { $0.1 < $1.1 }?.0
  }

  /// The time of a request against a setting; nil when nothing varies.
  public static func latency(_ runs: [RunDocument], axis: Axis) -> Gnuplot.Figure? {
    let curves = curves(runs, axis: axis, metric: .endToEnd)
    guard !curves.isEmpty else { return nil }
    var blocks: [String] = []
    var plots: [String] = []
    for (index, curve) in curves.enumerated() {
      let lines = curve.points.map { point in
        [point.x, point.median / 1e6, point.low / 1e6, point.high / 1e6].map(PlotStyle.number).joined(separator: " ")
      }
      blocks.append(
        (["# \(GnuplotText.comment(curve.name)): \(axis.label), median ms, low ms, high ms"] + lines).joined(separator: "\n"))
      let colour = PlotStyle.colour(index)
      plots.append("'latency.dat' index \(index) using 1:2:3:4 with yerrorbars pt 7 ps 0.8 lw 1.5 lc rgb \(colour) notitle")
      plots.append(
        "'latency.dat' index \(index) using 1:2 with lines lw 2 lc rgb \(colour) title \(GnuplotText.quoted(curve.name))")
    }
    let ticks = Set(curves.flatMap { $0.points.map(\.x) }).sorted()
    let names = axis == .size ? sizeNames(runs) : [:]
    let labels = ticks.map { PlotStyle.tick(names[$0] ?? PlotStyle.number($0), $0) }.joined(separator: ", ")
    return Gnuplot.Figure(
      name: "latency", data: blocks.joined(separator: "\n\n\n") + "\n",
      commands: """
        set title \(GnuplotText.quoted("Time of a request against \(axis.label): median, 95 % interval of 5 sessions or more, else ± MAD"))
        set xlabel \(GnuplotText.quoted(axis.label))
        set ylabel 'ms'
        set yrange [0:*]
        set offsets graph 0.03, graph 0.03, graph 0.05, 0
        set xtics (\(labels))
        plot \(plots.joined(separator: ", \\\n  "))
        """)
  }

  private static func sizeNames(_ runs: [RunDocument]) -> [Double: String] {
    var names: [Double: String] = [:]
    for runCase in runs.flatMap(\.cases) {
      if let width = runCase.parameters.width, let height = runCase.parameters.height {
        names[Double(width * height)] = "\(width)x\(height)"
      }
    }
    return names
  }

  /// The speed-up with threads over the fewest; nil when the runs don't vary threads.
  public static func scaling(_ runs: [RunDocument]) -> Gnuplot.Figure? {
    let curves = curves(runs, axis: .threads, metric: .endToEnd)
    guard !curves.isEmpty else { return nil }
    var blocks: [String] = []
    var plots: [String] = []
    for (index, curve) in curves.enumerated() {
      guard let first = curve.points.first else { continue }
      let lines = curve.points.map { point in
        [point.x, first.median / point.median * first.x, first.median / point.high * first.x, first.median / point.low * first.x]
          .map(PlotStyle.number).joined(separator: " ")
      }
      blocks.append((["# \(GnuplotText.comment(curve.name)): threads, speed-up, low, high"] + lines).joined(separator: "\n"))
      let colour = PlotStyle.colour(index)
      plots.append("'scaling.dat' index \(index) using 1:2:3:4 with yerrorbars pt 7 ps 0.8 lw 1.5 lc rgb \(colour) notitle")
      plots.append(
        "'scaling.dat' index \(index) using 1:2 with lines lw 2 lc rgb \(colour) title \(GnuplotText.quoted(curve.name))")
    }
    let most = curves.flatMap { $0.points.map(\.x) }.max() ?? 1
    return Gnuplot.Figure(
      name: "scaling", data: blocks.joined(separator: "\n\n\n") + "\n",
      commands: """
        set title 'Speed-up with threads'
        set xlabel 'threads'
        set ylabel 'speed-up'
        set xrange [0:\(PlotStyle.number(most + 0.5))]
        set yrange [0:\(PlotStyle.number(most + 0.5))]
        set xtics \(most > 16 ? 4 : 1)
        plot x with lines dt 2 lc rgb '#888888' title 'ideal', \\
          \(plots.joined(separator: ", \\\n  "))
        """)
  }

  /// The median of each minute; nil when no case was measured for minutes.
  public static func sustained(_ runs: [RunDocument]) -> Gnuplot.Figure? {
    var blocks: [String] = []
    var plots: [String] = []
    var marks: [String] = []
    for runCase in runs.flatMap(\.cases) {
      guard let record = runCase.sustained else { continue }
      let lines = record.minuteMediansNs.enumerated().map { minute, value in
        "\(minute + 1) \(value.map { PlotStyle.number($0 / 1e6) } ?? "nan")"
      }
      let index = blocks.count
      blocks.append((["# \(GnuplotText.comment(runCase.displayName)): minute, median ms"] + lines).joined(separator: "\n"))
      plots.append(
        "'sustained.dat' index \(index) using 1:2 with linespoints pt 7 ps 0.7 lw 2 lc rgb \(PlotStyle.colour(index)) title \(GnuplotText.quoted(runCase.displayName))"
      )
      if let onset = record.onsetNs {
        let x = PlotStyle.number(Double(onset) / 60e9 + 1)
        marks.append("set arrow from \(x), graph 0 to \(x), graph 1 nohead dt 2 lc rgb \(PlotStyle.colour(index))")
      }
    }
    guard !blocks.isEmpty else { return nil }
    return Gnuplot.Figure(
      name: "sustained", data: blocks.joined(separator: "\n\n\n") + "\n",
      commands: """
        set title 'Median request of each minute; a dashed line marks where it became slower for good'
        set xlabel 'minute'
        set ylabel 'ms'
        set yrange [0:*]
        set xtics 1
        \(marks.joined(separator: "\n"))
        plot \(plots.joined(separator: ", \\\n  "))
        """)
  }
}
