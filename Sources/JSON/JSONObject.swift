/// The members of a JSON object, in their order.
///
/// Keys are compared scalar by scalar. Two objects are equal when they have the same members in any order.
public struct JSONObject: Sendable, Sequence, ExpressibleByDictionaryLiteral {
  /// A key with its value.
  public typealias Element = (key: String, value: JSONValue)

  private var members: [Element] = []

  /// Makes an object without members.
  public init() {}

  /// Makes an object out of members whose keys differ; they are sorted, since a dictionary has no order.
  public init(_ members: [String: JSONValue]) {
    self.members = members.map { ($0.key, $0.value) }.sorted { $0.key < $1.key }
  }

  /// Makes an object; of equal keys the last one counts.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    for (key, value) in elements { self[key] = value }
  }

  /// Takes members as they were read, repeated keys included.
  init(unchecked members: [Element]) { self.members = members }

  /// The number of members.
  public var count: Int { members.count }
  /// Whether there are none.
  public var isEmpty: Bool { members.isEmpty }
  /// The keys, in order.
  public var keys: [String] { members.map(\.key) }
  /// The values, in order.
  public var values: [JSONValue] { members.map(\.value) }

  /// The members in order.
  public func makeIterator() -> IndexingIterator<[Element]> { members.makeIterator() }

  /// The value of a key, the last one where a key is repeated; setting nil removes it.
  ///
  /// - Complexity: O(*n*) in the number of members.
  public subscript(key: String) -> JSONValue? {
    get { place(of: key).map { members[$0].value } }
    set {
      switch (place(of: key), newValue) {
      case (let place?, let value?): members[place].value = value
      case (let place?, nil): members.remove(at: place)
      case (nil, let value?): members.append((key, value))
      case (nil, nil): break
      }
    }
  }

  private func place(of key: String) -> Int? { members.lastIndex { $0.key.isSameText(as: key) } }

  /// The same object with members replaced or added.
  public func merging(_ others: JSONObject) -> JSONObject {
    var result = self
    for (key, value) in others { result[key] = value }
    return result
  }

  /// The members that meet a condition.
  public func filter(_ isIncluded: (Element) throws -> Bool) rethrows -> JSONObject {
    JSONObject(unchecked: try members.filter(isIncluded))
  }

  /// The members with keys in the order of their scalars, as files are written.
  var sorted: [Element] { members.sorted { $0.key.unicodeScalars.lexicographicallyPrecedes($1.key.unicodeScalars) } }

  /// A key that stands twice; nil when all differ.
  var repeatedKey: String? {
    var seen = Set<[UInt8]>(minimumCapacity: members.count)
    return members.first { !seen.insert(Array($0.key.utf8)).inserted }?.key
  }
}

extension JSONObject: Hashable {
  /// Whether both have the same members, in any order.
  public static func == (left: JSONObject, right: JSONObject) -> Bool {
    guard left.count == right.count else { return false }
    return zip(left.sorted, right.sorted).allSatisfy { $0.key.isSameText(as: $1.key) && $0.value == $1.value }
  }

  /// Hashes the members in an order that doesn't depend on theirs.
  public func hash(into hasher: inout Hasher) {
    for (key, value) in sorted {
      hasher.combine(Array(key.utf8))
      hasher.combine(value)
    }
  }
}

extension JSONObject: Codable {
  /// Reads an object.
  public init(from decoder: any Decoder) throws {
    let value = try JSONValue(from: decoder)
    guard case .object(let object) = value else {
      throw DecodingError.typeMismatch(
        JSONObject.self, .init(codingPath: decoder.codingPath, debugDescription: "expected an object"))
    }
    self = object
  }

  /// Writes the object.
  public func encode(to encoder: any Encoder) throws { try JSONValue.object(self).encode(to: encoder) }
}

extension String {
  /// Whether both have the same scalars, so that canonically equal texts are two.
  func isSameText(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
