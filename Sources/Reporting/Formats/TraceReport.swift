import Checkpoints

/// The journal of a run in Chrome's trace format, for ui.perfetto.dev and chrome://tracing.
///
/// One process a session of a case; spans for requests, stages, steps and tokens on a thread a depth; counters for memory.
public enum TraceReport {
  /// The trace as JSON.
  public static func json(_ run: RunDocument, journal: [JournalEvent]) -> String {
    var events: [JSONValue] = []
    var processes: [String: Int] = [:]
    // Sessions follow each other on one time line: each process begins where the one before it ended.
    var starts: [Int: Double] = [:]
    var next = 0.0

    func number(of key: String, in process: JournalEvent.Process) -> Int {
      let session = process.session
      let name = "\(process.subject) \(key) \(session)"
      if let known = processes[name] { return known }
      let number = processes.count + 1
      processes[name] = number
      starts[number] = next
      let label = run.cases.first { $0.key == key }?.caseID ?? key
      events.append(metadata("process_name", number, 0, "\(label), session \(session + 1)"))
      events.append(metadata("process_sort_index", number, 0, nil, sort: number))
      for (thread, title) in [(1, "requests"), (2, "stages"), (3, "parts of steps")] {
        events.append(metadata("thread_name", number, thread, title))
      }
      return number
    }

    for event in journal {
      guard let (origin, key, event) = event.ofCase else { continue }
      let process = number(of: key, in: origin)
      guard let start = starts[process] else { continue }
      switch event {
      case .sample(let sample, let spans, _):
        let from = start + Double(sample.startNs) / 1000
        next = max(next, from + Double(sample.e2eNs) / 1000)
        events.append(
          span(
            sample.prompt.isEmpty ? "load" : sample.prompt, "request", process, 1, from, Double(sample.e2eNs) / 1000,
            [
              "repetition": .integer(sample.repetition), "seed": .string(String(sample.seed)),
              "unaccounted_us": .number(Double(sample.unaccountedNs) / 1000),
            ]))
        for place in spans.stage.indices {
          let name = spans.names.indices.contains(spans.stage[place]) ? spans.names[spans.stage[place]] : "?"
          let index = spans.index[place]
          events.append(
            span(
              index >= 0 && (name == "step" || name == "decode") ? "\(name) \(index + 1)" : name, "stage", process,
              2 + spans.depth[place], start + Double(spans.startNs[place]) / 1000, Double(spans.ns[place]) / 1000, [:]))
        }
      case .end(let end):
        if let memory = end.memory {
          for (place, time) in memory.tNs.enumerated() {
            var values: [String: JSONValue] = [:]
            if let value = memory.anonymousBytes[place] { values["anonymous MiB"] = mebibytes(value) }
            if let value = memory.mappedBytes[place] { values["mapped MiB"] = mebibytes(value) }
            if values.isEmpty, let value = memory.rssBytes[place] { values["resident MiB"] = mebibytes(value) }
            if values.isEmpty { continue }
            next = max(next, start + Double(time) / 1000)
            events.append([
              "ph": "C", "name": "memory", "pid": .integer(process), "tid": 0, "ts": .number(start + Double(time) / 1000),
              "args": .object(values),
            ])
          }
        }
        if end.status != .pass {
          events.append([
            "ph": "i", "s": "p", "name": .string("\(end.status.rawValue): \(end.reason ?? "")"), "pid": .integer(process),
            "tid": 1,
            "ts": .number(next),
          ])
        }
      case .start, .gate, .warmup, .warning: continue
      }
    }
    let root: JSONValue = [
      "displayTimeUnit": "ms",
      "otherData": .object([
        "run_id": .string(run.runID), "tool": .string("genbench \(run.tool.version)"),
        "faults": .array(run.faults.map { .string($0) }),
      ]),
      "traceEvents": .array(events),
    ]
    return root.text(indent: nil) + "\n"
  }

  private static func mebibytes(_ bytes: UInt64) -> JSONValue { .number(Double(bytes) / 1_048_576) }

  private static func metadata(_ kind: String, _ process: Int, _ thread: Int, _ name: String?, sort: Int? = nil) -> JSONValue {
    let arguments: JSONValue = name.map { ["name": .string($0)] } ?? ["sort_index": .integer(sort ?? 0)]
    return ["ph": "M", "name": .string(kind), "pid": .integer(process), "tid": .integer(thread), "args": arguments]
  }

  private static func span(
    _ name: String, _ category: String, _ process: Int, _ thread: Int, _ start: Double, _ duration: Double,
    _ arguments: [String: JSONValue]
  ) -> JSONValue {
    [
      "ph": "X", "name": .string(name), "cat": .string(category), "pid": .integer(process), "tid": .integer(thread),
      "ts": .number(start), "dur": .number(duration), "args": .object(arguments),
    ]
  }
}
