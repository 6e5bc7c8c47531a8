"""Tests of the protocol's Python and C helpers: `python3 -m unittest discover scripts/adapters/tests`.

Skipped without NumPy; the C part also without a C compiler.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
try:
    import numpy as np
except ImportError as error:
    raise unittest.SkipTest("NumPy isn't installed") from error

import genbench_backend
from genbench_backend import LINE_LIMIT, PROTOCOL, BackendError, read_safetensors, write_safetensors
from try_backend import Client, Failure


class Safetensors(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.path = os.path.join(self.folder, "a.safetensors")
        self.addCleanup(shutil.rmtree, self.folder)

    def test_what_is_written_is_read(self):
        given = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "scalar": np.float32(3), "pixels": np.zeros((0, 4, 3), np.uint8), "ä": np.arange(3)}
        write_safetensors(self.path, given)
        for name, values in read_safetensors(self.path).items():
            np.testing.assert_array_equal(values, given[name])
            self.assertEqual((values.shape, values.dtype), (given[name].shape, given[name].dtype))
        self.assertEqual(os.listdir(self.folder), ["a.safetensors"])

    def test_transposed_arrays_are_written_in_order(self):
        write_safetensors(self.path, {"a": np.arange(6, dtype=np.float32).reshape(2, 3).T})
        np.testing.assert_array_equal(read_safetensors(self.path)["a"], [[0, 3], [1, 4], [2, 5]])

    def test_bfloat16_is_widened(self):
        header = json.dumps({"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
        with open(self.path, "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + struct.pack("<HH", 0x3F80, 0xC000))
        np.testing.assert_array_equal(read_safetensors(self.path)["a"], [1.0, -2.0])

    def test_damaged_files_are_refused(self):
        good = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
        headers = [
            b"{", b"[]", b'{"a": 1}', json.dumps({"a": good | {"dtype": "F4"}}).encode(), json.dumps({"a": good | {"shape": [3]}}).encode(),
            json.dumps({"a": good | {"data_offsets": [0, 80]}}).encode(), json.dumps({"a": good | {"data_offsets": [-8, 0]}}).encode(),
            json.dumps({"a": good | {"shape": [-1, -2]}}).encode(), json.dumps({"a": good | {"shape": None}}).encode(),
        ]  # fmt: skip
        for data in [b"", b"1234567", struct.pack("<Q", 1 << 60) + b"{}"] + [struct.pack("<Q", len(text)) + text + bytes(8) for text in headers]:
            with open(self.path, "wb") as file:
                file.write(data)
            with self.assertRaises(BackendError, msg=repr(data)) as caught:
                read_safetensors(self.path)
            self.assertEqual(caught.exception.code, "invalid_input")


class Protocol:
    """What holds for a child of either language."""

    command = None

    def setUp(self):
        self.client = Client(self.command, timeout=300, errors=subprocess.DEVNULL)
        self.addCleanup(self.client.close)

    def load(self):
        return self.client.ask("load", path=HERE)["model"]["id"]

    def fails(self, code, kind, **values):
        with self.assertRaises(Failure) as caught:
            self.client.ask(kind, **values)
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertTrue(caught.exception.answer["message"])

    def test_hello_and_bye(self):
        welcome = self.client.welcome
        self.assertEqual((welcome["type"], welcome["protocol"]), ("welcome", PROTOCOL))
        self.assertIn("latents_input", welcome["capabilities"])
        self.assertEqual(self.client.close(), 0)

    def test_the_end_of_stdin_is_a_bye(self):
        model = self.load()
        self.client.send("generate_images", model=model, prompt="x", steps=500)
        self.client.child.stdin.close()
        self.assertEqual(self.client.child.wait(timeout=300), 0)

    def test_hello_comes_first_and_once(self):
        self.fails("invalid_input", "hello", protocols=[PROTOCOL], exchange=self.client.folder)
        other = Client(self.command, timeout=300, greet=False)
        try:
            for kind, values, code in [
                ("load", {"path": HERE}, "invalid_input"),
                ("hello", {"protocols": ["genbench.backend/9"], "exchange": other.folder}, "not_supported"),
                ("hello", {"protocols": [PROTOCOL], "exchange": "relative"}, "invalid_input"),
                ("hello", {"protocols": [PROTOCOL], "exchange": other.folder + "/none"}, "invalid_input"),
            ]:
                with self.assertRaises(Failure) as caught:
                    other.ask(kind, **values)
                self.assertEqual(caught.exception.code, code)
            self.assertEqual(other.ask("hello", protocols=["a", PROTOCOL], exchange=other.folder)["type"], "welcome")
        finally:
            other.close()

    def test_an_image_with_events_in_order(self):
        model = self.load()
        self.client.seen.clear()
        reply = self.client.ask("generate_images", model=model, prompt="a fox 🦊", steps=3, seed=2**64 - 1, preview_stride=1)
        self.assertEqual(reply["images"][0]["seed"], 2**64 - 1)
        self.assertEqual(self.client.take(reply["images"][0]["image"]).shape, (64, 64, 3))
        kinds = [event["type"] for event in self.client.seen]
        self.assertEqual(kinds[-1], "images")
        self.assertEqual([event["step"] for event in self.client.seen if event["type"] == "progress"], [1, 2, 3])
        previews = [self.client.take(event["image"]) for event in self.client.seen if event["type"] == "preview"]
        self.assertEqual(previews[-1].shape, (64, 64, 3))
        stack = []
        for event in self.client.seen:
            if event["type"] == "stage" and event["phase"] == "begin":
                stack.append(event["stage"])
            elif event["type"] == "stage":
                self.assertEqual(stack.pop(), event["stage"])
        self.assertEqual(stack, [])
        self.assertIn("memory", kinds)
        self.assertIn("prompt_embeds", reply["unavailable"])
        self.assertEqual(os.listdir(self.client.folder), [])

    def test_latents_and_trace(self):
        model = self.load()
        noise = np.random.default_rng(1).normal(size=(1, 4, 8, 8)).astype(np.float32)
        first, second = (
            self.client.take(self.client.ask("generate_images", model=model, prompt="x", latents=self.client.give(noise), trace_level="step")["trace"])
            for _ in range(2)
        )
        np.testing.assert_array_equal(first["latents.init"], noise)
        self.assertIn("noise_pred.3", first)
        for name in first:
            np.testing.assert_array_equal(first[name], second[name])

    def test_latents_that_are_wrong(self):
        model = self.load()
        for values in (np.zeros((1, 4, 8, 9), np.float32), np.zeros((4,), np.float32), np.full((1, 4, 8, 8), np.nan, np.float32)):
            self.fails("invalid_input", "generate_images", model=model, prompt="x", latents=self.client.give(values))
        for file in ("../a", "/etc/passwd", "none.safetensors", "", "."):
            self.fails("invalid_input", "generate_images", model=model, prompt="x", latents={"file": file, "tensor": "a"})
        reference = self.client.give(np.zeros((1, 4, 8, 8), np.float32))
        self.fails("invalid_input", "generate_images", model=model, prompt="x", latents=reference | {"tensor": "other"})
        os.symlink("/etc/passwd", os.path.join(self.client.folder, "link"))
        self.fails("invalid_input", "generate_images", model=model, prompt="x", latents={"file": "link", "tensor": "a"})

    def test_refused_requests_leave_no_file(self):
        reference = self.client.give(np.zeros((1, 4, 8, 8), np.float32))
        self.fails("not_loaded", "generate_images", model="none", prompt="x", latents=reference)
        self.assertEqual(os.listdir(self.client.folder), [])

    def test_refusals(self):
        self.fails("model_not_found", "load", path=HERE + "/none")
        self.fails("invalid_input", "load")
        self.fails("not_supported", "load", path=HERE, precision="int8")
        self.fails("not_supported", "dance")
        model = self.load()
        for code, values in [
            ("invalid_input", {"steps": 0}), ("invalid_input", {"steps": "4"}), ("invalid_input", {"seed": -1}), ("invalid_input", {"seed": 2**64}),
            ("invalid_input", {"width": 65}), ("invalid_input", {"strength": 2}), ("not_supported", {"clip_skip": 2}),
            ("not_supported", {"guidance_rescale": 0.5}), ("invalid_input", {"prompt": 5}), ("not_supported", {"random_source": "torch"}),
        ]:  # fmt: skip
            self.fails(code, "generate_images", **({"model": model, "prompt": "x"} | values))
        self.fails("invalid_input", "generate_images", model=model)
        reply = self.client.ask("generate_images", model=model, prompt="x", guidance_rescale=0, image_count=1, clip_skip=None)
        self.assertEqual(reply["type"], "images")

    def test_lines_that_are_no_requests(self):
        deep = b"[" * 100_000 + b"\n"
        for line in (b"nonsense\n", b"{}\n", b'{"type": "clock"}\n', b'{"type": 1, "id": 5}\n', b'{"type": "clock", "id": "5"}\n', b"\xff\xfe\n", deep,
                     b'{"type": "clock", "id": 1.5}\n', b"{" * 3 + b" " * LINE_LIMIT + b"}\n", b'{"type": "clock", "id": NaN}\n'):  # fmt: skip
            self.client.write(line)
            answer = self.client.next()
            self.assertEqual((answer["type"], answer["id"], answer["code"]), ("error", None, "invalid_input"), line[:40])
        self.client.write(b"\n  \n")
        self.client.number = 100
        self.assertEqual(self.client.ask("clock")["type"], "clock")
        self.client.number = 50
        self.fails("invalid_input", "clock")
        self.client.number = 200

    def test_a_line_just_within_the_limit(self):
        self.client.number = 7
        line = b'{"type": "clock", "id": 8, "unknown": "' + b"x" * (LINE_LIMIT - 42) + b'"}\n'
        self.assertEqual(len(line), LINE_LIMIT)
        self.client.write(line)
        self.assertEqual(self.client.next()["type"], "clock")
        self.client.number = 8

    def test_cancel_while_it_runs(self):
        model = self.load()
        number = self.client.send("generate_images", model=model, prompt="x", steps=900)
        while self.client.next()["type"] != "progress":
            pass
        self.client.ask("clock")
        self.fails("busy", "generate_text", model=model, prompt="x")
        self.client.ask("cancel", target=number)
        with self.assertRaises(Failure) as caught:
            self.client.wait(number)
        self.assertEqual(caught.exception.code, "cancelled")
        opened = sum({"begin": 1, "end": -1}[event["phase"]] for event in self.client.seen if event["type"] == "stage")
        self.assertEqual(opened, 0)
        self.assertEqual(self.client.ask("cancel", target=number)["type"], "ok")
        self.assertEqual(self.client.ask("generate_images", model=model, prompt="x", steps=1)["type"], "images")

    def test_unload_stops_what_runs(self):
        model = self.load()
        number = self.client.send("generate_images", model=model, prompt="x", steps=900)
        unloading = self.client.send("unload", model=model)
        with self.assertRaises(Failure) as caught:
            self.client.wait(number)
        self.assertEqual(caught.exception.code, "cancelled")
        self.assertEqual(self.client.wait(unloading)["type"], "ok")
        self.assertEqual(self.client.ask("unload", model=model)["type"], "ok")
        self.fails("not_loaded", "generate_images", model=model, prompt="x")

    def test_text_token_by_token(self):
        model = self.load()
        self.client.seen.clear()
        words = "Grüße 🦊\n\"日本\\"
        reply = self.client.ask("generate_text", model=model, prompt=words)
        self.assertEqual((reply["text"], reply["finish_reason"]), (words, "stop"))
        self.assertEqual("".join(event["text"] for event in self.client.seen if event["type"] == "token"), words)
        self.assertEqual(self.client.ask("generate_text", model=model, prompt=words, max_tokens=2)["text"], "Gr")

    def test_an_operator(self):
        values = np.linspace(-4, 4, 12, dtype=np.float32).reshape(3, 4)
        reply = self.client.ask("op", op="silu", inputs=self.client.give(values, "input")["file"], attributes={})
        np.testing.assert_allclose(self.client.take(reply["outputs"])["output"], values / (1 + np.exp(-values)), rtol=1e-6)
        self.assertGreater(reply["elapsed_ns"], 0)
        self.fails("not_supported", "op", op="fft", inputs=self.client.give(values, "input")["file"])
        self.assertEqual(os.listdir(self.client.folder), [])

    def test_large_tensors(self):
        values = np.random.default_rng(3).normal(size=(64, 512, 512)).astype(np.float32)
        reply = self.client.ask("op", op="silu", inputs=self.client.give(values, "input")["file"])
        np.testing.assert_allclose(self.client.take(reply["outputs"])["output"][5, 6], values[5, 6] / (1 + np.exp(-values[5, 6])), rtol=1e-5, atol=1e-7)


class PythonHelper(Protocol, unittest.TestCase):
    command = [sys.executable, os.path.join(HERE, "toy_adapter.py")]

    def test_a_reply_that_fits_no_line(self):
        self.fails("processing_failed", "generate_text", model=self.load(), prompt="long reply")

    def test_errors_have_codes(self):
        server = genbench_backend.Server(genbench_backend.Backend(), None, None)
        for kind, error, code in [
            ("generate_images", MemoryError(), "out_of_memory"), ("generate_images", RuntimeError("DefaultCPUAllocator: can't allocate memory"), "out_of_memory"),
            ("generate_images", ValueError("x"), "processing_failed"), ("load", ValueError("x"), "invalid_model"),
            ("load", FileNotFoundError(2, "x"), "invalid_model"), ("generate_text", NotImplementedError("x"), "not_supported"),
            ("generate_text", BackendError("nonsense", "x"), "processing_failed"),
        ]:  # fmt: skip
            with self.subTest(code), open(os.devnull, "w") as nothing:
                stderr, sys.stderr = sys.stderr, nothing
                try:
                    self.assertEqual(server.as_error(kind, error, {"id": 1, "path": HERE})["code"], code)
                finally:
                    sys.stderr = stderr

    def test_a_child_that_crashes_ends_the_answers(self):
        self.client.send("generate_images", model=self.load(), prompt="crash")
        with self.assertRaises(EOFError):
            while True:
                self.client.next()


class CHelper(Protocol, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        compiler = next((name for name in (os.environ.get("CC"), "cc", "gcc", "clang") if name and shutil.which(name)), None)
        if not compiler:
            raise unittest.SkipTest("there is no C compiler")
        cls.folder = tempfile.mkdtemp()
        cls.command = [os.path.join(cls.folder, "toy-engine"), "--step-ms", "10"]
        sources = [os.path.join(os.path.dirname(HERE), "c", name) for name in ("toy_engine.c", "genbench_backend.c")]
        flags = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"] + os.environ.get("GENBENCH_TEST_CFLAGS", "").split()
        subprocess.run([compiler, *flags, *sources, "-lm", "-o", cls.command[0]], check=True)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_memory_comes_back(self):
        def resident():
            with open(f"/proc/{self.client.child.pid}/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        if not os.path.exists("/proc/self/statm"):
            self.skipTest("the system doesn't tell a process's memory")
        before = resident()
        for _ in range(3):
            model = self.load()
            self.assertGreater(resident() - before, 7 << 20)
            self.client.ask("unload", model=model)
            self.assertLess(resident() - before, 2 << 20)


if __name__ == "__main__":
    unittest.main()
