import TestSupport
import Testing

@testable import Tensors

/// Tensors as values, their layout, and their views.
struct TensorTests {
  @Test func copiesAreIndependent() {
    let original = Tensor([1, 2, 3, 4], shape: [2, 2])
    var copy = original
    copy[flat: 0] = 9
    #expect(original.elements == [1, 2, 3, 4])
    #expect(copy.elements == [9, 2, 3, 4])
    var reshaped = original.reshaped(to: [4])
    reshaped.withUnsafeMutableBuffer { $0[3] = -1 }
    #expect(original.elements == [1, 2, 3, 4])
    #expect(reshaped.elements == [1, 2, 3, -1])
  }

  @Test func uniqueTensorsAreWrittenInPlace() {
    var tensor = Tensor(zeros: [8])
    let before = tensor.withUnsafeBuffer { $0.baseAddress }
    tensor[flat: 1] = 1
    #expect(tensor.withUnsafeBuffer { $0.baseAddress } == before)
  }

  @Test func scalarsAndEmptyTensors() {
    let scalar = Tensor([3], shape: [])
    #expect(scalar.count == 1 && scalar.shape.rank == 0)
    let empty = Tensor([], shape: [0, 3])
    #expect(empty.count == 0 && empty.elements.isEmpty)
    #expect(empty.map { $0 + 1 }.shape == [0, 3])
    #expect(!empty.hasNonFinite)
  }

  @Test func slicesAndJoins() {
    let tensor = Tensor((0..<12).map(Float.init), shape: [3, 2, 2])
    #expect(tensor.slice(1..<3).elements == (4..<12).map(Float.init))
    #expect(tensor.slice(1..<1).shape == [0, 2, 2])
    #expect(Tensor.concatenated([tensor.slice(0..<1), tensor.slice(1..<3)]).elements == tensor.elements)
    let left = Tensor([1, 2, 3, 4], shape: [2, 2])
    let right = Tensor([5, 6], shape: [2, 1])
    let joined = Tensor.concatenatedLastAxis([left, right])
    #expect(joined.shape == [2, 3])
    #expect(joined.elements == [1, 2, 5, 3, 4, 6])
  }

  @Test func channelOrdersAreInverse() {
    var random = TestRandom(seed: 1)
    let tensor = random.tensor([2, 3, 4, 5])
    let last = tensor.channelsLast()
    #expect(last.shape == [2, 4, 5, 3])
    #expect(last.channelsFirst().elements == tensor.elements)
    // [n, c, h, w] = [1, 2, 3, 4] lies at [n, h, w, c].
    #expect(last[flat: ((1 * 4 + 3) * 5 + 4) * 3 + 2] == tensor[flat: ((1 * 3 + 2) * 4 + 3) * 5 + 4])
  }

  @Test func mapsAndZips() {
    let tensor = Tensor([1, -2, 3], shape: [3])
    #expect(tensor.map { $0 * 2 }.elements == [2, -4, 6])
    #expect(tensor.zip(Tensor([10, 20, 30], shape: [3])) { $0 - $1 }.elements == [-9, -22, -27])
  }

  @Test(arguments: [Float.nan, .infinity, -.infinity])
  func nonFiniteElementsAreSeen(_ value: Float) {
    #expect(Tensor([0, value], shape: [2]).hasNonFinite)
    #expect(!Tensor([0, Float.greatestFiniteMagnitude], shape: [2]).hasNonFinite)
  }

  @Test func wrongShapesTrap() async {
    await #expect(processExitsWith: .failure) { _ = Tensor([1, 2], shape: [3]) }
    await #expect(processExitsWith: .failure) { _ = Tensor(zeros: [4]).reshaped(to: [5]) }
    await #expect(processExitsWith: .failure) { _ = Tensor(zeros: [4]).slice(3..<6) }
    await #expect(processExitsWith: .failure) { _ = Tensor(zeros: [4]).zip(Tensor(zeros: [5])) { $0 + $1 } }
  }

  @Test func shapesCountFromTheEnd() {
    let shape: Shape = [1, 4, 6, 5]
    #expect(shape[-1] == 5 && shape[1] == 4 && shape.rank == 4 && shape.elementCount == 120)
    #expect("\(shape)" == "[1, 4, 6, 5]")
    #expect(Shape([]).elementCount == 1)
  }
}
