import Checkpoints
import DiffusionModels
import GenBackend
import KernelContract
import Tensors
import Tokenizers

/// The text as the UNet wants it.
struct PromptEmbeddings: Sendable {
  /// `[1, S, crossAttentionDim]`.
  var sequence: Tensor
  /// `[1, pooledDim]`, for XL.
  var pooled: Tensor?
}

/// Tokens of a prompt for one text encoder, in windows of 77.
struct PromptTokens: Sendable {
  var windows: [[Int]]
  var droppedTokens: Int
}

/// Prompt to embeddings, as diffusers' `encode_prompt` of the Stable Diffusion and Stable Diffusion XL pipelines does it.
struct PromptEncoder {
  let networks: DiffusionNetworks
  let tokenizers: [CLIPTokenizer]

  /// Ids of a prompt for each encoder.
  ///
  /// - Parameter name: What messages call it: `prompt`, `negative prompt`.
  /// - Throws: `BackendError` `invalidInput` when the prompt is too long and `longPrompt` says `error`.
  func tokenize(_ prompt: String, name: String, longPrompt: ImageRequest.LongPrompt) throws -> [PromptTokens] {
    try tokenizers.enumerated().map { index, tokenizer in
      let config = index == 0 ? networks.checkpoint.textEncoder.config : networks.checkpoint.textEncoder2?.config
      let length = config?.maxPositionEmbeddings ?? CLIPTokenizer.contextLength
      if longPrompt == .chunk {
        return PromptTokens(windows: try tokenizer.chunks(prompt, of: length - 2), droppedTokens: 0)
      }
      let encoding = try tokenizer.encodePadded(prompt, maxLength: length)
      if longPrompt == .error, encoding.droppedTokenCount > 0 {
        throw BackendError(
          .invalidInput,
          "\(name): at most \(length - 2) tokens fit, \(encoding.droppedTokenCount) too many; shorten it or allow truncation or chunks"
        )
      }
      return PromptTokens(windows: [encoding.ids], droppedTokens: encoding.droppedTokenCount)
    }
  }

  /// Lengthens a list of windows with empty ones, so that prompt and negative prompt are equally long.
  func padded(_ tokens: [PromptTokens], toWindows count: Int) throws -> [PromptTokens] {
    try zip(tokens, tokenizers).enumerated().map { index, pair in
      var (tokens, tokenizer) = pair
      let length = tokens.windows.first?.count ?? CLIPTokenizer.contextLength
      let empty = try tokenizer.encodePadded("", maxLength: length).ids
      while tokens.windows.count < count { tokens.windows.append(empty) }
      return tokens
    }
  }

  /// Runs the encoders.
  ///
  /// Stable Diffusion 1.5 and 2.0 take the last layer behind the final norm; XL takes the last but one of both encoders,
  /// without the norm, side by side, and the pooled text of the second.
  ///
  /// - Parameter clipSkip: Layers to leave out at the end.
  func encode(_ tokens: [PromptTokens], clipSkip: Int?, _ context: ExecutionContext) throws -> PromptEmbeddings {
    let first = try networks.textEncoder()
    guard let second = try networks.textEncoder2() else {
      let parts = try tokens[0].windows.map { window in
        let output = try first([window], context)
        guard let clipSkip, clipSkip > 0 else { return output.lastHiddenState }
        return first.finalNormed(try layer(output, skipping: clipSkip), context)
      }
      return PromptEmbeddings(sequence: joined(parts), pooled: nil)
    }
    var parts: [Tensor] = []
    var pooled: Tensor?
    for (window1, window2) in zip(tokens[0].windows, tokens[1].windows) {
      let output1 = try first([window1], context)
      let output2 = try second([window2], context)
      let skip = 1 + (clipSkip ?? 0)
      parts.append(
        Tensor.concatenatedLastAxis([try layer(output1, skipping: skip), try layer(output2, skipping: skip)]))
      if pooled == nil { pooled = output2.pooled }
    }
    return PromptEmbeddings(sequence: joined(parts), pooled: pooled)
  }

  private func layer(_ output: CLIPTextModel.Output, skipping count: Int) throws -> Tensor {
    guard count < output.hiddenStates.count else {
      throw BackendError(
        .invalidInput, "clip skip: the text encoder has \(output.hiddenStates.count - 1) layers, \(count) can't be left out")
    }
    return output.hiddenStates[output.hiddenStates.count - 1 - count]
  }

  /// Windows `[1, T, D]` one after the other.
  private func joined(_ parts: [Tensor]) -> Tensor {
    guard parts.count > 1 else { return parts[0] }
    let width = parts[0].shape[2]
    let rows = Tensor.concatenated(parts.map { $0.reshaped(to: [$0.shape[1], width]) })
    return rows.reshaped(to: [1, rows.shape[0], width])
  }
}
