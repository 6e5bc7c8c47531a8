/// Names a tensor in a file of the exchange folder.
package struct TensorReference: Sendable, Hashable, Codable {
  package var file: String
  package var tensor: String

  package init(file: String, tensor: String) {
    self.file = file
    self.tensor = tensor
  }
}
