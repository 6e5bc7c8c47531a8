/// The arithmetic of matrix products.
public enum Precision: String, Sendable, CaseIterable, Codable {
  /// Single precision.
  case f32
  /// Both factors of products are rounded to bfloat16, sums are single precision.
  ///
  /// Products are those of linear layers with more than a few rows, of convolutions that are made by direct sums (1 × 1, those
  /// with a stride, and what is too small for Winograd), and the two of attention. Everything else stays in single precision:
  /// 3 × 3 convolutions by Winograd, which do a quarter of the multiplications and would lose too much in bfloat16; the softmax;
  /// norms.
  case bf16
}
