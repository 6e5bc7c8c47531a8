/// The JSON Schemas (draft 2020-12) of the files that this program writes and reads.
public enum SchemaName: String, Sendable, CaseIterable {
  case run, event, comparison, noise, plan, suite, kernels

  /// The schema's text.
  public var text: String {
    let (title, body) =
      switch self {
      case .run: ("A run: run.json and baselines", RunSchema.text)
      case .event: ("A line of journal.jsonl", EventSchema.text)
      case .comparison: ("What 'compare --json' prints", SmallSchemas.comparison)
      case .noise: ("The noise of a machine, as 'calibrate' keeps it", SmallSchemas.noise)
      case .plan: ("What a run measures: plan.json", SmallSchemas.plan)
      case .suite: ("What to measure, for 'run --suite'", SmallSchemas.suite)
      case .kernels: ("Every operator, measured by 'run --suite kernels': kernels.json", SmallSchemas.kernels)
      }
    return """
      {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "genbench.\(rawValue)/1",
        "title": "\(title)",
      \(body)
      }

      """
  }
}

/// Parts that several schemas have in common.
enum SchemaParts {
  /// The definition of a summary, with a comma after it; refers to `number_or_null`.
  static let summary = #"""
        "summary": {
          "type": "object",
          "required": ["n", "min", "max", "mean", "median", "stddev", "mad", "cv", "ci", "percentiles", "outliers_mild", "outliers_severe"],
          "properties": {
            "n": {"type": "integer", "minimum": 0}, "min": {"$ref": "#/$defs/number_or_null"}, "max": {"$ref": "#/$defs/number_or_null"},
            "mean": {"$ref": "#/$defs/number_or_null"}, "median": {"$ref": "#/$defs/number_or_null"},
            "stddev": {"$ref": "#/$defs/number_or_null"}, "mad": {"$ref": "#/$defs/number_or_null"},
            "cv": {"$ref": "#/$defs/number_or_null"},
            "ci": {
              "type": ["object", "null"], "required": ["level", "low", "high", "method"],
              "properties": {
                "level": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, "low": {"type": "number"},
                "high": {"type": "number"}, "method": {"enum": ["bootstrap-median", "bootstrap-session-medians", "order-statistics"]}
              }
            },
            "percentiles": {"type": "object", "additionalProperties": {"type": "number"}},
            "outliers_mild": {"type": "integer", "minimum": 0}, "outliers_severe": {"type": "integer", "minimum": 0}
          }
        },
    """#

  /// Definitions, without braces around them.
  static let definitions = #"""
        "time": {"type": "string", "pattern": "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d+)?Z$"},
        "ns": {"type": "integer", "minimum": 0},
        "ns_or_null": {"type": ["integer", "null"], "minimum": 0},
        "bytes_or_null": {"type": ["integer", "null"], "minimum": 0},
        "number_or_null": {"type": ["number", "null"]},
        "text_or_null": {"type": ["string", "null"]},
        "texts": {"type": "object", "additionalProperties": {"type": "string"}},
        "shard": {
          "type": "object", "required": ["index", "count"],
          "properties": {"index": {"type": "integer", "minimum": 1}, "count": {"type": "integer", "minimum": 1}}
        },
        "status": {"enum": ["pass", "invalid", "error", "crash", "timeout", "oom", "incomplete"]},
        "conformance": {
          "type": "object", "required": ["result", "policy", "detail"],
          "properties": {
            "result": {"enum": ["pass", "fail", "not_judged"]}, "policy": {"type": "string"}, "detail": {"type": "string"}
          }
        },
        "parameters": {
          "type": "object", "required": ["steps", "width", "height", "guidance", "scheduler", "seed", "batch", "max_tokens", "settings"],
          "properties": {
            "steps": {"type": ["integer", "null"], "minimum": 1}, "width": {"type": ["integer", "null"], "minimum": 1},
            "height": {"type": ["integer", "null"], "minimum": 1}, "guidance": {"$ref": "#/$defs/number_or_null"},
            "scheduler": {"$ref": "#/$defs/text_or_null"}, "seed": {"type": ["integer", "null"], "minimum": 0},
            "batch": {"type": ["integer", "null"], "minimum": 1}, "max_tokens": {"type": ["integer", "null"], "minimum": 1},
            "settings": {"$ref": "#/$defs/texts"}
          }
        },
        "subject": {
          "type": "object", "required": ["id", "backend", "model", "settings"],
          "properties": {
            "id": {"type": "string"},
            "backend": {
              "type": "object", "required": ["kind", "name", "version", "capabilities", "details"],
              "properties": {
                "kind": {"type": "string"}, "name": {"type": "string"}, "version": {"type": "string"},
                "capabilities": {"type": "array", "items": {"type": "string"}}, "details": {"$ref": "#/$defs/texts"}
              }
            },
            "model": {
              "type": "object", "required": ["family", "name", "params", "bytes", "precision"],
              "properties": {
                "family": {"type": "string"}, "name": {"type": "string"}, "params": {"type": "integer", "minimum": 0},
                "bytes": {"type": "integer", "minimum": 0}, "precision": {"type": "string"}
              }
            },
            "settings": {"$ref": "#/$defs/texts"}
          }
        },
        "sample": {
          "type": "object",
          "required": ["index", "prompt", "repetition", "seed", "start_ns", "e2e_ns", "stages_ns", "steps_ns", "step_parts_ns",
            "unaccounted_ns", "idle_ns", "safety", "image", "images", "text", "load_ns", "cancel_ns"],
          "properties": {
            "index": {"type": "integer", "minimum": 0}, "prompt": {"type": "string"}, "repetition": {"type": "integer", "minimum": 0},
            "seed": {"type": "integer", "minimum": 0}, "start_ns": {"$ref": "#/$defs/ns"}, "e2e_ns": {"$ref": "#/$defs/ns"},
            "stages_ns": {"type": "object", "additionalProperties": {"$ref": "#/$defs/ns"}},
            "steps_ns": {"type": "array", "items": {"$ref": "#/$defs/ns"}},
            "step_parts_ns": {"type": "object", "additionalProperties": {"type": "array", "items": {"$ref": "#/$defs/ns"}}},
            "unaccounted_ns": {"$ref": "#/$defs/ns"}, "idle_ns": {"$ref": "#/$defs/ns_or_null"},
            "safety": {"enum": ["passed", "filtered", "unchecked", null]}, "image": {"$ref": "#/$defs/text_or_null"},
            "images": {"type": "integer", "minimum": 0}, "load_ns": {"$ref": "#/$defs/ns_or_null"},
            "cancel_ns": {"$ref": "#/$defs/ns_or_null"},
            "text": {
              "type": ["object", "null"],
              "required": ["answer", "prompt_tokens", "new_tokens", "ttft_ns", "tokens_ns", "prefill_tokens_per_s",
                "decode_tokens_per_s", "finish_reason"],
              "properties": {
                "answer": {"type": "string"}, "prompt_tokens": {"type": "integer", "minimum": 0},
                "new_tokens": {"type": "integer", "minimum": 0}, "ttft_ns": {"$ref": "#/$defs/ns_or_null"},
                "tokens_ns": {"type": "array", "items": {"$ref": "#/$defs/ns"}},
                "prefill_tokens_per_s": {"$ref": "#/$defs/number_or_null"},
                "decode_tokens_per_s": {"$ref": "#/$defs/number_or_null"}, "finish_reason": {"enum": ["stop", "length"]}
              }
            }
          }
        },
        "memory": {
          "type": ["object", "null"], "required": ["t_ns", "rss_bytes", "anonymous_bytes", "mapped_bytes"],
          "properties": {
            "t_ns": {"type": "array", "items": {"$ref": "#/$defs/ns"}},
            "rss_bytes": {"type": "array", "items": {"$ref": "#/$defs/bytes_or_null"}},
            "anonymous_bytes": {"type": "array", "items": {"$ref": "#/$defs/bytes_or_null"}},
            "mapped_bytes": {"type": "array", "items": {"$ref": "#/$defs/bytes_or_null"}}
          }
        },
        "condition": {
          "type": "object",
          "required": ["loadavg_1", "psi_cpu_some_avg10", "psi_memory_some_avg10", "steal_ticks", "total_ticks", "freq_hz",
            "available_bytes", "temperature_c", "throttle_count", "on_battery"],
          "properties": {
            "loadavg_1": {"$ref": "#/$defs/number_or_null"}, "psi_cpu_some_avg10": {"$ref": "#/$defs/number_or_null"},
            "psi_memory_some_avg10": {"$ref": "#/$defs/number_or_null"}, "steal_ticks": {"$ref": "#/$defs/bytes_or_null"},
            "total_ticks": {"$ref": "#/$defs/bytes_or_null"}, "freq_hz": {"$ref": "#/$defs/bytes_or_null"},
            "available_bytes": {"$ref": "#/$defs/bytes_or_null"}, "temperature_c": {"$ref": "#/$defs/number_or_null"},
            "throttle_count": {"$ref": "#/$defs/bytes_or_null"}, "on_battery": {"type": ["boolean", "null"]}
          }
        },
        "conditions": {
          "type": ["object", "null"], "required": ["start", "end", "steal_pct", "throttled"],
          "properties": {
            "start": {"$ref": "#/$defs/condition"}, "end": {"$ref": "#/$defs/condition"},
            "steal_pct": {"type": ["number", "null"], "minimum": 0, "maximum": 100}, "throttled": {"$ref": "#/$defs/ns_or_null"}
          }
        }
    """#
}
