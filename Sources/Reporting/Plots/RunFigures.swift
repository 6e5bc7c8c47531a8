import Foundation
import Markup
import Measurement

/// The figures of a run.
public enum RunFigures {
  /// The time of each step: the median over all images, and a band from the 10th to the 90th percentile; nil without steps.
  public static func stepTimes(_ run: RunDocument) -> Gnuplot.Figure? {
    var blocks: [String] = []
    var plots: [String] = []
    var longest = 0
    for runCase in run.cases {
      let samples = runCase.sessions.flatMap(\.samples).map(\.stepsNs)
      let count = samples.map(\.count).max() ?? 0
      if count == 0 { continue }
      longest = max(longest, count)
      var lines = ["# \(GnuplotText.comment(runCase.displayName)): step, median ms, 10th percentile, 90th percentile"]
      for step in 0..<count {
        let values = samples.compactMap { $0.indices.contains(step) ? Double($0[step]) / 1e6 : nil }
        guard let median = Statistics.median(values), let low = Statistics.quantile(values, 0.1),
          let high = Statistics.quantile(values, 0.9)
        else { continue }
        lines.append("\(step + 1) \(PlotStyle.number(median)) \(PlotStyle.number(low)) \(PlotStyle.number(high))")
      }
      let index = blocks.count
      let rgb = PlotStyle.colour(index)
      plots.append(
        "'steps.dat' index \(index) using 1:3:4 with filledcurves fill transparent solid 0.15 noborder lc rgb \(rgb) notitle")
      plots.append(
        "'steps.dat' index \(index) using 1:2 with linespoints pt 7 ps 0.5 lw 2 lc rgb \(rgb) "
          + "title \(GnuplotText.quoted(runCase.displayName))")
      blocks.append(lines.joined(separator: "\n"))
    }
    if blocks.isEmpty { return nil }
    return Gnuplot.Figure(
      name: "steps", data: blocks.joined(separator: "\n\n\n") + "\n",
      commands: """
        set title 'Time of each denoising step: median over images, band from the 10th to the 90th percentile'
        set xlabel 'step'
        set ylabel 'ms'
        set yrange [0:*]
        set xtics \(longest > 40 ? 5 : 1)
        plot \(plots.joined(separator: ", \\\n  "))
        """)
  }

  /// Memory over the time of the run, with the cases marked; nil when none was measured.
  public static func memory(_ run: RunDocument) -> Gnuplot.Figure? {
    var rows: [String] = ["# seconds, resident MiB, anonymous MiB, mapped MiB; one block a case"]
    var marks: [String] = []
    var plots: [String] = []
    let columns = [(2, "resident", 0), (3, "anonymous (activations, heap)", 1), (4, "mapped (weights)", 2)]
    var offset = 0.0
    var blockCount = 0
    var labelled: Double?
    let whole = run.cases.compactMap { $0.sessions.first?.memory?.tNs.last }.reduce(0) { $0 + Double($1) / 1e9 }
    for runCase in run.cases {
      for session in runCase.sessions.prefix(1) {
        guard let memory = session.memory, memory.rssBytes.contains(where: { $0 != nil }) else { continue }
        if blockCount > 0 { rows += ["", ""] }
        marks.append(
          "set arrow from \(PlotStyle.number(offset)), graph 0 to \(PlotStyle.number(offset)), graph 1 nohead dt 2 lc rgb '#888888'"
        )
        // Short cases stand too near to each other for a name each.
        if labelled.map({ offset - $0 > whole * 0.02 }) ?? true {
          labelled = offset
          marks.append(
            "set label \(GnuplotText.quoted(runCase.displayName)) at \(PlotStyle.number(offset)), graph 0.98 right rotate by 90 offset 0.6,0 font ',8' noenhanced"
          )
        }
        rows.append("# \(GnuplotText.comment(runCase.displayName))")
        for (index, time) in memory.tNs.enumerated() {
          let values = [memory.rssBytes[index], memory.anonymousBytes[index], memory.mappedBytes[index]]
          let cells = values.map { $0.map { PlotStyle.number(Double($0) / 1_048_576) } ?? "nan" }
          rows.append("\(PlotStyle.number(offset + Double(time) / 1e9)) \(cells.joined(separator: " "))")
        }
        for (column, title, colourIndex) in columns {
          let name = blockCount == 0 ? "title \(GnuplotText.quoted(title))" : "notitle"
          plots.append(
            "'memory.dat' index \(blockCount) using 1:\(column) with lines lw 2 lc rgb \(PlotStyle.colour(colourIndex)) \(name)"
          )
        }
        offset += Double(memory.tNs.last ?? 0) / 1e9
        blockCount += 1
      }
    }
    if blockCount == 0 { return nil }
    return Gnuplot.Figure(
      name: "memory", data: rows.joined(separator: "\n") + "\n",
      commands: """
        set title 'Memory over time, the first session of each case'
        set xlabel 's'
        set ylabel 'MiB'
        set yrange [0:*]
        set xrange [0:*]
        \(marks.joined(separator: "\n"))
        plot \(plots.joined(separator: ", \\\n  "))
        """)
  }
}
