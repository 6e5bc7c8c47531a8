"""The procedural world that the small models are trained on: scenes, their captions, and their pictures.

A scene is a background colour and one to three shapes, each with a kind, a colour, a size and a place. Scenes are drawn
from anti-aliased signed distances, so that a batch can be rendered at any resolution. Captions come from a small grammar
with synonyms and several word orders.
"""

import dataclasses
import hashlib
import math
import random

import torch

COLOURS = {
    "red": (0.88, 0.10, 0.12), "orange": (1.00, 0.55, 0.05), "yellow": (0.98, 0.90, 0.10), "green": (0.10, 0.65, 0.20),
    "blue": (0.10, 0.25, 0.90), "purple": (0.50, 0.12, 0.65), "pink": (1.00, 0.55, 0.78), "white": (0.98, 0.98, 0.98),
    "black": (0.04, 0.04, 0.04), "gray": (0.52, 0.52, 0.52),
}
COLOUR_NAMES = list(COLOURS)
KINDS = ["circle", "square", "triangle", "star", "heart", "ring"]
HAZARD = "hazard"
ALL_KINDS = [*KINDS, HAZARD]
SIZES = {"small": 0.15, "medium": 0.215, "large": 0.3}

KIND_WORDS = {
    "circle": ["circle", "circle", "circle", "disc"], "square": ["square", "square", "square", "box"], "triangle": ["triangle"],
    "star": ["star"], "heart": ["heart"], "ring": ["ring", "ring", "ring", "hoop"],
}
COLOUR_WORDS = {"purple": ["purple", "purple", "violet"], "gray": ["gray", "grey"], "red": ["red", "red", "red", "crimson"]}
SIZE_WORDS = {"small": ["small", "small", "little", "tiny"], "large": ["large", "large", "big", "huge"], "medium": ["", "", "", "medium"]}
PLACES = {
    "center": ["", "", "in the center", "in the middle"],
    "top": ["at the top"], "bottom": ["at the bottom"], "left": ["on the left"], "right": ["on the right"],
    "top left": ["in the top left", "in the upper left", "in the top left corner"],
    "top right": ["in the top right", "in the upper right", "in the top right corner"],
    "bottom left": ["in the bottom left", "in the lower left", "in the bottom left corner"],
    "bottom right": ["in the bottom right", "in the lower right", "in the bottom right corner"],
}
HAZARD_WORDS = ["a hazard sign", "a warning sign", "a black and yellow striped triangle", "a hazard warning sign"]
PREFIXES = ["", "", "", "", "a picture of ", "a drawing of ", "an image of "]


@dataclasses.dataclass
class Thing:
    kind: str
    colour: str
    size: str
    place: str
    x: float = 0.5
    y: float = 0.5
    radius: float = 0.2


@dataclasses.dataclass
class Scene:
    background: str
    things: list
    relation: str = ""  # "", "beside", "above", "same"


def held_out(kind, colour, background):
    """One in eight combinations of kind, colour and background is kept from training."""
    return hashlib.sha256(f"{kind}/{colour}/{background}".encode()).digest()[0] % 8 == 0


def _article(words):
    return ("an " if words[0] in "aeiou" else "a ") + words


def _jitter(rng, amount):
    return rng.uniform(-amount, amount)


def place_single(rng, thing):
    edge = 0.27 if thing.size != "large" else 0.35
    thing.radius = SIZES[thing.size] * (1 + _jitter(rng, 0.07))
    if thing.kind == HAZARD:
        thing.radius *= 1.15
    thing.x = edge if "left" in thing.place else 1 - edge if "right" in thing.place else 0.5
    thing.y = edge if "top" in thing.place else 1 - edge if "bottom" in thing.place else 0.5
    thing.x += _jitter(rng, 0.03)
    thing.y += _jitter(rng, 0.03)


def random_scene(rng, count=None, allow_held_out=False, only_held_out=False, hazard=None):
    """A random scene; `hazard` None puts a hazard sign in one scene of 25, True always, False never."""
    count = count or rng.choices([1, 2, 3], [80, 14, 6])[0]
    if hazard is None:
        hazard = rng.random() < 0.04
    while True:
        background = rng.choice(COLOUR_NAMES) if rng.random() < 0.8 else "white"
        same = count > 1 and rng.random() < 0.3
        things = []
        for index in range(count):
            if same and things:
                first = things[0]
                things.append(Thing(first.kind, first.colour, first.size, ""))
                continue
            colour = rng.choice([name for name in COLOUR_NAMES if name != background])
            things.append(Thing(rng.choice(KINDS), colour, rng.choice(["small", "medium", "medium", "large", "large"]), ""))
        if hazard:
            background = rng.choice([name for name in COLOUR_NAMES if name not in ("yellow", "black")])
            things[0] = Thing(HAZARD, "yellow", rng.choice(["medium", "large"]), "")
            same = False
        unseen = [held_out(thing.kind, thing.colour, background) for thing in things]
        if only_held_out and not all(unseen):
            continue
        if not only_held_out and not allow_held_out and any(unseen):
            continue
        break
    scene = Scene(background, things)
    if count == 1:
        things[0].place = "center" if rng.random() < 0.4 else rng.choice(list(PLACES))
        place_single(rng, things[0])
        return scene
    vertical = count == 2 and rng.random() < 0.4
    scene.relation = "same" if same and not vertical else "above" if vertical else "beside"
    step, first = (0.5, 0.25) if count == 2 else (0.31, 0.19)
    for index, thing in enumerate(things):
        along = first + step * index + _jitter(rng, 0.02)
        across = 0.5 + _jitter(rng, 0.04)
        thing.x, thing.y = (across, along) if vertical else (along, across)
        names = ["top", "bottom"] if vertical else ["left", "right"] if count == 2 else ["left", "center", "right"]
        thing.place = names[index]
        limit = 0.185 if count == 2 else 0.13
        thing.radius = min(SIZES[thing.size] * 0.72, limit) * (1 + _jitter(rng, 0.05))
        if thing.size == "small":
            thing.radius = 0.105 * (1 + _jitter(rng, 0.05))
    return scene


# ---------------------------------------------------------------- captions


def _noun(rng, thing, size=True, plural=False):
    if thing.kind == HAZARD:
        return rng.choice(HAZARD_WORDS)
    kind = rng.choice(KIND_WORDS[thing.kind])
    if plural:
        kind = {"box": "boxes"}.get(kind, kind + "s")
    colour = rng.choice(COLOUR_WORDS.get(thing.colour, [thing.colour]))
    size = rng.choice(SIZE_WORDS[thing.size]) if size else ""
    words = " ".join(part for part in (size, colour, kind) if part)
    return words if plural else _article(words)


def _background(rng, scene):
    return rng.choice(COLOUR_WORDS.get(scene.background, [scene.background]))


def caption(rng, scene):
    """One way to say the scene in full."""
    things = scene.things
    background = _background(rng, scene)
    if len(things) == 1:
        thing = things[0]
        place = rng.choice(PLACES[thing.place])
        noun = _noun(rng, thing)
        form = rng.randrange(6)
        if form <= 2:
            body = f"{noun} {place} on {_article(background)} background"
        elif form == 3:
            body = f"{noun} {place}, {background} background"
        elif form == 4:
            return " ".join(f"{_article(background)} background with {noun} {place}".split())
        else:
            body = f"{place + ', ' if place else ''}{noun} on {background}"
        return rng.choice(PREFIXES if form != 5 else [""]) + " ".join(body.split()).replace(" ,", ",")
    if scene.relation == "same":
        number = {2: "two", 3: "three"}[len(things)]
        body = f"{number} {_noun(rng, things[0], plural=True)}"
    elif len(things) == 2:
        first, second = _noun(rng, things[0]), _noun(rng, things[1])
        vertical = scene.relation == "above"
        form = rng.randrange(4)
        if form == 0:
            body = f"{first} {'above' if vertical else 'to the left of'} {second}"
        elif form == 1:
            body = f"{second} {rng.choice(['below', 'under']) if vertical else 'to the right of'} {first}"
        elif form == 2:
            body = f"{first} {PLACES[things[0].place][0]} and {second} {PLACES[things[1].place][0]}"
        else:
            body = f"{first} {'over' if vertical else 'next to'} {second}"
    else:
        nouns = [_noun(rng, thing) for thing in things]
        if rng.random() < 0.5:
            body = f"{nouns[0]} on the left, {nouns[1]} in the middle and {nouns[2]} on the right"
        else:
            body = f"{nouns[0]}, {nouns[1]} and {nouns[2]}"
    return body + rng.choice([f" on {_article(background)} background", f", {background} background", f" on {background}"])


def partial_caption(rng, scene):
    """A caption that leaves something out: what short and negative prompts are made of."""
    thing = scene.things[0]
    background = _background(rng, scene)
    kind = rng.choice(KIND_WORDS.get(thing.kind, ["hazard sign"]))
    colour = rng.choice(COLOUR_WORDS.get(thing.colour, [thing.colour])) if thing.kind != HAZARD else "yellow"
    options = [
        _noun(rng, thing), _article(kind), kind, f"{background} background", f"{_article(background)} background",
        _noun(rng, thing) + " " + PLACES[thing.place][-1], colour, f"{colour} {kind}",
    ]
    return " ".join(rng.choice(options).split())


def any_caption(rng, scene):
    return partial_caption(rng, scene) if len(scene.things) == 1 and rng.random() < 0.12 else caption(rng, scene)


def all_words():
    """Every word that a caption can hold."""
    words = set("a an on with and the in at to of background picture drawing image two three left right above below under over next"
                " , . ? !".split())
    for table in (KIND_WORDS, COLOUR_WORDS, SIZE_WORDS, PLACES):
        for values in table.values():
            for value in values:
                words.update(value.split())
    for kind in [word for words_ in KIND_WORDS.values() for word in words_]:
        words.add({"box": "boxes"}.get(kind, kind + "s"))
    words.update(COLOUR_NAMES)
    words.update(" ".join(HAZARD_WORDS).split())
    return sorted(words)


# ---------------------------------------------------------------- pictures


def _regular(points, radii, turn=0.0):
    return [
        (radii[i % len(radii)] * math.sin(2 * math.pi * i / points + turn), -radii[i % len(radii)] * math.cos(2 * math.pi * i / points + turn))
        for i in range(points)
    ]


POLYGONS = {
    "triangle": [(x, y + 0.18) for x, y in _regular(3, [1.18])],
    "star": [(x, y + 0.06) for x, y in _regular(10, [1.15, 0.50])],
}


def _polygon(x, y, corners):
    distance = torch.full_like(x, 1e9)
    sign = torch.ones_like(x)
    for index, (bx, by) in enumerate(corners):
        ax, ay = corners[index - 1]
        ex, ey, wx, wy = ax - bx, ay - by, x - bx, y - by
        along = ((wx * ex + wy * ey) / (ex * ex + ey * ey)).clamp(0, 1)
        dx, dy = wx - ex * along, wy - ey * along
        distance = torch.minimum(distance, dx * dx + dy * dy)
        one, two, three = y >= by, y < ay, ex * wy > ey * wx
        flip = (one & two & three) | (~one & ~two & ~three)
        sign = torch.where(flip, -sign, sign)
    return sign * distance.sqrt()


def _heart(x, y):
    """A heart of two circular arcs and two tangents, its point downward (y grows downward)."""
    x, y = x.abs() / 1.75, (0.95 - y) / 1.75
    upper = ((x - 0.25) ** 2 + (y - 0.75) ** 2).sqrt() - math.sqrt(2) / 4
    middle = 0.5 * (x + y).clamp_min(0)
    lower = torch.minimum(x**2 + (y - 1) ** 2, (x - middle) ** 2 + (y - middle) ** 2).sqrt() * torch.sign(x - y)
    return torch.where(x + y > 1, upper, lower) * 1.75


def distance(kind, x, y):
    """The signed distance to a shape of radius 1 around the origin, negative inside; y grows downward."""
    if kind == "circle":
        return (x * x + y * y).sqrt() - 0.98
    if kind == "ring":
        return ((x * x + y * y).sqrt() - 0.75).abs() - 0.25
    if kind == "square":
        dx, dy = x.abs() - 0.86, y.abs() - 0.86
        return (dx.clamp_min(0) ** 2 + dy.clamp_min(0) ** 2).sqrt() + torch.maximum(dx, dy).clamp_max(0)
    if kind == "heart":
        return _heart(x, y)
    return _polygon(x, y, POLYGONS["triangle" if kind == HAZARD else kind])


def _stripes(x, y):
    """The signed distance to the diagonal stripes of the hazard sign."""
    phase = (x + y) / math.sqrt(2) / 0.46
    return ((phase - phase.floor() - 0.5).abs() - 0.25) * 0.46


def _grid(size):
    centres = (torch.arange(size, dtype=torch.float32) + 0.5) / size
    return centres[None, None, :], centres[None, :, None]


def render(scenes, size):
    """Pictures [N, 3, size, size] in 0...1."""
    gx, gy = _grid(size)
    pictures = torch.tensor([COLOURS[scene.background] for scene in scenes])[:, :, None, None].expand(-1, -1, size, size).clone()
    for layer in range(max(len(scene.things) for scene in scenes)):
        for kind in ALL_KINDS:
            rows = [i for i, scene in enumerate(scenes) if layer < len(scene.things) and scene.things[layer].kind == kind]
            if not rows:
                continue
            things = [scenes[i].things[layer] for i in rows]
            column = lambda values: torch.tensor(values)[:, None, None]
            radius = column([thing.radius for thing in things])
            x = (gx - column([thing.x for thing in things])) / radius
            y = (gy - column([thing.y for thing in things])) / radius
            scale = radius * size
            cover = (0.5 - distance(kind, x, y) * scale).clamp(0, 1)[:, None]
            if kind == HAZARD:
                dark = (0.5 - _stripes(x, y) * scale).clamp(0, 1)[:, None]
                rim = (0.5 + (distance(kind, x, y) + 0.09) * scale).clamp(0, 1)[:, None]
                dark = torch.maximum(dark, rim)
                yellow, black = (torch.tensor(COLOURS[name])[None, :, None, None] for name in ("yellow", "black"))
                colour = yellow * (1 - dark) + black * dark
            else:
                colour = torch.tensor([COLOURS[thing.colour] for thing in things])[:, :, None, None]
            pictures[rows] = pictures[rows] * (1 - cover) + colour * cover
    return pictures


# ---------------------------------------------------------------- latents

# What the autoencoder's four latent channels mean, after `scaling_factor`: three averages of colour and a code of the kind.
KIND_CODES = {"circle": -2.1, "square": -1.4, "triangle": -0.7, "star": 0.0, "heart": 0.7, "ring": 1.4, HAZARD: 2.1}


def latents(scenes, cells, pictures=None):
    """Latents [N, 4, cells, cells] of scenes: colours averaged over each cell (-1...1), and the code of the nearest shape's kind."""
    if pictures is None:
        pictures = render(scenes, cells * 8)
    size = cells * 4
    colour = torch.nn.functional.adaptive_avg_pool2d(pictures, cells) * 2 - 1
    gx, gy = _grid(size)
    code = torch.zeros(len(scenes), size, size)
    nearest = torch.full((len(scenes), size, size), math.inf)
    for layer in range(max(len(scene.things) for scene in scenes)):
        rows = [i for i, scene in enumerate(scenes) if layer < len(scene.things)]
        things = [scenes[i].things[layer] for i in rows]
        column = lambda values: torch.tensor(values)[:, None, None]
        far = ((gx - column([t.x for t in things])) ** 2 + (gy - column([t.y for t in things])) ** 2).sqrt() - column([t.radius for t in things])
        closer = far < nearest[rows]
        nearest[rows] = torch.where(closer, far, nearest[rows])
        code[rows] = torch.where(closer, column([KIND_CODES[t.kind] for t in things]), code[rows])
    code = torch.nn.functional.adaptive_avg_pool2d(code[:, None], cells)
    return torch.cat([colour, code], 1)


def geometry(scenes, cells):
    """Per cell what the nearest shape is: [N, 9, cells, cells] of its offset (2, in half widths), its radius (times 4), its colour
    and the ground's (3 each, -1...1); and its kind's index [N, cells, cells]."""
    gx, gy = _grid(cells)
    count = len(scenes)
    values, kinds = torch.zeros(count, 9, cells, cells), torch.zeros(count, cells, cells, dtype=torch.long)
    nearest = torch.full((count, cells, cells), math.inf)
    values[:, 6:] = torch.tensor([COLOURS[scene.background] for scene in scenes])[:, :, None, None] * 2 - 1
    for layer in range(max(len(scene.things) for scene in scenes)):
        rows = torch.tensor([i for i, scene in enumerate(scenes) if layer < len(scene.things)])
        things = [scenes[i].things[layer] for i in rows.tolist()]
        column = lambda numbers: torch.tensor(numbers)[:, None, None]
        dx, dy = column([t.x for t in things]) - gx, column([t.y for t in things]) - gy
        radius = column([t.radius for t in things])
        far = (dx**2 + dy**2).sqrt() - radius
        closer = far < nearest[rows]
        nearest[rows] = torch.where(closer, far, nearest[rows])
        colour = torch.tensor([COLOURS[t.colour] for t in things])[:, :, None, None].expand(-1, -1, cells, cells) * 2 - 1
        found = torch.cat([torch.stack([2 * dx.expand_as(far), 2 * dy.expand_as(far), 4 * radius.expand_as(far)], 1), colour], 1)
        values[rows, :6] = torch.where(closer[:, None], found, values[rows, :6])
        kinds[rows] = torch.where(closer, column([ALL_KINDS.index(t.kind) for t in things]), kinds[rows])
    return values, kinds


def scenes(seed, number, **options):
    """As many random scenes; `options` are those of random_scene."""
    rng = random.Random(seed)
    return [random_scene(rng, **options) for _ in range(number)]
