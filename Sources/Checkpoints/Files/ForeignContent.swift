/// Recognises what lies where a model file should be: pointers, pages of errors, archives, pickles.
public enum ForeignContent {
  /// What a file should be.
  public enum Expectation: Sendable, Hashable {
    /// A safetensors file.
    case safetensors
    /// A GGUF file.
    case gguf
    /// A JSON document.
    case json
    /// A page of HTML, which may be what it is.
    case html
    /// Something else.
    case other

    /// What the ending of a name promises.
    public init(name: String) {
      let name = name.lowercased()
      self =
        name.hasSuffix(".safetensors")
        ? .safetensors
        : name.hasSuffix(".gguf")
          ? .gguf : name.hasSuffix(".json") ? .json : name.hasSuffix(".html") || name.hasSuffix(".htm") ? .html : .other
    }

    /// The fewest bytes that such a file can have.
    ///
    /// safetensors: a length and `{}`; GGUF: magic, version and two counts; JSON: a digit.
    var fewestBytes: Int {
      switch self {
      case .safetensors: 10
      case .gguf: 24
      case .json: 1
      case .html, .other: 0
      }
    }
  }

  /// The bytes from the beginning of a file that tell its kind.
  public static let startLength = 512

  /// What is wrong with a file, and what to do; nil when nothing is to be seen from its beginning.
  ///
  /// - Parameters:
  ///   - start: Its first bytes, ``startLength`` of them or all.
  ///   - byteCount: Its size.
  ///   - expected: What it should be.
  public static func problem(_ start: some Collection<UInt8>, byteCount: Int, expected: Expectation) -> String? {
    if let kind = kind(Array(start.prefix(startLength)), expected: expected) { return kind }
    guard byteCount < expected.fewestBytes else { return nil }
    return byteCount == 0
      ? "the file is empty; download it again"
      : "\(byteCount) bytes are too few for \(name(of: expected)); the file is cut off, download it again"
  }

  private static func name(of expected: Expectation) -> String {
    switch expected {
    case .safetensors: "a safetensors file"
    case .gguf: "a GGUF file"
    case .json: "a JSON document"
    case .html, .other: "a model"
    }
  }

  /// The foreign kind that the bytes are of.
  private static func kind(_ start: [UInt8], expected: Expectation) -> String? {
    let isWeights = expected == .safetensors || expected == .gguf
    let text = String(decoding: start, as: UTF8.self).lowercased().drop { $0.isWhitespace || $0 == "\u{feff}" }
    if text.hasPrefix("version https://git-lfs.github.com/spec/") {
      return "a pointer of Git LFS, not the content; run 'git lfs pull' in the clone, or take the address that gives the content"
    }
    if expected != .html, ["<!doctype html", "<html", "<head"].contains(where: { text.hasPrefix($0) }) {
      return "a page of HTML in place of the file; the address leads to a page, or the network wants a login"
    }
    guard isWeights else { return nil }
    if expected == .gguf, start.starts(with: "GGUF".utf8) { return nil }
    // A length of eight bytes, then the JSON header.
    if expected == .safetensors, start.count >= 10, start[8] == UInt8(ascii: "{") { return nil }
    if text.hasPrefix("<") { return "a page of XML in place of the file; the server's message is in it" }
    if text.hasPrefix("{") || text.hasPrefix("[") {
      return "a JSON document in place of the file: an index, a configuration, or a server's message of an error; look into it"
    }
    let marks: [([UInt8], String)] = [
      ([0x1f, 0x8b], "packed with gzip; unpack it first (gunzip)"),
      ([0xfd, 0x37, 0x7a, 0x58, 0x5a], "packed with xz; unpack it first"),
      ([0x28, 0xb5, 0x2f, 0xfd], "packed with zstd; unpack it first"), (Array("BZh".utf8), "packed with bzip2; unpack it first"),
      ([0x37, 0x7a, 0xbc, 0xaf], "a 7z archive; unpack it first"),
      (
        Array("PK".utf8),
        "a zip archive, as pickled checkpoints of PyTorch (.ckpt, .pt, .bin) are; unpack an archive, and convert a checkpoint: "
          + "safetensors.torch.save_file(torch.load(path, weights_only=True), out)"
      ),
      (
        Array("GGUF".utf8),
        "a GGUF file under another name; name it .gguf"
      ),
      (Array("lmgg".utf8), "a GGML file, older than GGUF; convert it with llama.cpp"),
      (Array("tjgg".utf8), "a GGJT file, older than GGUF; convert it with llama.cpp"),
      (Array("\u{89}HDF".unicodeScalars.map { UInt8($0.value) }), "an HDF5 file of Keras; take the safetensors of this model"),
    ]
    if let mark = marks.first(where: { start.starts(with: $0.0) }) { return mark.1 }
    if start.count >= 2, start[0] == 0x80, (2...5).contains(start[1]) {
      return "a pickle of PyTorch (.ckpt, .pt, .bin), which can run code and isn't read; convert it: "
        + "safetensors.torch.save_file(torch.load(path, weights_only=True), out)"
    }
    if expected == .gguf, start.count >= 10, start[8] == UInt8(ascii: "{") {
      return "a safetensors file under another name; name it .safetensors"
    }
    for message in [
      "entry not found", "not found", "access to model", "invalid username or password", "unauthorized", "forbidden",
    ]
    where text.hasPrefix(message) {
      return "a server's message in place of the file: '\(text.prefix(80).prefix { !$0.isNewline })'"
    }
    return nil
  }
}
