"""Tests of the comparison's arithmetic and bookkeeping: python3 -m unittest discover scripts/peers"""

import contextlib
import io
import pathlib
import sys
import types
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import compare  # noqa: E402
import engines  # noqa: E402
import report  # noqa: E402
from quiet import ForeignLoad, Quiet  # noqa: E402
from workloads import Group, Workload  # noqa: E402


def entry(rounds, setting="a", aim=1.5):
    value = {"name": "w", "unit": "s", "aim": aim, "peer": "p", "peer_setting": setting, "rounds": rounds}
    report.summarize(value)
    return value


def one(ours, theirs, setting="a", noise=0.0):
    return {"genbench": {"seconds": ours, "foreign": noise}, "peer": {setting: {"seconds": theirs, "foreign": None}}}


class Ratios(unittest.TestCase):
    def test_ratio_is_of_the_medians_of_all_samples(self):
        value = entry([one([1, 2, 9], [6, 6, 6]), one([2, 2, 2], [3, 3, 3])])
        self.assertEqual(value["genbench_median"], 2)
        self.assertEqual(value["peer_median"], 4.5)
        self.assertEqual(value["ratio"], 2.25)
        self.assertEqual((value["ratio_min"], value["ratio_max"]), (1.5, 3))

    def test_noisy_rounds_count_only_when_all_are(self):
        value = entry([one([1], [4]), one([1], [100], noise=0.5)])
        self.assertEqual((value["ratio"], value["quiet_rounds"]), (4, 1))
        value = entry([one([1], [4], noise=0.5), one([1], [4], noise=0.06)])
        self.assertEqual((value["ratio"], value["quiet_rounds"]), (4, 0))
        self.assertIn("2, all noisy", report.table([value]))

    def test_incomplete_rounds_are_left_out(self):
        value = entry([{"peer": {"a": {"seconds": [1], "foreign": 0}}}, one([1], [3]), one([1], [5], setting="b")])
        self.assertEqual(value["ratios"], [3])
        self.assertNotIn("ratio", entry([]))

    def test_best_setting_has_the_smallest_median(self):
        rounds = [{"peer": {"a": {"seconds": [3, 3, 1]}, "b": {"seconds": [2, 2, 9]}}}]
        self.assertEqual(report.best_setting(rounds, ["a", "b", "c"]), "b")
        self.assertIsNone(report.best_setting([], ["a"]))

    def test_rows_of_another_build_are_told(self):
        old, new = entry([one([1], [2])]) | {"genbench_sha256": "old"}, entry([one([1], [2])]) | {"genbench_sha256": "new", "name": "v"}
        self.assertIn("another build of genbench: w\n", report.table([old, new], "new"))
        self.assertNotIn("another build", report.table([new], "new"))

    def test_rates_are_shown_for_tokens(self):
        self.assertEqual(report.show(0.005, "s/token"), "200.0 tokens/s")
        self.assertEqual(report.show(0.0213, "s"), "21.3 ms")
        self.assertEqual(report.show(12.345, "s"), "12.35 s")


class Side:
    """A scripted program: `script` gives seconds, or an exception, by setting; every call is remembered."""

    def __init__(self, name, workloads, script, calls):
        self.name, self.workloads, self.script, self.calls = name, workloads, script, calls
        self.settings = list(script)

    def measure(self, setting, wanted, quiet):
        self.calls.append((self.name, setting))
        value = self.script[setting]
        if isinstance(value, Exception):
            raise value
        seconds, foreign = value.pop(0) if isinstance(value, list) else (value, 0.0)
        return {name: engines.Sample([seconds], foreign) for name in wanted}


def measure(ours, theirs, rounds=3, known=None, retries=0, memory=0):
    calls = []
    group = Group("g", [Workload("w", "W", "s", 1.5)], Side("genbench", ["w"], ours, calls), [Side("p", ["w"], theirs, calls)], memory=memory)
    options = types.SimpleNamespace(rounds=rounds, retries=retries, quiet_command=None)
    measuring = compare.Measuring(group, ["w"], options, known or {}, "digest")
    with contextlib.redirect_stderr(io.StringIO()):
        measuring.run()
    return measuring.entries["w"], calls


class Rounds(unittest.TestCase):
    def test_sides_alternate_and_only_the_best_setting_stays(self):
        value, calls = measure({"x": 1.0}, {"slow": 5.0, "fast": 2.0})
        self.assertEqual(value["peer_setting"], "fast")
        self.assertEqual(value["ratio"], 2)
        self.assertEqual(
            calls,
            [("genbench", "x"), ("p", "slow"), ("p", "fast"), ("p", "fast"), ("genbench", "x"), ("genbench", "x"), ("p", "fast")],
        )

    def test_a_known_setting_isn_t_searched_again_and_a_vanished_one_is(self):
        _, calls = measure({"x": 1.0}, {"slow": 5.0, "fast": 2.0}, rounds=1, known={"w": "slow"})
        self.assertEqual(calls, [("genbench", "x"), ("p", "slow")])
        _, calls = measure({"x": 1.0}, {"slow": 5.0, "fast": 2.0}, rounds=1, known={"w": "gone"})
        self.assertEqual(calls, [("genbench", "x"), ("p", "slow"), ("p", "fast")])

    def test_unsupported_is_told_and_isn_t_a_failure(self):
        value, calls = measure({"x": engines.Unsupported("no bf16")}, {"a": 1.0})
        self.assertEqual(value["reason"], "not supported: no bf16")
        self.assertFalse(value["failed"])
        self.assertEqual(calls, [("genbench", "x")])
        self.assertIn("not supported: no bf16", report.table([value]))

    def test_a_failing_setting_leaves_the_others(self):
        value, _ = measure({"x": 1.0}, {"bad": engines.Failure("crash"), "good": 3.0})
        self.assertEqual((value["peer_setting"], value["ratio"]), ("good", 3))
        value, _ = measure({"x": 1.0}, {"bad": engines.Failure("crash")})
        self.assertTrue(value["failed"])
        self.assertEqual(value["reason"], "crash")

    def test_a_disturbed_measurement_is_repeated_and_the_quietest_counts(self):
        value, calls = measure({"x": [(9.0, 0.4), (1.0, 0.01)]}, {"a": 2.0}, rounds=1, retries=2)
        self.assertEqual(value["ratio"], 2)
        self.assertEqual(len(calls), 3)
        value, _ = measure({"x": [(8.0, 0.3), (9.0, 0.4)]}, {"a": 16.0}, rounds=1, retries=1)
        self.assertEqual((value["ratio"], value["quiet_rounds"]), (2, 0))

    def test_what_needs_more_memory_than_is_free_isn_t_started(self):
        if compare.available_memory() is None:
            self.skipTest("the free memory isn't known here")
        value, calls = measure({"x": 1.0}, {"a": 1.0}, memory=1 << 60)
        self.assertEqual(calls, [])
        self.assertIn("free memory", value["reason"])


class Programs(unittest.TestCase):
    def test_exit_codes_are_told_apart(self):
        for code, kind in ((64, engines.Unsupported), (69, engines.Unsupported), (1, engines.Failure), (70, engines.Failure)):
            with self.assertRaisesRegex(kind, f"sh: exit {code}: last words"):
                engines.execute(["sh", "-c", f"echo first >&2; echo last words >&2; exit {code}"], Quiet(None))

    def test_output_time_and_memory_are_read(self):
        finished = engines.execute(["sh", "-c", "echo out; echo err >&2"], Quiet(None))
        self.assertEqual((finished.out, finished.err), ("out\n", "err\n"))
        self.assertGreater(finished.seconds, 0)
        self.assertGreater(finished.peak_rss, 100_000)

    def test_other_output_is_a_failure(self):
        self.assertEqual(engines.find(r"taking ([\d.]+)s", "a taking 2.5s b taking 3s", "p"), [2.5, 3])
        with self.assertRaisesRegex(engines.Failure, "another version"):
            engines.find(r"taking ([\d.]+)s", "took 2 s", "p")

    def test_the_quiet_command_runs_around_the_block(self):
        quiet = Quiet("env")
        with quiet:
            self.assertIsNone(quiet.process.poll())
        self.assertIsNone(quiet.process)

    def test_own_work_isn_t_foreign(self):
        readings = [(10.0, 2.0, 100.0), (14.0, 5.0, 102.0)]
        load = ForeignLoad()
        load.read = lambda: readings.pop(0)
        with mock.patch("os.cpu_count", return_value=2), load:
            pass
        self.assertEqual(load.share, 0.25)


if __name__ == "__main__":
    unittest.main()
