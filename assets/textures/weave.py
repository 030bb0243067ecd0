"""Weaves `weave_color.png` and `weave_normal.png`: a tileable linen check.

    python3 -m venv /tmp/weave && /tmp/weave/bin/pip install numpy==2.4.6 pillow==13.0.0
    /tmp/weave/bin/python assets/textures/weave.py

The same seed gives the same pictures. One tile is 32 warp and 32 weft threads in plain weave. Every
thread has its own tone, width, wander and slubs, all periodic over the tile. Colour is sRGB with the
shade of the gaps in it; the normal map is in the OpenGL convention (green is up in the picture).
"""

from pathlib import Path

import numpy as np
from PIL import Image

SIZE = 512  # pixels along a side of the tile
THREADS = 32  # along a side; even, so that over and under meet across the seam
SUPERSAMPLE = 2
SEED = 7

# sRGB tones of the yarns.
ECRU = (236, 222, 196)
CLAY = (176, 74, 44)
OCHRE = (206, 140, 62)

# The check: (first thread, threads, tone), the same along warp and weft.
BANDS = [(3, 8, CLAY), (21, 2, OCHRE), (24, 2, OCHRE)]


def periodic_noise(rng, octaves, along):
    """A smooth curve for each thread over `along` samples of its length, of unit variance."""
    t = np.arange(along) / along * 2 * np.pi
    curve = np.zeros((THREADS, along))
    for k in octaves:
        amplitude = 1 / np.sqrt(k)
        phase = rng.uniform(0, 2 * np.pi, (THREADS, 1))
        curve += amplitude * rng.normal(size=(THREADS, 1)) * np.sin(k * t + phase)
    return curve / curve.std()


def linear(srgb):
    c = np.asarray(srgb, float) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def encoded(c):
    c = np.clip(c, 0, 1)
    return np.where(c <= 0.0031308, c * 12.92, 1.055 * c ** (1 / 2.4) - 0.055)


def yarn_tones(rng):
    """Linear RGB of each thread: the check, with a little drift in lightness and warmth."""
    tones = np.tile(linear(ECRU), (THREADS, 1))
    for first, count, tone in BANDS:
        tones[first : first + count] = linear(tone)
    lightness = 1 + 0.05 * rng.normal(size=(THREADS, 1))
    warmth = 1 + 0.03 * np.clip(rng.normal(size=(THREADS, 1)), -0.6, 2) * np.array([0.5, 0, -1])
    return tones * lightness * warmth


def yarns(rng, n, parity):
    """Height, RGB and presence of the threads that run along axis 0, on an n × n grid."""
    pitch = n / THREADS
    wander = 0.07 * periodic_noise(rng, range(1, 6), n)  # in pitches
    width = 0.47 * (1 + 0.09 * periodic_noise(rng, range(1, 9), n))
    slub = np.clip(periodic_noise(rng, range(2, 14), n) - 1.9, 0, 1)
    width = np.minimum(width + 0.10 * slub, 0.62)
    tones = yarn_tones(rng)

    # The spun fibres: fine streaks that climb across the thread.
    fibre_rows = rng.normal(size=(THREADS, 8, n))
    kernel = np.exp(-0.5 * (np.arange(-12, 13) / 4.0) ** 2)
    spectrum = np.fft.rfft(np.pad(kernel, (0, n - kernel.size)))
    fibre_rows = np.fft.irfft(np.fft.rfft(fibre_rows, axis=2) * spectrum, n, axis=2)
    fibre_rows /= fibre_rows.std()

    height = np.full((n, n), -2.0)
    colour = np.zeros((n, n, 3))
    s = np.arange(n)
    for k in range(THREADS):
        centre = (k + 0.5 + wander[k]) * pitch
        half = width[k] * pitch
        reach = int(pitch)
        base = int((k + 0.5) * pitch)
        columns = np.arange(base - reach, base + reach)
        across = (columns[None, :] + 0.5 - centre[:, None]) / half[:, None]  # −1..1 in the thread
        inside = np.abs(across) < 1
        round_ = np.sqrt(np.clip(1 - across**2, 0, 1))
        # Over where k + crossing is even, under elsewhere: a rounded wave along the thread.
        wave = np.sin((s + 0.5) / pitch * np.pi) * (1 if (k + parity) % 2 == 0 else -1)
        wave = np.sign(wave) * np.abs(wave) ** 0.7
        twist = (across * 3.5 + 4).astype(int).clip(0, 7)
        shift = (s[:, None] + across * pitch * 0.8).astype(int) % n
        fibre = fibre_rows[k][twist, shift]
        z = 0.62 * wave[:, None] + 0.55 * round_ - 0.55 + 0.020 * fibre + 0.12 * slub[k][:, None]
        z = np.where(inside, z, -2.0)
        wrapped = columns % n
        above = z > height[:, wrapped]
        shade = (1 + 0.055 * fibre) * (0.66 + 0.34 * round_)
        rgb = tones[k][None, None, :] * shade[:, :, None]
        height[:, wrapped] = np.where(above, z, height[:, wrapped])
        colour[:, wrapped] = np.where(above[:, :, None], rgb, colour[:, wrapped])
    return height, colour


def blur(field, radius):
    """A periodic Gaussian blur."""
    n = field.shape[0]
    f = np.fft.fftfreq(n)
    g = np.exp(-2 * (np.pi * radius) ** 2 * (f[:, None] ** 2 + f[None, :] ** 2))
    return np.fft.ifft2(np.fft.fft2(field) * g).real


def shrink(field):
    """The mean of each SUPERSAMPLE² block."""
    m = field.shape[0] // SUPERSAMPLE
    return field.reshape(m, SUPERSAMPLE, m, SUPERSAMPLE, -1).mean(axis=(1, 3))


def weave():
    rng = np.random.default_rng(SEED)
    n = SIZE * SUPERSAMPLE
    warp_height, warp = yarns(rng, n, 0)
    weft_height, weft = yarns(rng, n, 1)
    weft_height, weft = weft_height.T, weft.transpose(1, 0, 2)

    over = warp_height > weft_height
    height = np.maximum(np.maximum(warp_height, weft_height), -0.9)
    colour = np.where(over[:, :, None], warp, weft)

    # Gaps and the feet of threads lie in shade.
    pitch = n / THREADS
    sunk = np.clip(blur(height, 0.35 * pitch) - height, 0, 1)
    gap = np.clip((height + 0.9) / 0.5, 0, 1)
    colour *= (1 - 0.5 * sunk)[:, :, None]
    behind = 0.22 * np.stack([blur(colour[:, :, c], 0.8 * pitch) for c in range(3)], axis=2)
    colour = behind + (colour - behind) * gap[:, :, None]

    h = blur(height, 0.06 * pitch) * 0.34 * pitch  # in pixels of the fine grid
    dx = (np.roll(h, -1, 1) - np.roll(h, 1, 1)) / 2
    dy = (np.roll(h, -1, 0) - np.roll(h, 1, 0)) / 2
    normal = np.stack([-dx, dy, np.ones_like(h)], axis=2)
    normal /= np.linalg.norm(normal, axis=2, keepdims=True)

    colour = encoded(shrink(colour))
    normal = shrink(normal)
    normal /= np.linalg.norm(normal, axis=2, keepdims=True)
    return colour, normal * 0.5 + 0.5


def save(path, picture, step):
    """Writes 8-bit RGB, in steps of `step` levels (invisible, and it halves the file)."""
    levels = np.round(np.clip(picture, 0, 1) * 255 / step) * step
    Image.fromarray(np.clip(levels, 0, 255).astype(np.uint8)).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size // 1000} kB")


def main():
    here = Path(__file__).parent
    colour, normal = weave()
    save(here / "weave_color.png", colour, 2)
    save(here / "weave_normal.png", normal, 2)


if __name__ == "__main__":
    main()
