import Foundation
import GenBackend
import Markup
import Measurement

/// Figures of several runs: side by side, over time, against the machine.
public enum ComparisonFigures {
  /// Two runs, case by case: medians with their intervals; nil without a case in common.
  public static func compare(
    _ base: RunDocument, _ candidate: RunDocument, names: (String, String), metric: MetricName = .endToEnd
  ) -> Gnuplot.Figure? {
    var rows: [String] = []
    var ticks: [String] = []
    for runCase in candidate.cases {
      guard let other = base.cases.first(where: { $0.caseID == runCase.caseID }), let new = runCase.summary(metric),
        let old = other.summary(metric), let newMedian = new.median, let oldMedian = old.median
      else { continue }
      let scale = runCase.metric(metric)?.unit.figureScale ?? 1
      let place = Double(rows.count)
      ticks.append(PlotStyle.tick(runCase.caseID, place))
      let values = [
        place, oldMedian / scale, (old.ci?.low ?? oldMedian) / scale, (old.ci?.high ?? oldMedian) / scale, newMedian / scale,
        (new.ci?.low ?? newMedian) / scale, (new.ci?.high ?? newMedian) / scale,
      ]
      rows.append(values.map(PlotStyle.number).joined(separator: " "))
    }
    guard !rows.isEmpty else { return nil }
    let unit = candidate.cases.lazy.compactMap { $0.metric(metric)?.unit }.first?.figureLabel ?? ""
    return Gnuplot.Figure(
      name: "compare",
      data: (["# case, base, low, high, candidate, low, high (\(GnuplotText.comment(unit)))"] + rows).joined(separator: "\n")
        + "\n",
      commands: """
        set title \(GnuplotText.quoted("\(metric): median and 95 % interval"))
        set ylabel \(GnuplotText.quoted(unit))
        set yrange [0:*]
        set xrange [-0.6:\(PlotStyle.number(Double(rows.count) - 0.4))]
        set boxwidth 0.36
        set style fill solid 0.75 noborder
        set xtics (\(ticks.joined(separator: ", "))) rotate by -20 noenhanced
        plot 'compare.dat' using ($1-0.2):2 with boxes lc rgb \(PlotStyle.colour(0)) title \(GnuplotText.quoted(names.0)), \\
          'compare.dat' using ($1+0.2):5 with boxes lc rgb \(PlotStyle.colour(1)) title \(GnuplotText.quoted(names.1)), \\
          'compare.dat' using ($1-0.2):2:3:4 with yerrorbars pt 0 lw 1.5 lc rgb '#333333' notitle, \\
          'compare.dat' using ($1+0.2):5:6:7 with yerrorbars pt 0 lw 1.5 lc rgb '#333333' notitle
        """)
  }

  /// Quantities over the runs of a history, with a band for the interval and marks where the level changed; nil without points.
  public static func trend(_ trends: [HistoryTrend]) -> Gnuplot.Figure? {
    let trends = trends.filter { !$0.points.isEmpty }
    guard let first = trends.first else { return nil }
    let scale = first.unit.figureScale
    var blocks: [String] = []
    var plots: [String] = []
    var marks: [String] = []
    // Runs in the order of time share one axis, whatever their series.
    let runs = Array(Set(trends.flatMap { $0.points.map { [$0.createdAt, $0.runID] } })).sorted {
      ($0[0], $0[1]) < ($1[0], $1[1])
    }
    let places = Dictionary(uniqueKeysWithValues: runs.enumerated().map { ($0.element[1], Double($0.offset + 1)) })
    for (index, trend) in trends.enumerated() {
      let lines = trend.points.map { point in
        [
          places[point.runID] ?? 0, point.median / scale, (point.low ?? point.median) / scale,
          (point.high ?? point.median) / scale,
        ]
        .map(PlotStyle.number).joined(separator: " ")
      }
      blocks.append((["# \(GnuplotText.comment(trend.caseID)): run, median, low, high"] + lines).joined(separator: "\n"))
      let colour = PlotStyle.colour(index)
      plots.append(
        "'trend.dat' index \(index) using 1:3:4 with filledcurves fill transparent solid 0.18 noborder lc rgb \(colour) notitle")
      let title =
        trends.contains { $0.caseID == trend.caseID && $0.machine != trend.machine }
        ? "\(trend.caseID) on \(trend.machine)" : trend.caseID
      plots.append(
        "'trend.dat' index \(index) using 1:2 with linespoints pt 7 ps 0.6 lw 2 lc rgb \(colour) title \(GnuplotText.quoted(title))"
      )
      for change in trend.changes {
        guard let x = places[change.runID] else { continue }
        let at = PlotStyle.number(x - 0.5)
        marks.append("set arrow from \(at), graph 0 to \(at), graph 1 nohead dt 2 lc rgb \(colour)")
        let text = "\(MetricPair.percent(change.change)) \(change.commit.map { String($0.prefix(8)) } ?? "")"
        marks.append(
          "set label \(GnuplotText.quoted(text)) at \(at), graph \(PlotStyle.number(0.97 - 0.05 * Double(index % 8))) offset 0.5,0 font ',9' noenhanced"
        )
      }
    }
    let step = max(1, runs.count / 12)
    // Runs of one day are told apart by their time.
    let isOneDay = Set(runs.map { $0[0].prefix(10) }).count == 1
    func day(_ time: String) -> String { String(isOneDay ? time.dropFirst(11).prefix(5) : time.prefix(10)) }
    let ticks = runs.enumerated().filter { $0.offset % step == 0 }.map {
      PlotStyle.tick(day($0.element[0]), Double($0.offset + 1))
    }
    return Gnuplot.Figure(
      name: "trend", data: blocks.joined(separator: "\n\n\n") + "\n",
      commands: """
        set title \(GnuplotText.quoted("\(first.metric) over time: median and 95 % interval; dashed lines mark changes of level"))
        set xlabel 'run'
        set ylabel \(GnuplotText.quoted(first.unit.figureLabel))
        set yrange [0:*]
        set xrange [0.5:\(PlotStyle.number(Double(runs.count) + 0.5))]
        set xtics (\(ticks.joined(separator: ", "))) rotate by -30
        \(marks.joined(separator: "\n"))
        plot \(plots.joined(separator: ", \\\n  "))
        """)
  }

  /// What stages reach, over how many operations they do for each byte, below the machine's roof; nil without work or probe.
  public static func roofline(_ run: RunDocument) -> Gnuplot.Figure? {
    guard let probe = run.environment.probe, probe.gigaflopsF32 > 0, probe.memoryGigabytesPerSecond > 0 else { return nil }
    var blocks: [String] = []
    var plots: [String] = []
    var intensities: [Double] = []
    var rates: [Double] = []
    for runCase in run.cases {
      var lines: [String] = []
      for (stage, work) in (runCase.work ?? [:]).sorted(by: { $0.key < $1.key }) {
        guard let (ns, passes) = time(of: stage, in: runCase), work.bytes > 0, work.flop > 0, ns > 0 else { continue }
        let rate = work.flop * passes / ns
        let intensity = work.flop / work.bytes
        lines.append("\(PlotStyle.number(intensity)) \(PlotStyle.number(rate)) \(GnuplotText.dataString(stage))")
        intensities.append(intensity)
        rates.append(rate)
      }
      if lines.isEmpty { continue }
      let index = blocks.count
      blocks.append(
        (["# \(GnuplotText.comment(runCase.displayName)): FLOP/byte, GFLOP/s, stage"] + lines).joined(separator: "\n"))
      let colour = PlotStyle.colour(index)
      plots.append(
        "'roofline.dat' index \(index) using 1:2 with points pt 7 ps 1.2 lc rgb \(colour) title \(GnuplotText.quoted(runCase.displayName))"
      )
      plots.append("'roofline.dat' index \(index) using 1:2:3 with labels left offset 0.8,0.3 font ',9' tc rgb \(colour) notitle")
    }
    guard let least = intensities.min(), let most = intensities.max(), let lowest = rates.min() else { return nil }
    let (peak, bandwidth) = (PlotStyle.number(probe.gigaflopsF32), PlotStyle.number(probe.memoryGigabytesPerSecond))
    let knee = probe.gigaflopsF32 / probe.memoryGigabytesPerSecond
    return Gnuplot.Figure(
      name: "roofline", data: blocks.joined(separator: "\n\n\n") + "\n",
      commands: """
        set title \(GnuplotText.quoted("Roofline: this machine's matrix product reaches \(Units.significant(probe.gigaflopsF32)) GFLOP/s, its copy \(Units.significant(probe.memoryGigabytesPerSecond)) GB/s"))
        set xlabel 'FLOP per byte'
        set ylabel 'GFLOP/s'
        set logscale xy
        set xrange [\(PlotStyle.number(min(least, knee) / 3)):\(PlotStyle.number(max(most, knee) * 5))]
        set yrange [\(PlotStyle.number(min(lowest, probe.gigaflopsF32 / 20) / 2)):\(PlotStyle.number(probe.gigaflopsF32 * 2))]
        set samples 400
        roof(x) = \(bandwidth)*x < \(peak) ? \(bandwidth)*x : \(peak)
        plot roof(x) with lines lw 2 lc rgb '#888888' title 'roof', \\
          \(plots.joined(separator: ", \\\n  "))
        """)
  }

  /// The median time of a stage, and how many passes of one image that is.
  private static func time(of stage: String, in runCase: RunCase) -> (ns: Double, passes: Double)? {
    if stage == "unet" {
      let guided = (runCase.parameters.guidance ?? 7.5) > 1 ? 2.0 : 1
      if let ns = runCase.summary(.stepPart(.unet))?.median { return (ns, guided) }
      guard let first = runCase.summary(.stepPart(.unetConditional))?.median else { return nil }
      return (first, 1)
    }
    if stage == "text_encode" {
      // With guidance the empty or negative prompt passes too.
      return runCase.summary(.stage(.textEncode))?.median.map { ($0, (runCase.parameters.guidance ?? 7.5) > 1 ? 2 : 1) }
    }
    return runCase.summary(.stage(Stage(rawValue: stage)))?.median.map { ($0, 1) }
  }
}
