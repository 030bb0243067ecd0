"""Renders the scenery of the Christmas card and of the ragdolls' stage.

    python3 -m venv /tmp/pictures && /tmp/pictures/bin/pip install resvg_py==0.5.0 numpy==2.4.6 pillow==13.0.0
    /tmp/pictures/bin/python assets/card/render.py

Each drawing becomes a picture of its own size next to it.
"""

import io
from pathlib import Path

import numpy as np
import resvg_py
from PIL import Image

HERE = Path(__file__).parent
MOST_BYTES = 400_000
OPAQUE = ["background", "backdrop", "plank"]
LARGEST_STEP = 72  # of 255, across a seam: an edge that slopes by a quarter has 64
TILES_ACROSS = ["ground", "plank"]


def rendered(path):
    """The picture as RGBA, straight alpha, without colour where nothing is drawn."""
    png = resvg_py.svg_to_bytes(svg_string=path.read_text())
    pixels = np.array(Image.open(io.BytesIO(bytes(png))).convert("RGBA"))
    pixels[pixels[..., 3] == 0] = 0
    return pixels


def check(name, pixels):
    if name in OPAQUE:
        assert (pixels[..., 3] == 255).all(), f"{name} has holes"
    if name in TILES_ACROSS:
        ends = pixels[:, [0, -1]].astype(int)
        drawn = np.concatenate([ends[..., :3] * ends[..., 3:] // 255, ends[..., 3:]], axis=2)
        seam = np.abs(drawn[:, 0] - drawn[:, 1]).max()
        assert seam <= LARGEST_STEP, f"{name} has a seam of {seam}"


def main():
    for path in sorted(HERE.glob("*.svg")) + sorted((HERE.parent / "stage").glob("*.svg")):
        pixels = rendered(path)
        check(path.stem, pixels)
        picture = Image.fromarray(pixels)
        if path.stem in OPAQUE:
            picture = picture.convert("RGB")
        to = path.with_suffix(".png")
        picture.save(to, optimize=True)
        size = to.stat().st_size
        assert size <= MOST_BYTES, f"{to.name} has {size} bytes"
        print(f"{to.parent.name}/{to.name}: {picture.width} x {picture.height}, {size} bytes")


main()
