import Checkpoints
import Foundation
import Goldens
import Tensors
import TestSupport
import Testing

@Suite struct NumPyFileTests {
  private static let fixture = Fixtures.folder.appendingPathComponent("checkpoints/numpy")
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func read(_ name: String) throws -> Tensor { try NumPyFile.read(Self.fixture.appendingPathComponent(name).path) }

  @Test func readsWhatNumPyWrites() throws {
    let golden = try GoldenCase(folder: Self.fixture)
    let array = try golden.tensor("output.f32")
    for name in ["f32.npy", "f64.npy", "fortran.npy", "version2.npy"] {
      let tensor = try read(name)
      #expect(tensor.shape == [2, 3, 4], "\(name)")
      #expect(tensor.elements == array.elements, "\(name)")
    }
    #expect(try read("f16.npy").elements == golden.tensor("output.f16").elements)
    #expect(try read("vector.npy").shape == [24])
    #expect(try read("vector.npy").elements == array.elements)
    #expect(try read("scalar.npy").shape == [])
    #expect(try read("scalar.npy").elements == [array.elements[0]])
  }

  @Test func writesWhatNumPyWrites() throws {
    let array = try read("f32.npy")
    try NumPyFile.write(array, to: folder.path("f32.npy"))
    try NumPyFile.write(array.reshaped(to: [24]), to: folder.path("vector.npy"))
    try NumPyFile.write(array.slice(0..<1).reshaped(to: [12]).slice(0..<1).reshaped(to: []), to: folder.path("scalar.npy"))
    // Byte by byte but for the padding of the header.
    for name in ["f32.npy", "vector.npy"] {
      let mine = try Data(contentsOf: URL(fileURLWithPath: folder.path(name)))
      #expect(try mine == Data(contentsOf: Self.fixture.appendingPathComponent(name)), "\(name)")
    }
    #expect(try NumPyFile.read(folder.path("scalar.npy")).elements == read("scalar.npy").elements)
  }

  @Test func refusesOtherTypes() {
    expectFailure(.unsupported, "descr <i8 isn't supported") { _ = try read("int64.npy") }
    expectFailure(.unsupported, "descr >f4 isn't supported") { _ = try read("big-endian.npy") }
    expectFailure(.missing, "can't be opened") { _ = try read("absent.npy") }
  }

  private func file(_ header: String, version: UInt8 = 1, length: UInt16? = nil, data: Int = 8) -> [UInt8] {
    [0x93] + Array("NUMPY".utf8) + [version, 0] + GGUFBuilder.little(length ?? UInt16(header.utf8.count)) + Array(header.utf8)
      + [UInt8](repeating: 0, count: data)
  }

  @Test(arguments: [
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, )}", #"{"shape":(2,),"fortran_order":True,"descr":"<f4",}  "#,
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }\n", "{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
  ])
  func takesEveryForm(_ header: String) throws {
    let tensor = try NumPyFile.read(folder.write(file(header), to: "t.npy"))
    #expect(tensor.elements.allSatisfy { $0 == 0 })
  }

  @Test(arguments: [
    ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "needs 12 bytes of data, found 8"),
    ("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999)}", "isn't possible"),
    ("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "expected descr"),
    ("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "expected descr"),
    ("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "expected descr"),
    ("{'descr': '<f4', 'shape': (2,)}", "expected descr"),
    ("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "expected descr"),
    ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", "expected descr"),
    ("{'descr': '<f4", "expected descr"), ("", "expected descr"),
    ("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", "expected descr"),
  ])
  func refuses(_ header: String, _ text: String) {
    expectFailure(.invalid, text) { _ = try NumPyFile.read(folder.write(file(header), to: "t.npy")) }
  }

  @Test func refusesLyingLengths() {
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
    expectFailure(.invalid, "doesn't fit a file") { _ = try NumPyFile.read(folder.write(file(header, length: 9999), to: "t")) }
    expectFailure(.unsupported, ".npy version 9") { _ = try NumPyFile.read(folder.write(file(header, version: 9), to: "t")) }
    let whole = file(header)
    for length in 0..<whole.count {
      _ = failure("\(length) bytes") { _ = try NumPyFile.read(folder.write(whole.prefix(length), to: "t")) }
    }
  }
}
