/// The id of each token, by the exact scalars of its text.
///
/// Swift compares strings by canonical equivalence; vocabularies don't.
struct TokenIndex: Sendable {
  private struct Key: Hashable {
    var text: String

    static func == (left: Key, right: Key) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    func hash(into hasher: inout Hasher) {
      var text = text
      text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
  }

  private var ids: [Key: Int32] = [:]

  init(capacity: Int) { ids.reserveCapacity(capacity) }

  subscript(_ token: String) -> Int32? {
    get { ids[Key(text: token)] }
    set { ids[Key(text: token)] = newValue }
  }
}
