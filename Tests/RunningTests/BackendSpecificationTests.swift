import Reporting
import Testing

@testable import Running

/// `--backend`: which engine, and how it's set up.
struct BackendSpecificationTests {
  static let commands: [(String, [String])] = [
    ("python3 x.py", ["python3", "x.py"]),
    ("  a\tb\n c ", ["a", "b", "c"]),
    (#"a 'b c' "d e""#, ["a", "b c", "d e"]),
    (#"a'b'"c"d"#, ["abcd"]),
    (#"a '' """#, ["a", "", ""]),
    (#"a\ b \'c"#, ["a b", "'c"]),
    (#"'a\b' "c\d" "e\"f\\g""#, [#"a\b"#, #"c\d"#, #"e"f\g"#]),
    (#"a "$HOME" `ls` *"#, ["a", "$HOME", "`ls`", "*"]),
    ("проба 'ä ö'", ["проба", "ä ö"]),
  ]

  @Test(arguments: commands)
  func words(_ text: String, _ words: [String]) throws {
    #expect(try CommandWords.split(text) == words)
    #expect(try BackendSpecification(parsing: "proc:" + text).words == words)
  }

  @Test(arguments: ["", "   ", "'a", #"a "b"#, #"a\"#, "'' a"])
  func refusedCommands(_ text: String) {
    #expect(throws: SettingError.self) { try CommandWords.split(text) }
    #expect(throws: SettingError.self) { try BackendSpecification(parsing: "proc:" + text) }
  }

  @Test func settings() throws {
    let reference = try BackendSpecification(parsing: "ref:threads=3,kernels=reference")
    #expect(reference.kind == .reference && reference.threads == 3 && reference.kernels == .reference)
    let program = try BackendSpecification(parsing: "proc,timeout=90s,silence=500ms,threads=2:run a:b,c=d")
    #expect(program.kind == .process && program.words == ["run", "a:b,c=d"] && program.threads == 2)
    #expect(program.timeoutNs == 90_000_000_000 && program.silenceNs == 500_000_000)
    let server = try BackendSpecification(parsing: "llama+http,timeout=1m://127.0.0.1:8080/v?model=a,b")
    #expect(server.kind == .llamaServer && server.address == "127.0.0.1:8080/v?model=a,b" && server.timeoutNs == 60_000_000_000)
    for kind in ["sdcpp+http", "openai+http", "a1111+http"] {
      #expect(try BackendSpecification(parsing: kind + "://host").kind.rawValue == kind)
    }
  }

  @Test(arguments: [
    "", "cloud", "proc", "proc,timeout=1s", "proc,timeout=1:x", "proc,kernels=fast:x", "proc,colour=red:x", "ref,threads=1",
    "ref:timeout=1s",
    "null:threads=0", "llama+http", "llama+http:host", "llama+http://", "llama+http,threads=2://host", "openai+https://host",
  ])
  func refused(_ text: String) {
    #expect(throws: SettingError.self) { try BackendSpecification(parsing: text) }
  }

  static let lists: [(String, [String])] = [
    ("ref", ["ref"]), ("ref,null", ["ref", "null"]),
    ("ref:threads=1,kernels=fast,null", ["ref:threads=1,kernels=fast", "null"]),
    ("ref,proc:python x.py --a b,proc:y", ["ref", "proc:python x.py --a b", "proc:y"]),
    ("proc:run --sizes 1,2,ref", ["proc:run --sizes 1,2", "ref"]),
    ("proc:run 'a,ref',null", ["proc:run 'a,ref'", "null"]),
    (#"proc:run "a,ref\",null",null"#, [#"proc:run "a,ref\",null""#, "null"]),
    (#"proc:run a\,ref,null"#, [#"proc:run a\,ref"#, "null"]),
    ("proc,timeout=1s,silence=2s:run,proc,timeout=3s:go", ["proc,timeout=1s,silence=2s:run", "proc,timeout=3s:go"]),
    ("llama+http://a:1,sdcpp+http,timeout=1s://b:2,ref", ["llama+http://a:1", "sdcpp+http,timeout=1s://b:2", "ref"]),
    ("proc:run a,proc", ["proc:run a,proc"]), ("", [""]), ("ref,", ["ref,"]),
  ]

  @Test(arguments: lists)
  func list(_ text: String, _ list: [String]) { #expect(BackendSpecification.list(text) == list) }

  /// Engines side by side have names that tell them apart.
  @Test func sides() throws {
    let texts = [
      "ref", "proc:python3 scripts/adapters/diffusers_backend.py --a b", "proc:/usr/bin/env python -u x/diffusers_backend.py",
      "proc:genbench serve-stdio", "ref:threads=1", "llama+http://h:1", "proc:'/a b/my engine.bin'", "null",
    ]
    let sides = try RunSide.engines(texts)
    #expect(
      sides.map(\.name) == [
        "ref", "diffusers_backend", "diffusers_backend-2", "genbench", "ref-2", "llama", "my-engine", "null",
      ])
    #expect(sides.map { $0.overrides.text(.backend) } == texts)
    #expect(throws: SettingError.self) { try RunSide.engines(["ref", "cloud"]) }
  }
}
