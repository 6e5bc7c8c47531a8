public import Tensors

/// Reads and writes `.npy` files of real numbers.
///
/// Layout: `\x93NUMPY`, version, header length, a Python dictionary with `descr`, `fortran_order` and `shape`, the data.
/// Source: NumPy Enhancement Proposal 1, versions 1 to 3.
public enum NumPyFile {
  private static let magic: [UInt8] = [0x93] + Array("NUMPY".utf8)
  private static let dtypes: [String: DType] = ["<f4": .f32, "<f8": .f64, "<f2": .f16]

  // MARK: - Reading

  /// Reads a file; half and double precision are converted.
  ///
  /// - Throws: ``CheckpointError``.
  public static func read(_ path: String) throws(CheckpointError) -> Tensor {
    let file = try MappedFile(path: path)
    func invalid(_ message: String) -> CheckpointError { CheckpointError(.invalid, file: path, message) }
    guard file.bytes.count >= 10, file.bytes.prefix(6).elementsEqual(magic) else {
      throw invalid("expected a .npy file (it starts with \\x93NUMPY), found something else; write one with numpy.save")
    }
    let major = file.bytes[6]
    guard (1...3).contains(major) else { throw CheckpointError(.unsupported, file: path, ".npy version \(major) isn't known") }
    guard major == 1 || file.bytes.count >= 12 else { throw invalid("the header is truncated") }
    let headerStart = major == 1 ? 10 : 12
    let headerLength =
      major == 1
      ? Int(UInt16(littleEndian: file.bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self)))
      : Int(UInt32(littleEndian: file.bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self)))
    guard headerLength <= min(file.bytes.count - headerStart, 1 << 16) else {
      throw invalid("header: length \(headerLength) doesn't fit a file of \(file.bytes.count) bytes; it's truncated")
    }
    let dataStart = headerStart + headerLength
    let text = String(decoding: file.bytes[headerStart..<dataStart], as: UTF8.self)
    guard let header = NumPyHeader(text) else {
      throw invalid("header: expected descr, fortran_order and shape, found \(text.prefix(120))")
    }
    guard let dtype = dtypes[header.descr] else {
      throw CheckpointError(
        .unsupported, file: path,
        "descr \(header.descr) isn't supported (known: <f4 <f8 <f2); save it with array.astype(numpy.float32)")
    }
    guard let shape = Shape(validating: header.shape), let size = dtype.byteCount(elements: shape.elementCount) else {
      throw invalid("header: shape \(header.shape) isn't possible")
    }
    guard size == file.bytes.count - dataStart else {
      throw invalid("shape \(shape) of \(header.descr) needs \(size) bytes of data, found \(file.bytes.count - dataStart)")
    }
    let bytes = UnsafeRawBufferPointer(rebasing: file.bytes[dataStart...])
    guard header.isFortranOrder, shape.rank > 1 else {
      return WeightView(name: path, dtype: dtype, shape: shape, bytes: bytes, owner: file).float32()
    }
    let reversed = Shape(shape.dimensions.reversed())
    return WeightView(name: path, dtype: dtype, shape: reversed, bytes: bytes, owner: file).float32().axesReversed()
  }

  // MARK: - Writing

  /// Writes a file of version 1.0 in single precision, to a temporary file that is then renamed.
  ///
  /// - Throws: ``CheckpointError`` `.unwritable`.
  public static func write(_ tensor: Tensor, to path: String) throws(CheckpointError) {
    let extents = tensor.shape.dimensions.map(String.init).joined(separator: ", ")
    let shape = tensor.shape.rank == 1 ? "(\(extents),)" : "(\(extents))"
    var header = Array("{'descr': '<f4', 'fortran_order': False, 'shape': \(shape), }".utf8)
    while (10 + header.count + 1) % 64 != 0 { header.append(UInt8(ascii: " ")) }
    header.append(UInt8(ascii: "\n"))
    let start = magic + [1, 0, UInt8(header.count & 0xFF), UInt8(header.count >> 8)] + header
    var stream = try AtomicFileStream(path: path)
    try stream.write(start)
    try stream.write(tensor)
    try stream.commit()
  }
}

/// The dictionary in front of the data.
private struct NumPyHeader {
  var descr: String
  var isFortranOrder: Bool
  var shape: [Int]

  /// Reads exactly what NumPy writes: quotes of either kind, any order, a comma after the last member or not.
  init?(_ text: String) {
    var scanner = Scanner(text: Array(text.unicodeScalars))
    var values: [String: Scanner.Value] = [:]
    guard scanner.take("{") else { return nil }
    while !scanner.take("}") {
      guard let key = scanner.quoted(), scanner.take(":"), let value = scanner.value() else { return nil }
      guard values.updateValue(value, forKey: key) == nil else { return nil }
      if !scanner.take(",") {
        guard scanner.take("}") else { return nil }
        break
      }
    }
    guard scanner.isAtEnd, case .string(let descr)? = values["descr"], case .bool(let fortran)? = values["fortran_order"],
      case .tuple(let shape)? = values["shape"]
    else { return nil }
    self.descr = descr
    isFortranOrder = fortran
    self.shape = shape
  }

  struct Scanner {
    enum Value {
      case string(String)
      case bool(Bool)
      case tuple([Int])
    }

    let text: [Unicode.Scalar]
    var position = 0

    private mutating func skipSpace() {
      while position < text.count, text[position].properties.isWhitespace { position += 1 }
    }

    var isAtEnd: Bool {
      mutating get {
        skipSpace()
        return position == text.count
      }
    }

    mutating func take(_ word: String) -> Bool {
      skipSpace()
      let scalars = Array(word.unicodeScalars)
      guard text[position...].starts(with: scalars) else { return false }
      position += scalars.count
      return true
    }

    mutating func quoted() -> String? {
      let quote: Unicode.Scalar
      if take("'") {
        quote = "'"
      } else if take("\"") {
        quote = "\""
      } else {
        return nil
      }
      guard let end = text[position...].firstIndex(of: quote) else { return nil }
      defer { position = end + 1 }
      var result = String.UnicodeScalarView()
      result.append(contentsOf: text[position..<end])
      return String(result)
    }

    mutating func value() -> Value? {
      if take("True") { return .bool(true) }
      if take("False") { return .bool(false) }
      if take("(") { return tuple() }
      return quoted().map { .string($0) }
    }

    private mutating func tuple() -> Value? {
      var values: [Int] = []
      while !take(")") {
        let start = position
        while position < text.count, ("0"..."9").contains(text[position]) { position += 1 }
        var digits = String.UnicodeScalarView()
        digits.append(contentsOf: text[start..<position])
        guard let value = Int(String(digits)) else { return nil }
        values.append(value)
        if !take(",") {
          guard take(")") else { return nil }
          break
        }
      }
      return .tuple(values)
    }
  }
}

extension Tensor {
  /// The tensor with its axes in reverse order: what a Fortran-ordered file holds.
  fileprivate func axesReversed() -> Tensor {
    let extents = Array(shape.dimensions.reversed())
    // The stride, in this tensor, of each axis of the result.
    var strides = [Int](repeating: 1, count: extents.count)
    for axis in 1..<max(1, extents.count) { strides[axis] = strides[axis - 1] * extents[axis - 1] }
    return Tensor(shape: Shape(extents)) { target in
      withUnsafeBuffer { source in
        var index = [Int](repeating: 0, count: extents.count)
        for position in target.indices {
          var offset = 0
          for axis in index.indices { offset += index[axis] * strides[axis] }
          target.initializeElement(at: position, to: source[offset])
          var axis = extents.count - 1
          while axis >= 0 {
            index[axis] += 1
            if index[axis] < extents[axis] { break }
            index[axis] = 0
            axis -= 1
          }
        }
      }
    }
  }
}
