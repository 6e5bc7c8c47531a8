/// The schemas of smaller files.
enum SmallSchemas {
  static let comparison = #"""
      "type": "object",
      "required": ["schema", "base", "candidate", "policy", "environment", "rows", "informative"],
      "properties": {
        "schema": {"const": "genbench.comparison/1"},
        "base": {"$ref": "#/$defs/side"}, "candidate": {"$ref": "#/$defs/side"},
        "policy": {
          "type": "object", "required": ["threshold", "noise_factor", "significance", "least_ns", "least_bytes", "ignores_environment"],
          "properties": {
            "threshold": {"type": "number", "minimum": 0}, "noise_factor": {"type": "number", "minimum": 0},
            "significance": {"type": "number", "exclusiveMinimum": 0, "maximum": 1}, "least_ns": {"type": "number", "minimum": 0},
            "least_bytes": {"type": "number", "minimum": 0}, "ignores_environment": {"type": "boolean"}
          }
        },
        "environment": {
          "type": "array",
          "items": {
            "type": "object", "required": ["fact", "base", "candidate", "decisive"],
            "properties": {
              "fact": {"type": "string"}, "base": {"type": "string"}, "candidate": {"type": "string"}, "decisive": {"type": "boolean"}
            }
          }
        },
        "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}}, "informative": {"type": "array", "items": {"$ref": "#/$defs/row"}}
      },
      "$defs": {
        "number_or_null": {"type": ["number", "null"]},
        "side": {
          "type": "object", "required": ["name", "run_id", "created_at", "commit", "faults"],
          "properties": {
            "name": {"type": "string"}, "run_id": {"type": "string"}, "created_at": {"type": "string"},
            "commit": {"type": ["string", "null"]}, "faults": {"type": "array", "items": {"type": "string"}}
          }
        },
        "row": {
          "type": "object",
          "required": ["case_id", "metric", "unit", "verdict", "clause", "base", "candidate", "change", "limit", "noise", "detectable",
            "p_value", "p_adjusted", "sessions"],
          "properties": {
            "case_id": {"type": "string"}, "metric": {"type": ["string", "null"]}, "unit": {"type": ["string", "null"]},
            "verdict": {"enum": ["regressed", "improved", "unchanged", "inconclusive", "not_comparable", "missing", "new", "invalid",
              "failed"]},
            "clause": {"type": "string"}, "base": {"$ref": "#/$defs/number_or_null"}, "candidate": {"$ref": "#/$defs/number_or_null"},
            "change": {"$ref": "#/$defs/number_or_null"}, "limit": {"$ref": "#/$defs/number_or_null"},
            "noise": {"$ref": "#/$defs/number_or_null"}, "detectable": {"$ref": "#/$defs/number_or_null"},
            "p_value": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
            "p_adjusted": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
            "sessions": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 2}
          }
        }
      }
    """#

  static let noise = #"""
      "type": "object",
      "required": ["schema", "machine_id", "cpu", "entries"],
      "properties": {
        "schema": {"const": "genbench.noise/1"}, "machine_id": {"type": "string"}, "cpu": {"type": "string"},
        "entries": {
          "type": "array",
          "items": {
            "type": "object", "required": ["case_id", "metric", "spread", "difference", "sessions", "measured_at"],
            "properties": {
              "case_id": {"type": "string"}, "metric": {"type": "string"}, "spread": {"type": "number", "minimum": 0},
              "difference": {"type": "number"}, "sessions": {"type": "integer", "minimum": 2}, "measured_at": {"type": "string"}
            }
          }
        }
      }
    """#

  static let plan = #"""
      "type": "object",
      "required": ["schema", "sides", "subjects", "cases", "effort", "interleaving", "seed", "prompts", "questions", "gate", "keeps_images"],
      "properties": {
        "schema": {"const": "genbench.plan/1"},
        "sides": {
          "type": "array",
          "items": {
            "type": "object", "required": ["name", "environment"],
            "properties": {
              "name": {"type": "string"}, "executable": {"type": "string"},
              "environment": {"type": "object", "additionalProperties": {"type": "string"}}
            }
          }
        },
        "subjects": {
          "type": "array", "minItems": 1,
          "items": {
            "type": "object",
            "required": ["name", "path", "is_text", "is_full_size", "is_fixture", "backend", "precision", "reduces_memory"],
            "properties": {
              "name": {"type": "string"}, "path": {"type": "string"}, "projector": {"type": "string"}, "variant": {"type": "string"},
              "is_text": {"type": "boolean"}, "is_full_size": {"type": "boolean"}, "is_fixture": {"type": "boolean"},
              "backend": {"type": "string"}, "kernels": {"type": "string"}, "threads": {"type": "integer", "minimum": 1},
              "precision": {"type": "string"}, "reduces_memory": {"type": "boolean"}, "side": {"type": "integer", "minimum": 0}
            }
          }
        },
        "cases": {
          "type": "array", "minItems": 1,
          "items": {
            "type": "object", "required": ["key", "subject", "scenario", "suffix", "batch", "settings"],
            "properties": {
              "key": {"type": "string"}, "subject": {"type": "integer", "minimum": 0}, "scenario": {"type": "string"},
              "suffix": {"type": "string"}, "steps": {"type": "integer"}, "width": {"type": "integer"}, "height": {"type": "integer"},
              "scheduler": {"type": "string"}, "guidance": {"type": "number"}, "batch": {"type": "integer", "minimum": 1},
              "max_tokens": {"type": "integer"}, "settings": {"type": "object", "additionalProperties": {"type": "string"}}
            }
          }
        },
        "effort": {
          "type": "object", "required": ["sessions", "repetitions", "warmups", "minimum_ns", "maximum_repetitions", "delay_ns", "timeout_ns"],
          "properties": {
            "sessions": {"type": "integer", "minimum": 1}, "repetitions": {"type": "integer", "minimum": 1},
            "warmups": {"type": "integer", "minimum": 0}, "minimum_ns": {"type": "integer"}, "until_interval": {"type": "number"},
            "maximum_repetitions": {"type": "integer"}, "delay_ns": {"type": "integer"}, "timeout_ns": {"type": "integer"}
          }
        },
        "interleaving": {"enum": ["off", "abba", "random"]}, "seed": {"type": "integer", "minimum": 0},
        "prompts": {"type": "array", "items": {"type": "string"}}, "questions": {"type": "array", "items": {"type": "string"}},
        "negative_prompt": {"type": "string"}, "image": {"type": "string"},
        "gate": {"enum": ["auto", "golden", "reference", "off"]}, "keeps_images": {"type": "boolean"}
      }
    """#

  static let suite = #"""
      "description": "Lines that begin with // are left out before the file is read.",
      "type": "object",
      "required": ["schema"],
      "additionalProperties": false,
      "properties": {
        "schema": {"const": "genbench.suite/1"}, "name": {"type": "string"},
        "defaults": {
          "description": "Options of run by their names: sessions, repetitions, warmup, min_time, until_ci, prompts, …",
          "type": "object", "additionalProperties": {"$ref": "#/$defs/value"}
        },
        "matrix": {
          "description": "Every combination of these values is a case.", "type": "object",
          "additionalProperties": {"anyOf": [{"$ref": "#/$defs/value"}, {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/value"}}]}
        },
        "include": {"$ref": "#/$defs/combinations"}, "exclude": {"$ref": "#/$defs/combinations"}, "cases": {"$ref": "#/$defs/combinations"}
      },
      "$defs": {
        "value": {"type": ["string", "number", "boolean"]},
        "combinations": {
          "type": "array", "items": {"type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#/$defs/value"}}
        }
      }
    """#

  static let kernels =
    #"""
      "type": "object",
      "required": ["schema", "kernels", "threads", "precision", "operators"],
      "properties": {
        "schema": {"const": "genbench.kernels/1"}, "kernels": {"type": "string"}, "threads": {"type": "integer", "minimum": 1},
        "precision": {"enum": ["f32", "bf16"]}, "peak_gflops": {"type": "number", "exclusiveMinimum": 0},
        "memory_gb_s": {"type": "number", "exclusiveMinimum": 0},
        "operators": {
          "type": "array",
          "items": {
            "type": "object", "required": ["name", "shape", "calls", "time_ns", "flop", "bytes"],
            "properties": {
              "name": {"type": "string"}, "shape": {"type": "string"},
              "calls": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
              "time_ns": {"$ref": "#/$defs/summary"}, "flop": {"type": "number", "minimum": 0}, "bytes": {"type": "number", "minimum": 0}
            }
          }
        }
      },
      "$defs": {
    """# + "\n" + SchemaParts.summary + "\n" + #"""
          "number_or_null": {"type": ["number", "null"]}
        }
      """#
}
