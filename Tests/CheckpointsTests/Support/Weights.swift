import Checkpoints
import Foundation
import Tensors

/// Whether two sources hold the same names, shapes and values; nil, or the first difference.
func difference(_ actual: any WeightSource, _ expected: any WeightSource) -> String? {
  let names = (Set(actual.weightNames), Set(expected.weightNames))
  guard names.0 == names.1 else { return "names: \(names.0.symmetricDifference(names.1).sorted().prefix(6))" }
  for name in expected.weightNames {
    guard let a = actual.weight(named: name), let e = expected.weight(named: name) else { return "\(name) is missing" }
    guard a.name == name else { return "\(name) is called \(a.name)" }
    guard a.shape == e.shape else { return "\(name): shape \(a.shape), expected \(e.shape)" }
    guard a.float32().elements == e.float32().elements else { return "\(name): other values" }
  }
  return nil
}

/// Writes a safetensors file from parts, well-formed or not.
func safetensors(header: String, data: [UInt8] = [], length: UInt64? = nil) -> [UInt8] {
  let json = Array(header.utf8)
  return GGUFBuilder.little(length ?? UInt64(json.count)) + json + data
}

/// Rewrites a JSON file by changing its members; nil takes a member out.
func edit(_ path: String, _ changes: [String: JSONValue?]) throws {
  var members = try JSONValue(contentsOf: path).object ?? [:]
  for (key, value) in changes { members[key] = value }
  try AtomicFile.write(JSONValue.object(members).text(), to: path)
}
