import Checkpoints

extension JSONValue {
  /// A number of 64 bits without sign: whole where it fits, otherwise as its digits would be read back.
  init(unsigned value: UInt64) { self = Int(exactly: value).map { .integer($0) } ?? .number(Double(value)) }

  /// Whole numbers as such, others as they are.
  init(shortest value: Double) { self = Int(exactly: value).map { .integer($0) } ?? .number(value) }
}
