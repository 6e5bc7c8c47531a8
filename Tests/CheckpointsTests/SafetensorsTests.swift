import Checkpoints
import Foundation
import Tensors
import TestSupport
import Testing

@Suite struct SafetensorsTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func open(_ header: String, data: [UInt8] = [], length: UInt64? = nil) throws -> SafetensorsFile {
    try SafetensorsFile(path: folder.write(safetensors(header: header, data: data, length: length), to: "t.safetensors"))
  }

  @Test(arguments: [DType.f32, .f16, .bf16])
  func readsWhatItWrites(_ dtype: DType) throws {
    var random = TestRandom(seed: 1)
    let tensors = [
      "b": random.tensor([3, 5]), "a": random.tensor([]), "c": random.tensor([0, 4]), "d": random.tensor([1, 2, 3, 1]),
    ]
    let path = folder.path("t.safetensors")
    try SafetensorsWriter.write(tensors, dtype: dtype, metadata: ["who": "test\n\"x\""], to: path)
    let file = try SafetensorsFile(path: path)
    #expect(file.weightNames == ["a", "b", "c", "d"])
    #expect(file.metadata == ["who": "test\n\"x\""])
    for (name, tensor) in tensors {
      let view = try file.requireWeight(named: name, shape: tensor.shape)
      #expect(view.dtype == dtype)
      let expected = tensor.map {
        switch dtype {
        case .f16: Float(Float16($0))
        case .bf16: Float(bitPattern: UInt32($0.bfloatBits) << 16)
        default: $0
        }
      }
      #expect(view.float32().elements == expected.elements)
    }
    #expect(try folder.names == ["t.safetensors"])
  }

  @Test func copiesMisalignedData() throws {
    // A header whose length is no multiple of 4: old writers didn't pad.
    let header = #"{"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}} "#
    #expect((8 + header.utf8.count) % 4 != 0)
    let file = try open(header, data: GGUFBuilder.little(Float(1.5).bitPattern) + GGUFBuilder.little(Float(-2).bitPattern))
    let view = try file.requireWeight(named: "t", shape: [2])
    #expect(view.float32().elements == [1.5, -2])
    #expect(UInt(bitPattern: view.bytes.baseAddress) % 4 == 0)
  }

  @Test(arguments: [
    (#"{"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#, "outside"),
    (#"{"t":{"dtype":"F32","shape":[1],"data_offsets":[0,3]}}"#, "needs 4 bytes"),
    (#"{"t":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}"#, "outside"),
    (#"{"t":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}"#, "outside"),
    (#"{"t":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}"#, "isn't possible"),
    (#"{"t":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}}"#, "expected dtype"),
    (#"{"t":{"dtype":"F32","shape":[9999999999,9999999999],"data_offsets":[0,4]}}"#, "isn't possible"),
    (#"{"t":{"dtype":"F32","shape":[0,9999999999,9999999999],"data_offsets":[0,0]}}"#, "isn't possible"),
    (#"{"t":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}}"#, "isn't possible"),
    (#"{"t":{"dtype":"F32","shape":[1],"data_offsets":[0]}}"#, "expected dtype"),
    (#"{"t":{"shape":[1],"data_offsets":[0,4]}}"#, "expected dtype"),
    (#"{"t":3}"#, "expected dtype"),
    (#"[1]"#, "JSON object"),
    (#"{"t":"#, "not valid JSON"),
    (
      #"{"t":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"t":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}"#,
      "occurs twice"
    ),
    (#"{"t":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"u":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}}"#, "overlap"),
    (
      #"{"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"u":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}"#,
      "without a tensor"
    ),
    (#"{"t":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}"#, "without a tensor"),
    (#"{"t":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}}"#, "without a tensor"),
    (#"{}"#, "without a tensor"),
  ])
  func refuses(_ header: String, _ message: String) {
    expectFailure(.invalid, message) { _ = try open(header, data: [0, 0, 0, 0]) }
  }

  @Test func refusesUnknownTypes() {
    expectFailure(.unsupported, "dtype F8_E4M3 isn't supported") {
      _ = try open(#"{"t":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}}"#, data: [0, 0, 0, 0])
    }
  }

  @Test func refusesLyingLengths() {
    for length: UInt64 in [3, 1000, 1 << 40, .max, UInt64(Int.max)] {
      expectFailure(.invalid, "") { _ = try open("{}  ", length: length) }
    }
    expectFailure(.invalid, "truncated") { _ = try SafetensorsFile(path: folder.write([1, 2, 3], to: "short")) }
    expectFailure(.invalid, "is empty") { _ = try SafetensorsFile(path: folder.write([], to: "empty")) }
    expectFailure(.missing, "can't be opened") { _ = try SafetensorsFile(path: folder.path("absent")) }
    expectFailure(.invalid, "a file was expected") { _ = try SafetensorsFile(path: folder.url.path) }
  }

  @Test func refusesEveryTruncation() throws {
    try SafetensorsWriter.write(["a": Tensor(zeros: [3, 2]), "b": Tensor(zeros: [2])], to: folder.path("whole"))
    let whole = [UInt8](try Data(contentsOf: folder.url.appendingPathComponent("whole")))
    for length in 0..<whole.count {
      _ = failure("\(length) of \(whole.count) bytes") {
        _ = try SafetensorsFile(path: folder.write(whole.prefix(length), to: "cut"))
      }
    }
  }

  @Test func tellsMissingAndMisshapenWeights() throws {
    let path = folder.path("t.safetensors")
    try SafetensorsWriter.write(["a": Tensor(zeros: [3, 2])], to: path)
    let file = try SafetensorsFile(path: path)
    expectFailure(.invalid, "tensor 'b' is missing (expected shape [1])") { _ = try file.requireWeight(named: "b", shape: [1]) }
    expectFailure(.invalid, "expected shape [2, 3], found [3, 2]") { _ = try file.requireWeight(named: "a", shape: [2, 3]) }
  }

  // MARK: - Values that aren't numbers

  @Test(arguments: [DType.f32, .f16, .bf16], [Float.nan, .infinity, -.infinity])
  func findsNonFiniteValues(_ dtype: DType, _ value: Float) throws {
    var elements = [Float](repeating: 65504, count: 100)
    let path = folder.path("t.safetensors")
    try SafetensorsWriter.write(["a": Tensor([1], shape: [1]), "b": Tensor(elements, shape: [10, 10])], dtype: dtype, to: path)
    #expect(try SafetensorsFile(path: path).firstNonFinite() == nil)
    elements[37] = value
    elements[99] = value
    try SafetensorsWriter.write(["a": Tensor([1], shape: [1]), "b": Tensor(elements, shape: [10, 10])], dtype: dtype, to: path)
    let found = try SafetensorsFile(path: path).firstNonFinite()
    #expect(found?.name == "b" && found?.position == 37)
    expectFailure(.invalid, "position 37") { try SafetensorsFile(path: path).requireFinite() }
  }

  // MARK: - Writing

  @Test func writesPieceByPiece() throws {
    let path = folder.path("t.safetensors")
    let entries: [SafetensorsStreamWriter.Entry] = [
      .init(name: "z", dtype: .f16, shape: [2]), .init(name: "a", dtype: .i64, shape: [1]),
      .init(name: "m", dtype: .f32, shape: [0]),
    ]
    var writer = try SafetensorsStreamWriter(path: path, entries: entries)
    try writer.append(Tensor([0.5, -0.25], shape: [2]))
    #expect(!FileManager.default.fileExists(atPath: path))
    try [Int64(7)].withUnsafeBytes { try writer.append(bytes: $0) }
    try writer.append(Tensor(zeros: [0]))
    try writer.finish()
    let file = try SafetensorsFile(path: path)
    #expect(file.weight(named: "z")?.float32().elements == [0.5, -0.25])
    #expect(file.weight(named: "a")?.dtype == .i64)
    #expect(file.weight(named: "a")?.float32().elements == [7])
    #expect(try folder.names == ["t.safetensors"])
  }

  @Test func leavesNothingBehind() throws {
    let path = folder.path("t.safetensors")
    try AtomicFile.write("old", to: path)
    let entries: [SafetensorsStreamWriter.Entry] = [
      .init(name: "a", dtype: .f32, shape: [2]), .init(name: "b", dtype: .i8, shape: [1]),
    ]
    do {
      var writer = try SafetensorsStreamWriter(path: path, entries: entries)
      try writer.append(Tensor(zeros: [2]))
    }
    #expect(try folder.names == ["t.safetensors"])
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "old")
    expectFailure(.invalid, "2 tensors were announced, found 1") {
      var writer = try SafetensorsStreamWriter(path: path, entries: entries)
      try writer.append(Tensor(zeros: [2]))
      try writer.finish()
    }
    expectFailure(.invalid, "found one of shape [3]") {
      var writer = try SafetensorsStreamWriter(path: path, entries: entries)
      try writer.append(Tensor(zeros: [3]))
    }
    expectFailure(.unsupported, "Float can't be written as i8") {
      var writer = try SafetensorsStreamWriter(path: path, entries: entries)
      try writer.append(Tensor(zeros: [2]))
      try writer.append(Tensor(zeros: [1]))
    }
    expectFailure(.invalid, "3 bytes don't fit") {
      var writer = try SafetensorsStreamWriter(path: path, entries: entries)
      try [UInt8](repeating: 0, count: 3).withUnsafeBytes { try writer.append(bytes: $0) }
    }
    expectFailure(.invalid, "found one more") {
      var writer = try SafetensorsStreamWriter(path: path, entries: [])
      try [UInt8]().withUnsafeBytes { try writer.append(bytes: $0) }
    }
    expectFailure(.invalid, "can't be written twice") {
      _ = try SafetensorsStreamWriter(path: path, entries: [entries[0], entries[0]])
    }
    expectFailure(.unsupported, "safetensors has no q4_0") {
      _ = try SafetensorsStreamWriter(path: path, entries: [.init(name: "q", dtype: .q4_0, shape: [32])])
    }
    expectFailure(.unwritable, "can't be written") {
      try SafetensorsWriter.write(["a": Tensor(zeros: [1])], to: folder.path("absent/t.safetensors"))
    }
    #expect(try folder.names == ["t.safetensors"])
  }
}
