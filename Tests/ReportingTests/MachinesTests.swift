import Foundation
import Measurement
import Testing

@testable import Reporting

@Suite struct RunMergeTests {
  private func part(_ index: Int, of count: Int, plan: String = "p", machine: String = "here") -> RunMerge.Part {
    var run = emptyRun(machine: machine)
    run.runID = "run-\(index)-\(machine)"
    run.planHash = plan
    run.shard = .init(index: index, count: count)
    run.status = .complete
    run.exit = .init(code: 0, reason: nil)
    var runCase = RunCase(caseID: "case-\(index)", subject: "s", parameters: .init())
    runCase.status = .pass
    run.cases = [runCase]
    return RunMerge.Part(name: "part-\(index)", run: run, folder: nil)
  }

  @Test func partsMakeOneRunThatKnowsItsMachines() throws {
    let merged = try RunMerge.merge([part(2, of: 3), part(1, of: 3), part(3, of: 3, machine: "there")], anyway: false)
    #expect(merged.cases.map(\.caseID) == ["case-1", "case-2", "case-3"] && merged.shard == nil)
    #expect(merged.parents.map(\.runID) == ["run-2-here", "run-1-here", "run-3-there"])
    #expect(merged.cases.map(\.machineID) == ["here", "here", "there"] && merged.status == .complete && merged.exit.code == 0)
    #expect(merged.environment(of: merged.cases[2]).machineID == "there")
    #expect(try RunDocument(json: Data(merged.json().utf8)) == merged)
  }

  @Test func holesDuplicatesAndOtherPlansAreRefused() throws {
    let hole = #expect(throws: RunMergeError.self) { try RunMerge.merge([part(1, of: 3), part(3, of: 3)], anyway: false) }
    #expect(hole?.isIncomplete == true && hole?.message.contains("2/3") == true)
    let twice = #expect(throws: RunMergeError.self) {
      try RunMerge.merge([part(1, of: 2), part(1, of: 2), part(2, of: 2)], anyway: false)
    }
    #expect(twice?.isIncomplete == false && twice?.message.contains("there twice: 1/2") == true)
    let mixed = #expect(throws: RunMergeError.self) {
      try RunMerge.merge([part(1, of: 2), part(2, of: 2, plan: "q")], anyway: false)
    }
    #expect(mixed?.message.contains("2 plans") == true)
    #expect(throws: RunMergeError.self) { try RunMerge.merge([part(1, of: 2), part(2, of: 3)], anyway: false) }
    var open = part(2, of: 2)
    open.run.status = .incomplete
    #expect(throws: RunMergeError.self) { try RunMerge.merge([part(1, of: 2), open], anyway: false) }
    #expect(throws: RunMergeError.self) { try RunMerge.merge([], anyway: false) }
    let forced = try RunMerge.merge([part(1, of: 3), part(1, of: 3), part(3, of: 3, plan: "q")], anyway: true)
    #expect(forced.warnings.count == 3 && forced.status == .incomplete && forced.cases.map(\.caseID) == ["case-1", "case-3"])
  }

  @Test func theWorstEndCounts() throws {
    var bad = part(2, of: 2)
    bad.run.exit = .init(code: 7, reason: "wrong")
    #expect(try RunMerge.merge([part(1, of: 2), bad], anyway: false).exit.code == 7)
  }

  @Test func filesOfPartsStayWithinTheFolder() throws {
    let root = FileManager.default.temporaryDirectory.appendingPathComponent("genbench-merge-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: root) }
    let source = root.appendingPathComponent("part/images")
    let target = root.appendingPathComponent("merged")
    for folder in [source, target] { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
    try Data("x".utf8).write(to: source.appendingPathComponent("a.png"))
    try Data("secret".utf8).write(to: root.appendingPathComponent("secret"))
    try Data("line\n".utf8).write(to: root.appendingPathComponent("part/journal.jsonl"))
    var part = part(1, of: 1)
    part.folder = root.appendingPathComponent("part")
    part.run.cases[0].artifacts = ["images/a.png", "../secret", "/etc/hostname"]
    try RunMerge.copyFiles(of: part, to: target)
    #expect(FileManager.default.fileExists(atPath: target.appendingPathComponent("images/a.png").path))
    #expect(try FileManager.default.contentsOfDirectory(atPath: target.path).sorted() == ["images", "journal.jsonl"])
  }
}

@Suite struct JobFileTests {
  private let words = [
    "run", "--variant", "sd15", "--shards", "3", "--emit=slurm", "--label", "why=it's \"me\" $HOME", "-o", "x y", "--dry-run",
  ]

  private func job() -> JobFile { JobFile(words: words, shards: 3, out: "x y") }

  @Test func optionsOfTheWholeAreLeftOut() {
    for kind in JobFile.Kind.allCases {
      let text = job().text(kind)
      #expect(text.contains("--variant") && !text.contains("--emit") && !text.contains("--shards") && !text.contains("--dry-run"))
    }
  }

  /// The shell itself says whether the script is one, and what the parts' words are.
  @Test(arguments: [JobFile.Kind.slurm, .parallel]) func shellsReadTheScripts(kind: JobFile.Kind) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("genbench-job-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // Stand-ins that do what sbatch and parallel do with their words, in order.
    let genbench = "#!/bin/bash\nprintf '%s|' \"$@\" >> \"$LOG\"; echo >> \"$LOG\"\n"
    let sbatch =
      "#!/bin/bash\ncat > job.sh\nif [[ \" $* \" == *--array=1-3* ]]; then for i in 1 2 3; do SLURM_ARRAY_TASK_ID=$i bash job.sh; done; else bash job.sh; fi\necho 42\n"
    let parallel = """
      #!/bin/bash
      [[ " $* " == *" --quote "* ]] || exit 9
      while [[ "$1" != *genbench ]]; do shift; done
      words=(); while [[ "$1" != ::: ]]; do words+=("$1"); shift; done; shift
      for i in "$@"; do "${words[@]//\\{\\}/$i}"; done
      """
    for (name, text) in [("genbench", genbench), ("sbatch", sbatch), ("parallel", parallel)] {
      let file = folder.appendingPathComponent(name)
      try Data(text.utf8).write(to: file)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
    }
    try Data(job().text(kind).utf8).write(to: folder.appendingPathComponent("script.sh"))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = ["script.sh"]
    process.currentDirectoryURL = folder
    let log = folder.appendingPathComponent("log").path
    process.environment = [
      "PATH": "\(folder.path):/usr/bin:/bin", "GENBENCH": folder.appendingPathComponent("genbench").path, "LOG": log, "HOME": "/",
    ]
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let lines = String(decoding: try Data(contentsOf: URL(fileURLWithPath: log)), as: UTF8.self).split(separator: "\n").map(
      String.init)
    #expect(lines.count == 4, "three parts and the merge: \(lines)")
    for (index, line) in lines.prefix(3).enumerated() {
      #expect(
        line == "run|--shard|\(index + 1)/3|--out|x y-parts/\(index + 1)|--variant|sd15|--label|why=it's \"me\" $HOME|", "\(line)"
      )
    }
    #expect(lines.last == "run|--out|x y|--merge|x y-parts/1|--merge|x y-parts/2|--merge|x y-parts/3|")
  }
}
