/// The schema of `run.json`.
enum RunSchema {
  static let text = #"""
      "type": "object",
      "required": ["schema", "run_id", "created_at", "status", "tool", "command", "config", "labels", "exit", "environment",
        "plan_hash", "shard", "parents", "faults", "warnings", "subjects", "cases"],
      "properties": {
        "schema": {"const": "genbench.run/1"},
        "run_id": {"type": "string", "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"},
        "created_at": {"$ref": "#/$defs/time"},
        "status": {"enum": ["complete", "incomplete"]},
        "tool": {
          "type": "object", "required": ["name", "version", "commit", "dirty", "build"],
          "properties": {
            "name": {"const": "genbench"}, "version": {"type": "string"}, "commit": {"$ref": "#/$defs/text_or_null"},
            "dirty": {"type": ["boolean", "null"]},
            "build": {
              "type": "object", "required": ["config", "swift_version"],
              "properties": {"config": {"enum": ["debug", "release"]}, "swift_version": {"type": "string"}}
            }
          }
        },
        "command": {"type": "array", "items": {"type": "string"}},
        "config": {"$ref": "#/$defs/texts"},
        "labels": {"$ref": "#/$defs/texts"},
        "exit": {
          "type": "object", "required": ["code", "reason"],
          "properties": {"code": {"type": "integer", "minimum": 0, "maximum": 255}, "reason": {"$ref": "#/$defs/text_or_null"}}
        },
        "environment": {"$ref": "#/$defs/environment"},
        "plan_hash": {"type": ["string", "null"], "pattern": "^[0-9a-f]{32}$"},
        "shard": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/shard"}]},
        "parents": {
          "type": "array",
          "items": {
            "type": "object", "required": ["run_id", "shard", "environment"],
            "properties": {
              "run_id": {"type": "string"}, "shard": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/shard"}]},
              "environment": {"$ref": "#/$defs/environment"}
            }
          }
        },
        "faults": {"type": "array", "items": {"type": "string"}},
        "warnings": {"type": "array", "items": {"type": "string"}},
        "subjects": {"type": "array", "items": {"$ref": "#/$defs/subject"}},
        "cases": {"type": "array", "items": {"$ref": "#/$defs/case"}}
      },
      "$defs": {
        "environment": {
          "type": "object",
          "required": ["machine_id", "machine_name", "probe", "os", "cpu", "memory", "container", "virtual", "aslr"],
          "properties": {
            "machine_id": {"$ref": "#/$defs/text_or_null"}, "machine_name": {"$ref": "#/$defs/text_or_null"},
            "probe": {
              "type": ["object", "null"], "required": ["gflops_f32", "mem_gb_s"],
              "properties": {"gflops_f32": {"type": "number", "exclusiveMinimum": 0}, "mem_gb_s": {"type": "number", "exclusiveMinimum": 0}}
            },
            "os": {
              "type": "object", "required": ["name", "kernel"],
              "properties": {"name": {"$ref": "#/$defs/text_or_null"}, "kernel": {"$ref": "#/$defs/text_or_null"}}
            },
            "cpu": {
              "type": "object",
              "required": ["model", "arch", "vendor", "logical", "physical", "features", "caches", "governor", "freq_min_hz",
                "freq_max_hz", "boost", "smt"],
              "properties": {
                "model": {"$ref": "#/$defs/text_or_null"}, "arch": {"type": "string"}, "vendor": {"$ref": "#/$defs/text_or_null"},
                "logical": {"type": ["integer", "null"], "minimum": 1}, "physical": {"type": ["integer", "null"], "minimum": 1},
                "features": {"type": "array", "items": {"type": "string"}},
                "caches": {
                  "type": "array",
                  "items": {
                    "type": "object", "required": ["level", "type", "bytes"],
                    "properties": {
                      "level": {"type": "integer", "minimum": 1}, "type": {"type": "string"}, "bytes": {"type": "integer", "minimum": 0}
                    }
                  }
                },
                "governor": {"$ref": "#/$defs/text_or_null"}, "freq_min_hz": {"$ref": "#/$defs/bytes_or_null"},
                "freq_max_hz": {"$ref": "#/$defs/bytes_or_null"}, "boost": {"type": ["boolean", "null"]},
                "smt": {"type": ["boolean", "null"]}
              }
            },
            "memory": {
              "type": "object", "required": ["total_bytes", "page_bytes", "thp"],
              "properties": {
                "total_bytes": {"$ref": "#/$defs/bytes_or_null"}, "page_bytes": {"$ref": "#/$defs/bytes_or_null"},
                "thp": {"$ref": "#/$defs/text_or_null"}
              }
            },
            "container": {
              "type": "object", "required": ["cgroup_version", "cpu_quota", "memory_limit_bytes"],
              "properties": {
                "cgroup_version": {"enum": [1, 2, null]}, "cpu_quota": {"$ref": "#/$defs/number_or_null"},
                "memory_limit_bytes": {"$ref": "#/$defs/bytes_or_null"}
              }
            },
            "virtual": {"type": ["boolean", "null"]}, "aslr": {"type": ["integer", "null"]}
          }
        },
    """# + "\n" + SchemaParts.summary + "\n" + #"""
          "work": {
            "type": ["object", "null"],
            "additionalProperties": {
              "type": "object", "required": ["flop", "bytes"],
              "properties": {"flop": {"type": "number", "minimum": 0}, "bytes": {"type": "number", "minimum": 0}}
            }
          },
          "metric": {
            "type": "object", "required": ["name", "unit", "polarity", "scope", "summary", "session_medians"],
            "properties": {
              "name": {"type": "string"}, "unit": {"enum": ["ns", "bytes", "1/s"]}, "polarity": {"enum": ["lower", "higher", "none"]},
              "scope": {"enum": ["run", "stage", "step", "token", "load"]}, "summary": {"$ref": "#/$defs/summary"},
              "session_medians": {"type": "array", "items": {"type": "number"}}
            }
          },
          "session": {
            "type": "object",
            "required": ["session", "order", "pid", "started_at", "load_ns", "warmup_ns", "samples", "memory", "peak_bytes",
              "baseline_bytes", "overhead_ns", "conditions"],
            "properties": {
              "session": {"type": "integer", "minimum": 0}, "order": {"type": "integer", "minimum": 0}, "pid": {"type": "integer"},
              "started_at": {"type": "string"}, "load_ns": {"$ref": "#/$defs/ns_or_null"},
              "warmup_ns": {"type": "array", "items": {"$ref": "#/$defs/ns"}},
              "samples": {"type": "array", "items": {"$ref": "#/$defs/sample"}}, "memory": {"$ref": "#/$defs/memory"},
              "peak_bytes": {"$ref": "#/$defs/bytes_or_null"}, "baseline_bytes": {"$ref": "#/$defs/bytes_or_null"},
              "overhead_ns": {"$ref": "#/$defs/ns_or_null"}, "conditions": {"$ref": "#/$defs/conditions"}
            }
          },
          "case": {
            "type": "object",
            "required": ["case_id", "key", "side", "subject", "scenario", "parameters", "status", "status_reason", "conformance",
              "machine_id", "work", "sustained", "metrics", "sessions", "artifacts"],
            "properties": {
              "case_id": {"type": "string", "minLength": 1}, "key": {"type": "string", "minLength": 1},
              "side": {"$ref": "#/$defs/text_or_null"}, "subject": {"type": "string"},
              "scenario": {"enum": ["single", "offline", "cold", "warm", "sustained", "cancel"]},
              "parameters": {"$ref": "#/$defs/parameters"}, "status": {"$ref": "#/$defs/status"},
              "status_reason": {"$ref": "#/$defs/text_or_null"},
              "conformance": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/conformance"}]},
              "machine_id": {"$ref": "#/$defs/text_or_null"}, "work": {"$ref": "#/$defs/work"},
              "sustained": {
                "type": ["object", "null"], "required": ["minute_medians_ns", "onset_ns", "slowdown"],
                "properties": {
                  "minute_medians_ns": {"type": "array", "items": {"$ref": "#/$defs/number_or_null"}},
                  "onset_ns": {"$ref": "#/$defs/ns_or_null"}, "slowdown": {"$ref": "#/$defs/number_or_null"}
                }
              },
              "metrics": {"type": "array", "items": {"$ref": "#/$defs/metric"}},
              "sessions": {"type": "array", "items": {"$ref": "#/$defs/session"}},
              "artifacts": {"type": "array", "items": {"type": "string"}}
            },
            "allOf": [{"if": {"properties": {"status": {"const": "invalid"}}}, "then": {"properties": {"conformance": {"type": "object"}}}}]
          },
      """# + "\n" + SchemaParts.definitions + "\n  }"
}

/// The schema of a line of `journal.jsonl`.
enum EventSchema {
  static let text = #"""
      "type": "object",
      "required": ["schema", "type", "t_ns"],
      "properties": {
        "schema": {"const": "genbench.event/1"},
        "type": {"enum": ["run_start", "session_start", "loaded", "gate", "case_start", "warmup", "sample", "case_end", "session_end",
          "warning", "beat", "run_end"]},
        "t_ns": {"$ref": "#/$defs/ns"}, "session": {"type": "integer", "minimum": 0}, "order": {"type": "integer", "minimum": 0},
        "subject": {"type": "integer", "minimum": 0}, "key": {"type": "string"}, "pid": {"type": "integer"},
        "at": {"$ref": "#/$defs/time"}, "run_id": {"type": "string"}, "plan_hash": {"type": "string"},
        "shard": {"$ref": "#/$defs/shard"}, "case_id": {"type": "string"}, "parameters": {"$ref": "#/$defs/parameters"},
        "record": {"$ref": "#/$defs/subject"}, "ns": {"$ref": "#/$defs/ns"}, "conformance": {"$ref": "#/$defs/conformance"},
        "sample": {"$ref": "#/$defs/sample"},
        "spans": {
          "type": "object", "required": ["names", "stage", "index", "start_ns", "ns", "depth"],
          "properties": {
            "names": {"type": "array", "items": {"type": "string"}},
            "stage": {"type": "array", "items": {"type": "integer", "minimum": 0}},
            "index": {"type": "array", "items": {"type": "integer", "minimum": -1}},
            "start_ns": {"type": "array", "items": {"$ref": "#/$defs/ns"}}, "ns": {"type": "array", "items": {"$ref": "#/$defs/ns"}},
            "depth": {"type": "array", "items": {"type": "integer", "minimum": 0}}
          }
        },
        "status": {"$ref": "#/$defs/status"}, "reason": {"type": "string"}, "memory": {"$ref": "#/$defs/memory"},
        "peak_bytes": {"$ref": "#/$defs/ns"}, "baseline_bytes": {"$ref": "#/$defs/ns"}, "overhead_ns": {"$ref": "#/$defs/ns"},
        "conditions": {"$ref": "#/$defs/conditions"}, "artifacts": {"type": "array", "items": {"type": "string"}},
        "code": {"type": "integer"}
      },
      "allOf": [
        {"if": {"properties": {"type": {"const": "sample"}}}, "then": {"required": ["session", "subject", "key", "sample"]}},
        {"if": {"properties": {"type": {"const": "case_end"}}}, "then": {"required": ["session", "subject", "key", "status"]}},
        {"if": {"properties": {"type": {"const": "run_start"}}}, "then": {"required": ["run_id", "plan_hash", "at"]}}
      ],
      "$defs": {
    """# + "\n" + SchemaParts.definitions + "\n  }"
}
