/// Endings for prompts that ask for a kind of picture.
public struct PromptTemplates: Sendable {
  /// A photograph of a subject.
  public static func photorealistic(_ subject: String) -> String {
    "\(subject), photorealistic, 8k, highly detailed, professional photography, natural lighting"
  }

  /// A drawing of a subject.
  public static func illustration(_ subject: String) -> String {
    "\(subject), digital illustration, vibrant colors, clean lines, artstation trending"
  }

  /// A portrait of a subject.
  public static func portrait(_ subject: String) -> String {
    "\(subject), portrait photography, shallow depth of field, studio lighting, sharp focus"
  }
}
