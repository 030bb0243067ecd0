"""Renders the characters and their bag, checks the bones, and writes them as a mask and as RON.

    python3 -m venv /tmp/pictures && /tmp/pictures/bin/pip install resvg_py==0.5.0 numpy==2.4.6 pillow==13.0.0
    /tmp/pictures/bin/python assets/characters/render.py

From `postman.svg`: `postman.png` and the same in other clothes. From `postman_bones.svg`:
`postman_bones.png`, white ellipses on nothing, and `postman.bones.ron`, the same with names, joints
and limits. From `bag.svg`: `bag.png`, `bag_back.png`, `bag_front.png`.
"""

import io
import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import resvg_py
from PIL import Image

HERE = Path(__file__).parent
MOST_BYTES = 400_000
LEAST_SEPARATION = 3  # pixels between two bones
LEAST_MARGIN = 2  # pixels from a bone to the edge of the picture's silhouette

# Colours of postman.svg, and what each other one wears in their place.
COAT = ["#4a86b8", "#2f6296", "#1d3f68", "#152d4b", "#0a1a30"]
SCARF = ["#ee6a54", "#d23c34", "#962222", "#7d1a1d", "#5b0f14"]
BOOT = ["#8d5436", "#66371f", "#432211", "#2b150b"]
RED = ["#e0604c", "#b8322f", "#7e1b22", "#581017", "#32060c"]
GREEN = ["#6cae5e", "#3d7f45", "#215434", "#163c26", "#0a2416"]
GOLD = ["#ffd873", "#eeb23c", "#b67a1c", "#8f5a12", "#5f3808"]
BLACK = ["#5b5560", "#37323c", "#1f1b24", "#131017"]
VARIANTS = {
    "postman_red": {"coat": RED, "scarf": GREEN, "boot": BLACK},
    "postman_green": {"coat": GREEN, "scarf": GOLD, "boot": BOOT},
}

# Which bones are joined, and how far the second may turn against the first (rad, counter-clockwise).
JOINTS = [
    ("head", "cap tip", -0.5, 0.9),
    ("head", "neck", -0.4, 0.4),
    ("neck", "scarf", -1.2, 1.0),
    ("scarf", "scarf end", -1.2, 1.2),
    ("neck", "chest", -0.4, 0.4),
    ("chest", "belly", -0.4, 0.4),
    ("belly", "pelvis", -0.4, 0.4),
]
for side, sign in (("left", 1), ("right", -1)):
    for first, second, least, greatest in [
        ("chest", "upper arm", -1.3, 0.8),
        ("upper arm", "forearm", -1.2, 1.2),
        ("forearm", "hand", -0.7, 0.7),
        ("pelvis", "thigh", -0.9, 0.4),
        ("thigh", "shin", -0.9, 1.0),
        ("shin", "foot", -0.5, 0.6),
    ]:
        names = [n if n in ("chest", "pelvis") else f"{side} {n}" for n in (first, second)]
        JOINTS.append((*names, *sorted((sign * least, sign * greatest))))

# Where a joint is, in pixels of the drawing, if not midway between the two bones.
ANCHORS = {("chest", "left upper arm"): (208, 339), ("chest", "right upper arm"): (304, 339)}


def rendered(svg, width):
    """The picture as RGBA, straight alpha, without colour where nothing is drawn."""
    png = resvg_py.svg_to_bytes(svg_string=svg, width=width)
    pixels = np.array(Image.open(io.BytesIO(bytes(png))).convert("RGBA"))
    pixels[pixels[..., 3] == 0] = 0
    return pixels


def save(pixels, name):
    path = HERE / f"{name}.png"
    Image.fromarray(pixels).save(path, optimize=True)
    size = path.stat().st_size
    assert size <= MOST_BYTES, f"{path.name} has {size} bytes"
    print(f"{path.name}: {pixels.shape[1]} x {pixels.shape[0]}, {size} bytes")


def recoloured(svg, clothes):
    """The drawing with these tones in place of the first ones."""
    for worn, tones in (("coat", COAT), ("scarf", SCARF), ("boot", BOOT)):
        for tone, other in zip(tones, clothes[worn]):
            assert tone in svg, f"{tone} is not in the drawing"
            svg = svg.replace(tone, f"@{other[1:]}")
    return svg.replace("@", "#")


def blots(opaque):
    """Sets of pixels that hang together by sides or corners, by their first pixels: lists of (y, x)."""
    left = opaque.copy()
    found = []
    for first in zip(*np.nonzero(opaque)):
        if not left[first]:
            continue
        left[first] = False
        todo, blot = [first], []
        while todo:
            y, x = todo.pop()
            blot.append((y, x))
            around = left[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2]
            for dy, dx in zip(*np.nonzero(around)):
                todo.append((max(y - 1, 0) + dy, max(x - 1, 0) + dx))
            around[:] = False
        found.append(np.array(blot))
    return found


def grown(pixels, steps):
    """A set of pixels and all within so many steps, corners too."""
    pixels = np.pad(pixels, steps)
    for _ in range(steps):
        rows = pixels.copy()
        rows[1:] |= pixels[:-1]
        rows[:-1] |= pixels[1:]
        pixels = rows.copy()
        pixels[:, 1:] |= rows[:, :-1]
        pixels[:, :-1] |= rows[:, 1:]
    return pixels[steps:-steps, steps:-steps]


def ellipse(blot):
    """Centre, semi-axes (pixels) and angle (y down) of the ellipse with the same second moments."""
    y, x = blot.T.astype(float)
    xx, yy = x.var() + 1 / 12, y.var() + 1 / 12
    xy = ((x - x.mean()) * (y - y.mean())).mean()
    swing = math.hypot(xx - yy, 2 * xy)
    radii = [2 * math.sqrt((xx + yy + sign * swing) / 2) for sign in (1, -1)]
    return (x.mean(), y.mean()), radii, 0.5 * math.atan2(2 * xy, xx - yy)


def named(bones_svg, blots):
    """The names of the blots: of the ellipses whose centres lie in them."""
    centres = {
        node.get("id"): (float(node.get("cx")), float(node.get("cy")))
        for node in ElementTree.fromstring(bones_svg).iter("{http://www.w3.org/2000/svg}ellipse")
    }
    names = []
    for blot in blots:
        points = {tuple(p) for p in blot.tolist()}
        inside = [n for n, (x, y) in centres.items() if (int(y), int(x)) in points]
        assert len(inside) == 1, f"one blot holds the centres of {inside}"
        names += inside
    assert sorted(names) == sorted(centres), "a bone is missing"
    return names


def checked_bones(bones_svg, character):
    """The mask, and its blots with their names; fails where bones touch or leave the silhouette."""
    height, width = character.shape[:2]
    opaque = rendered(bones_svg, width)[..., 3] > 127
    assert opaque.shape == (height, width), "mask and picture differ in size"
    found = blots(opaque)
    names = named(bones_svg, found)
    outside = grown(character[..., 3] <= 127, LEAST_MARGIN)
    taken = np.zeros_like(opaque)
    for name, blot in zip(names, found):
        own = np.zeros_like(opaque)
        own[tuple(blot.T)] = True
        assert not (own & outside).any(), f"{name} leaves the silhouette"
        assert not (grown(own, LEAST_SEPARATION) & taken).any(), f"{name} touches another bone"
        taken |= own
    assert 18 <= len(found) <= 20, len(found)
    return opaque, names, found


def gap(a, b):
    """Least distance between the centres of two blots' pixels."""
    return min(np.hypot(*(b - p).T).min() for p in a)


def ron(names, found, size):
    """Bones as `BoneSet` reads them: lengths in picture heights, y up, angles counter-clockwise (rad)."""
    width, height = size
    lines = ["// Written by render.py.", "(", "    bones: ["]
    for name, blot in zip(names, found):
        (x, y), (a, b), angle = ellipse(blot)
        x, y = (x + 0.5 - width / 2) / height, -(y + 0.5 - height / 2) / height
        lines.append(
            f'        (name: "{name}", center: ({x:.5f}, {y:.5f}), '
            f"radii: ({a / height:.5f}, {b / height:.5f}), angle: {-angle:.4f}),"
        )
    lines += ["    ],", "    joints: ["]
    for first, second, least, greatest in JOINTS:
        fields = f"bones: ({names.index(first)}, {names.index(second)})"
        if (first, second) in ANCHORS:
            x, y = ANCHORS[first, second]
            fields += f", anchor: ({(x - width / 2) / height:.5f}, {-(y - height / 2) / height:.5f})"
        lines.append(f"        ({fields}, limits: ({least}, {greatest})), // {first}, {second}")
    return "\n".join([*lines, "    ],", ")", ""])


def postman():
    svg = (HERE / "postman.svg").read_text()
    picture = rendered(svg, 512)
    save(picture, "postman")
    for name, clothes in VARIANTS.items():
        variant = rendered(recoloured(svg, clothes), 512)
        assert (variant[..., 3] == picture[..., 3]).all(), f"{name} has another silhouette"
        save(variant, name)

    bones_svg = (HERE / "postman_bones.svg").read_text()
    opaque, names, found = checked_bones(bones_svg, picture)
    mask = np.zeros_like(picture)
    mask[opaque] = 255
    save(mask, "postman_bones")
    (HERE / "postman.bones.ron").write_text(ron(names, found, (512, 768)))
    print(f"{len(names)} bones: {', '.join(names)}")
    of_name = dict(zip(names, found))
    for first, second, *_ in JOINTS:
        print(f"  {first} - {second}: {gap(of_name[first], of_name[second]):.1f} pixels apart")


def bag():
    svg = (HERE / "bag.svg").read_text()
    save(rendered(svg, 256), "bag")
    for layer, other in (("back", "front"), ("front", "back")):
        tree = ElementTree.fromstring(svg)
        for node in tree.findall("*"):
            if node.get("id") == other:
                tree.remove(node)
        save(rendered(ElementTree.tostring(tree, encoding="unicode"), 256), f"bag_{layer}")


postman()
if (HERE / "bag.svg").exists():
    bag()
