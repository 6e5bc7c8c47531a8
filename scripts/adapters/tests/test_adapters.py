"""The adapters against the goldens of Fixtures/small-models: `python3 -m unittest scripts/adapters/tests/test_adapters.py`.

Each class runs when its engine was set up (scripts/adapters/setup.sh), else it's skipped. The environment variable
GENBENCH_TEST_ADAPTERS=1 is needed, too, since loading an engine takes a while.
"""

import glob
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ADAPTERS = os.path.dirname(HERE)
ROOT = os.path.join(HERE, "../../..")
sys.path.insert(0, ADAPTERS)
try:
    import numpy as np
except ImportError as error:
    raise unittest.SkipTest("NumPy isn't installed") from error

from exporting import cache
from genbench_backend import read_safetensors, write_safetensors
from try_backend import Client, Failure, psnr, relative


class Adapter:
    """What holds for every engine that makes images from the small models."""

    environment, script, samplers, traced = None, None, [], ["latents"]

    @classmethod
    def setUpClass(cls):
        python = os.path.join(cache(), "venvs", cls.environment, "bin/python")
        if not os.environ.get("GENBENCH_TEST_ADAPTERS"):
            raise unittest.SkipTest("GENBENCH_TEST_ADAPTERS isn't set")
        if not os.path.exists(python):
            raise unittest.SkipTest(f"{cls.environment} isn't set up")
        cls.client = Client([python, os.path.join(ADAPTERS, cls.script)], timeout=1800, errors=subprocess.DEVNULL)
        cls.model = cls.client.ask("load", path=os.path.join(ROOT, "Fixtures/Models/sd15"))["model"]

    @classmethod
    def tearDownClass(cls):
        assert cls.client.close() == 0

    def generate(self, **values):
        return self.client.ask("generate_images", model=self.model["id"], **{"prompt": "a red circle", **values})

    def test_goldens(self):
        for path in sorted(glob.glob(os.path.join(ROOT, "Fixtures/small-models/sd15/*/case.json"))):
            with open(path) as file:
                case = json.load(file)["attributes"]
            name = os.path.basename(os.path.dirname(path))
            if name not in self.samplers and name != "own-scheduler":
                continue
            with self.subTest(name):
                golden = read_safetensors(path.replace("case.json", "tensors.safetensors"))
                # Whoever draws later needs the same stream of noise: the first draw isn't given then.
                noise = {"seed": case["seed"], "random_source": "torch"} if len(case["draws"]) > 1 else {"latents": self.client.give(golden["input.latents"])}
                reply = self.generate(prompt=case["prompt"], negative_prompt=case["negative_prompt"], scheduler=case["scheduler"], steps=case["steps"],
                                      guidance_scale=case["guidance_scale"], trace_level="step", checks_safety=False, **noise)  # fmt: skip
                pixels, trace = self.client.take(reply["images"][0]["image"]), self.client.take(reply["trace"])
                for entry in golden:
                    if entry.split(".")[0] in self.traced and entry != "latents.init":
                        self.assertLess(relative(trace[entry], golden[entry]), 1e-2, entry)
                if "image" in golden:
                    expected = np.round(np.moveaxis(golden["image"][0].astype(np.float32), 0, -1) * 255).astype(np.uint8)
                    self.assertGreater(psnr(pixels, expected), 50)

    def test_what_the_prompt_says_matters(self):
        first, again, other, seeded = (
            self.client.take(self.generate(prompt=prompt, seed=seed, steps=3)["images"][0]["image"])
            for prompt, seed in (("a blue star", 5), ("a blue star", 5), ("ein grüner Kreis 🟢", 5), ("a blue star", 6))
        )
        np.testing.assert_array_equal(first, again)
        self.assertLess(psnr(first, other), 40)
        self.assertLess(psnr(first, seeded), 40)

    def test_events(self):
        self.client.seen.clear()
        shows = "previews" in self.model["capabilities"]
        reply = self.generate(steps=5, scheduler="euler", preview_stride=2 if shows else None, seed=1)
        events = self.client.seen
        self.assertEqual([event["step"] for event in events if event["type"] == "progress"], [1, 2, 3, 4, 5])
        previews = [(event["step"], self.client.take(event["image"])) for event in events if event["type"] == "preview"]
        self.assertEqual([step for step, _ in previews], [2, 4, 5] if shows else [])
        image = self.client.take(reply["images"][0]["image"])
        self.assertTrue(not shows or psnr(previews[-1][1], image) > 30)
        times = [event["time_ns"] for event in events if "time_ns" in event]
        self.assertEqual(times, sorted(times))
        stages = {event["stage"] for event in events if event["type"] == "stage"}
        self.assertLessEqual({"text_encode", "step", "vae_decode"}, stages)

    def test_cancel_and_go_on(self):
        number = self.client.send("generate_images", model=self.model["id"], prompt="x", steps=200, scheduler="euler")
        while self.client.next()["type"] != "progress":
            pass
        self.client.send("cancel", target=number)
        with self.assertRaises(Failure) as caught:
            self.client.wait(number)
        self.assertEqual(caught.exception.code, "cancelled")
        self.assertLess(max(event["step"] for event in self.client.seen if event["type"] == "progress" and event["id"] == number), 200)
        self.assertEqual(self.generate(steps=1)["type"], "images")

    def test_refusals(self):
        for code, values in [("not_supported", {"scheduler": "no such sampler"}), ("invalid_input", {"width": 500}), ("invalid_input", {"steps": 0}),
                             ("not_supported", {"long_prompt": "chunk"}), ("not_supported", {"random_source": "philox", "seed": 1})]:  # fmt: skip
            with self.subTest(str(values)), self.assertRaises(Failure) as caught:
                self.generate(**values)
            self.assertEqual(caught.exception.code, code)
        with self.assertRaises(Failure) as caught:
            self.client.ask("load", path=os.path.join(ROOT, "no such folder"))
        self.assertEqual(caught.exception.code, "model_not_found")


ALL = ["pndm", "ddim", "euler", "euler_a", "heun", "lms", "dpmpp_2m_karras", "unipc"]


class Diffusers(Adapter, unittest.TestCase):
    environment, script, samplers, traced = "diffusers", "diffusers_backend.py", ALL, ["latents", "noise_pred", "prompt_embeds", "timesteps"]


class OnnxRuntime(Adapter, unittest.TestCase):
    environment, script, samplers, traced = "onnxruntime", "onnxruntime_backend.py", ALL, ["latents", "noise_pred", "prompt_embeds", "timesteps"]


class OpenVINO(Adapter, unittest.TestCase):
    """Its Euler, LMS and ancestral Euler part from diffusers with the spacing `linspace` (LMS with any): they have no golden here."""

    environment, script, samplers = "openvino", "openvino_backend.py", ["pndm", "ddim"]


class Operators(unittest.TestCase):
    """The goldens of operators and blocks, computed by torch through `op`."""

    def test_kernels_and_blocks(self):
        python = os.path.join(cache(), "venvs/diffusers/bin/python")
        if not os.environ.get("GENBENCH_TEST_ADAPTERS") or not os.path.exists(python):
            self.skipTest("GENBENCH_TEST_ADAPTERS isn't set, or diffusers isn't set up")
        client = Client([python, os.path.join(ADAPTERS, "diffusers_backend.py")], timeout=600, errors=subprocess.DEVNULL)
        judged = 0
        try:
            for path in sorted(glob.glob(os.path.join(ROOT, "Fixtures/kernels/**/case.json"), recursive=True) + glob.glob(os.path.join(ROOT, "Fixtures/diffusion/**/case.json"), recursive=True)):
                with open(path) as file:
                    case = json.load(file)
                # Those of whole models of the fixtures name a folder in place of a configuration.
                if case["op"] not in client.welcome["ops"] or "model" in case["attributes"]:
                    continue
                with self.subTest(case["id"]):
                    tensors = read_safetensors(path.replace("case.json", "tensors.safetensors"))
                    inputs = {name: values for name, values in tensors.items() if not name.startswith(("output.", "block."))}
                    reference = client.give(next(iter(inputs.values())), next(iter(inputs)))
                    write_safetensors(os.path.join(client.folder, reference["file"]), inputs)
                    reply = client.ask("op", op=case["op"], attributes=case["attributes"], inputs=reference["file"])
                    for name, values in client.take(reply["outputs"]).items():
                        self.assertLess(relative(values.reshape(tensors[name].shape), tensors[name]), 1e-4, name)
                        judged += 1
        finally:
            client.close()
        self.assertGreater(judged, 50)


if __name__ == "__main__":
    unittest.main()
