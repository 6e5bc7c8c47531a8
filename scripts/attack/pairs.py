"""Two commands at once over one store."""

import json
import random

from servers import BODY, Server, whole


def attack(harness):
    kinds = {
        "register, register": (lambda a, b: [("models", "register", "new-a", a), ("models", "register", "new-b", a)], [0]),
        "register twice": (lambda a, b: [("models", "register", "same", a), ("models", "register", "same", b)], [0]),
        "download, download": (lambda a, b: [("models", "download", "m")] * 2, [0]),
        "download, remove": (lambda a, b: [("models", "download", "m"), ("models", "remove", "m", "--keep-registration")], [0, 64]),
        "verify, remove": (lambda a, b: [("models", "verify", "here"), ("models", "remove", "here")], [0, 64, 65, 66, 73]),
        "remove, remove": (lambda a, b: [("models", "remove", "here")] * 2, [0, 64, 66]),
        "register, remove": (lambda a, b: [("models", "register", "new-a", a), ("models", "remove", "here")], [0]),
        "list, download": (lambda a, b: [("models", "list", "--json"), ("models", "download", "m")], [0]),
        "clean, download": (lambda a, b: [("doctor", "--clean"), ("models", "download", "m")], [0]),
        "clean, remove": (lambda a, b: [("doctor", "--clean"), ("models", "remove", "here")], [0]),
    }
    chance = random.Random(3)
    for name, (commands, allowed) in kinds.items():
        row = harness.row("pairs", name)
        for number in range(harness.count(25)):
            server = Server(lambda head, count: whole())
            outer = harness.place()
            store = outer / "store"
            (outer / "local.bin").write_bytes(BODY)
            harness.run(store, "models", "register", "m", server.url())
            harness.run(store, "models", "register", "here", outer / "local.bin")
            harness.run(store, "models", "download", "here")
            words = commands(server.url("/a.bin"), server.url("/b.bin"))
            if chance.random() < 0.5:
                words = words[::-1]
            running = [harness.begin(store, *one) for one in words]
            results = [one.finish(60) for one in running]
            extra = []
            listed = harness.run(store, "models", "list", "--json", "--fixtures", str(harness.root / "Fixtures"))
            try:
                rows = {row["id"]: row for row in json.loads(listed.out) if row["kind"] == "registered"}
            except (ValueError, KeyError):
                rows, _ = {}, extra.append("the list can't be read")
            for one, result in zip(words, results):
                if one[1] == "register" and result.code == 0 and one[2] not in rows:
                    extra.append(f"the registration of {one[2]} is lost")
                if one[1] == "download" and result.code == 0 and "remove" not in name and rows.get("m", {}).get("state") != "downloaded":
                    extra.append("the download is lost")
                if one[1] == "remove" and result.code == 0 and "--keep-registration" not in one and "here" in rows and "verify" not in name:
                    extra.append("what was removed is there")
            verified = harness.run(store, "models", "verify")
            if verified.code != 0:
                extra.append(f"verify: {verified.err.strip()[-100:]}")
            for index, result in enumerate(results):
                if result.is_trap or result.timed_out or result.code not in allowed:
                    extra.append(f"{words[index][1]} ends with {result.code or result.signal}: {result.err.strip()[-100:]}")
            worst = max(results, key=lambda result: result.seconds)
            harness.judge(row, str(number), worst, None, extra)
            server.stop()
