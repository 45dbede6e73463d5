"""Rendering of portraits from traits.

Every portrait is a small three-dimensional scene: an ellipsoid for the head, features painted on it in the
coordinates of the head (so that a rotation moves and foreshortens them), and a relief that changes its
normals for the light. Lengths are in half-images; x runs to the right, y down, z to the viewer.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
from sklearn.utils import Bunch

Values = np.ndarray | float  # that broadcast to (n, size, size)

# Choices, as are the numbers of every layer.
_FRAME = 0.93  # half the side of the image, in half-images of the scene


def _step(x: np.ndarray, low: float, high: float) -> np.ndarray:
    """Compute a smooth step from 0 at `low` to 1 at `high`."""
    t = np.clip((x - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


def _unit(*parts: Values) -> list[np.ndarray]:
    norm = np.sqrt(sum(part * part for part in parts)) + 1e-6
    return [part / norm for part in parts]


class Scene:
    """Batch of portraits: tone (reflectance) and normal of every pixel, painted from back to front.

    Parameters
    ----------
    traits : Bunch of arrays of shape (n, 1, 1)
        Traits, one value a portrait.
    yaws : ndarray of shape (n,)
        Rotation of each head about the vertical axis, in degrees.
    pose_errors : ndarray of shape (n, 3)
        Errors of each portrait in rotation and in position (x, y), in units of 0.03 rad and 0.012 half-images.
    size : int
        Pixels a side.
    """

    def __init__(self, traits: Bunch, yaws: np.ndarray, pose_errors: np.ndarray, size: int):
        self.t = traits
        yaw_error, dx, dy = (column[:, None, None].astype(np.float32) for column in pose_errors.T)
        yaw = np.deg2rad(yaws)[:, None, None].astype(np.float32) + 0.03 * yaw_error
        self.cos, self.sin = np.cos(yaw), np.sin(yaw)
        self.pixel = np.float32(2 * _FRAME / size)
        grid = ((np.arange(size, dtype=np.float32) + 0.5) * self.pixel - _FRAME)[None]
        self.x = grid[:, None, :] - 0.05 * self.sin - 0.012 * dx  # measured from the middle of the head
        self.y = grid[:, :, None] + 0.05 - 0.012 * dy
        shape = (len(yaws), size, size)
        self.tone = np.zeros(shape, np.float32)
        self.normal = [np.zeros(shape, np.float32), np.zeros(shape, np.float32), np.ones(shape, np.float32)]

    def draw(self) -> Self:
        """Paint all layers, from back to front."""
        self.tone += 0.40 + 0.32 * np.exp(-1.4 * (self.x**2 + (self.y + 0.1) ** 2))
        self._back_hair()
        self._body()
        self._head()
        self._relief()
        self._beard()
        self._eyes()
        self._brows()
        self._nose()
        self._mouth()
        self._glasses()
        self._ears()
        self._hair()
        return self

    def render(self, lights: np.ndarray, oversample: int) -> np.ndarray:
        """Render images of shape (n, n_lights, size / oversample, size / oversample) for directions of the light."""
        n, size = len(self.tone), self.tone.shape[1] // oversample
        images = np.empty((n, len(lights), size, size), np.float32)
        for i, direction in enumerate(lights):
            facing = sum(d * part for d, part in zip(direction, self.normal, strict=True))
            # The offset softens the edge of the shadow, as an extended light source does.
            # Light from everywhere has intensity 0.25, that from one direction 0.98.
            shade = 0.25 + 0.98 * np.maximum((facing + 0.15) / 1.15, 0)
            fine = np.minimum(self.tone * shade, 1).reshape(n, size, oversample, size, oversample)
            images[:, i] = fine.mean(axis=(2, 4)) ** 0.8  # from intensity to grey value
        return images

    # Tools: coverage, paint, surfaces.

    def _inside(self, distance: Values) -> np.ndarray:
        """Return the coverage of pixels by the region `distance` < 0, its edge softened over a pixel."""
        return np.clip(0.5 - distance / (1.4 * self.pixel), 0, 1)

    def _ellipse(self, u: Values, v: Values, a: Values, b: Values) -> np.ndarray:
        radius = np.sqrt((u / a) ** 2 + (v / b) ** 2)
        return self._inside((radius - 1) * np.minimum(a, b))

    def _paint(self, coverage: Values, tone: Values, normal: Sequence[np.ndarray] | None = None) -> None:
        self.tone += coverage * (tone - self.tone)
        if normal is not None:
            for mine, other in zip(self.normal, normal, strict=True):
                mine += coverage * (other - mine)

    def _darken(self, coverage: Values, factor: Values) -> None:
        self.tone *= 1 - coverage * (1 - factor)

    def _ellipsoid(
        self, width: Values, height: Values, square: Values, jaw: Values = 0.0, lift: float = 0.0
    ) -> tuple[np.ndarray, list[np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
        """Return distance from the edge, normal and position (side, front, level) of pixels on a rotated ellipsoid."""
        v = (self.y + lift) / height
        width = width * (1 - jaw * _step(v, -0.15, 1.0))
        u = self.x / width
        radius = (np.abs(u) ** square + np.abs(v) ** square) ** (1 / square)
        depth = np.sqrt(np.maximum(1 - radius * radius, 0))
        side, front = u * self.cos - depth * self.sin, u * self.sin + depth * self.cos
        return (radius - 1) * width, _unit(u, v * width / height, depth + 0.08), side, front, v

    # Layers, from back to front.

    def _back_hair(self) -> None:
        t = self.t
        half = t.width * (1.10 + t.hair_volume)
        u, v = self.x / half, (self.y - 0.5 * t.hair_length * t.height) / (0.75 * t.height)
        edge = (np.abs(u) ** 4 + np.abs(v) ** 4) ** 0.25 - 1
        self._paint(t.long_hair * self._inside(edge * half), 0.7 * t.hair_tone, _unit(u, 0.2 * v, 0.9))

    def _body(self) -> None:
        t = self.t
        x = self.x + 0.05 * self.sin  # the body is not rotated with the head
        neck = 0.54 * t.width
        u = x / neck
        round_ = _unit(u, 0.25, np.sqrt(np.maximum(1.05 - u * u, 0.02)))
        self._paint(self._inside((np.abs(u) - 1) * neck) * (self.y > 0), 0.80 * t.skin, round_)
        shadow = _step(self.y, t.height + 0.22, t.height - 0.05) * self._inside((np.abs(u) - 1) * neck)
        self._darken(shadow * (self.y > 0.3), 0.62)
        collar = 0.80 + 0.12 * np.cos(np.clip(u, -1.6, 1.6) * 1.9)
        shoulder = 0.74 + 0.50 * np.abs(x) ** 2.2
        cloth = self._inside(np.maximum(shoulder, collar) - self.y)
        self._paint(cloth, t.shirt, _unit(0.8 * x, -0.45, 0.9))

    def _head(self) -> None:
        t = self.t
        edge, normal, side, front, _ = self._ellipsoid(t.width, t.height, t.square, t.jaw)
        self.head = self._inside(edge)
        self._paint(self.head, t.skin, normal)
        self.u, self.v = side * t.width, self.y  # position of each pixel on the frontal face
        self.face = self.head * _step(front, -0.05, 0.15)
        self.eye_u = np.abs(self.u) - t.eye_gap
        self.eye_v = self.v - t.eye_level
        self.nose_u = self.u - 0.11 * t.nose_height * self.sin  # the tip protrudes, and so moves further
        self.nose_v = self.v - t.eye_level - t.nose_length
        self.mouth_v = self.nose_v - t.mouth_drop
        self.mouth_u = self.u - 0.03 * self.sin
        # Cheeks a shade warmer, brow and chin a shade lighter.
        blush = np.exp(-(((np.abs(self.u) - 0.27) / 0.12) ** 2) - ((self.nose_v + 0.02) / 0.12) ** 2)
        self._darken(0.10 * blush * self.face, 0.5)

    def _relief(self) -> None:
        t, mirrored = self.t, np.sign(self.u)
        bumps = [  # u, v, breadth, height on the face, how far it protrudes, direction of u
            (self.nose_u, self.nose_v + 0.12, 0.55 * t.nose_width, 0.13, 0.042 * t.nose_height, 1),
            (self.nose_u, self.nose_v + 0.015, 0.75 * t.nose_width, 0.042, 0.036 * t.nose_height, 1),
            (self.eye_u, self.eye_v, 0.12, 0.07, -0.030, mirrored),
            (self.eye_u, self.eye_v + t.brow_lift + 0.01, 0.16, 0.05, 0.014, mirrored),
            (np.abs(self.u) - 0.30, self.nose_v + 0.02, 0.10, 0.09, 0.020, mirrored),
            (self.mouth_u, self.mouth_v - 0.5 * t.lip, t.mouth_width, 0.035, 0.016, 1),
            (self.mouth_u, self.mouth_v - 0.17 - 0.5 * t.mouth_open, 0.11, 0.055, 0.018, 1),
        ]
        slope_u, slope_v = np.zeros_like(self.tone), np.zeros_like(self.tone)
        for u, v, breadth, length, out, direction in bumps:
            fall = out * np.exp(-0.5 * ((u / breadth) ** 2 + (v / length) ** 2))
            slope_u -= direction * fall * u / breadth**2
            slope_v -= fall * v / length**2
        nx, ny, nz = self.normal
        bent = _unit(nx - slope_u * self.cos, ny - slope_v, nz + slope_u * self.sin)
        self._paint(self.face, self.tone, bent)

    def _beard(self) -> None:
        t = self.t
        chin = _step(self.mouth_v + 0.35 * np.abs(self.u) - 0.03, -0.10, 0.06)
        cheeks = _step(np.abs(self.u), 0.26, 0.38) * _step(self.nose_v, -0.12, 0.05)
        self._darken(0.85 * self.face * np.maximum(chin, cheeks) * t.beard, 0.25 + 0.7 * t.hair_tone)
        lip = np.exp(-(((self.mouth_v + 0.062) / 0.034) ** 2)) * _step(np.abs(self.mouth_u), 0.26, 0.17)
        self._darken(0.85 * self.face * lip * np.maximum(t.moustache, t.beard), 0.25 + 0.7 * t.hair_tone)

    def _eyes(self) -> None:
        t = self.t
        along = self.eye_u / t.eye_width
        arch = np.maximum(1 - along * along, 0)
        upper, lower = self.eye_v + t.eye_open * arch, self.eye_v - 0.75 * t.eye_open * arch
        lids = self._inside(np.maximum(-upper, lower)) * self._inside((np.abs(along) - 1) * t.eye_width) * self.face
        lids *= np.minimum(t.eye_open / 0.02, 1)  # softened edges would leave a closed eye half a pixel open
        self._darken(0.35 * self.face * np.exp(-((along / 1.2) ** 2) - (self.eye_v / (1.7 * t.eye_open)) ** 2), 0.35)
        flat = [0.7 * part for part in self.normal[:2]] + [self.normal[2]]
        self._paint(lids, 0.84, flat)
        # The gaze is fixed on the viewer, so the irises move against the rotation of the head.
        iris_u, iris_v = (
            self.u - np.sign(self.u) * t.eye_gap + 0.025 * self.sin,
            self.eye_v + 0.1 * t.eye_open,
        )
        self._paint(lids * self._ellipse(iris_u, iris_v, 0.047, 0.047), t.iris)
        self._paint(lids * self._ellipse(iris_u, iris_v, 0.021, 0.021), 0.02)
        self._paint(0.9 * lids * self._ellipse(iris_u + 0.014, iris_v + 0.016, 0.011, 0.011), 1.0)
        lash = np.exp(-((upper / 0.013) ** 2)) * self._inside((np.abs(along) - 1.08) * t.eye_width)
        self._darken(0.9 * lash * self.face, 0.12)
        crease = np.exp(-(((self.eye_v + t.eye_open * arch + 0.028) / 0.010) ** 2)) * (arch > 0)
        self._darken(0.35 * crease * self.face, 0.4)

    def _brows(self) -> None:
        t = self.t
        along = (self.eye_u - 0.01) / (1.28 * t.eye_width)
        line = self.eye_v + t.brow_lift + t.brow_arch * (1 - along * along) + t.brow_tilt * along
        thick = t.brow_thick * (1.15 - 0.45 * along)
        hair = self._inside(np.abs(line) - thick) * self._inside((np.abs(along) - 1) * t.eye_width)
        self._paint(0.88 * hair * self.face, np.minimum(0.65 * t.hair_tone, 0.55 * t.skin) + 0.02)

    def _nose(self) -> None:
        t = self.t
        wing = np.abs(self.nose_u) - 0.62 * t.nose_width
        nostril = self._ellipse(wing, self.nose_v - 0.030, 0.34 * t.nose_width, 0.013)
        self._darken(0.8 * nostril * self.face, 0.25)
        under = np.exp(-((self.nose_u / (1.0 * t.nose_width)) ** 2) - ((self.nose_v - 0.045) / 0.022) ** 2)
        self._darken(0.55 * under * self.face, 0.5)
        outside = np.exp(
            -(((np.abs(self.nose_u) - 1.12 * t.nose_width) / 0.016) ** 2) - ((self.nose_v - 0.0) / 0.034) ** 2
        )
        self._darken(0.45 * outside * self.face, 0.4)
        shine = np.exp(-((self.nose_u / 0.02) ** 2) - ((self.nose_v + 0.035) / 0.03) ** 2)
        self._paint(0.25 * shine * self.face, np.minimum(1.3 * t.skin, 1))

    def _mouth(self) -> None:
        t = self.t
        along = self.mouth_u / t.mouth_width
        arch = np.maximum(1 - along * along, 0)
        line = self.mouth_v + t.mouth_curve * along * along
        bow = t.lip * arch * (0.72 + 0.5 * np.exp(-(((np.abs(along) - 0.30) / 0.22) ** 2)))
        lower = line - t.mouth_open * np.sqrt(arch)  # edge of the lower lip; the two lips part as the mouth opens
        inside = self._inside((np.abs(along) - 1) * t.mouth_width) * self.face
        self._paint(inside * self._inside(np.maximum(-line - bow, line)), 0.85 * t.lip_tone * t.skin)
        self._paint(
            inside * self._inside(np.maximum(lower - 1.35 * t.lip * np.sqrt(arch), -lower)), t.lip_tone * t.skin
        )
        # The cavity between them; of no coverage where the mouth is closed.
        cavity = self._inside(np.maximum(-line, lower)) * np.minimum(t.mouth_open / 0.02, 1)
        self._paint(inside * cavity, 0.07)
        self._darken(0.85 * inside * np.exp(-((line / 0.011) ** 2)), 0.22)
        corner = np.exp(-(((np.abs(along) - 1.0) / 0.12) ** 2) - (line / 0.02) ** 2)
        self._darken(0.5 * corner * self.face, 0.45)
        below = np.exp(-((along / 0.7) ** 2) - ((line - t.mouth_open - 1.35 * t.lip - 0.022) / 0.018) ** 2)
        self._darken(0.30 * below * self.face, 0.5)

    def _glasses(self) -> None:
        t = self.t
        worn = t.glasses * self.face
        u, v = self.eye_u / 0.165, (self.eye_v - 0.005) / 0.125
        ring = np.abs((np.abs(u) ** 3 + np.abs(v) ** 3) ** (1 / 3) - 1) * 0.14 - 0.016
        bridge = np.maximum(np.abs(self.u) - (t.eye_gap - 0.15), np.abs(self.eye_v + 0.02) - 0.012)
        arm = np.maximum(t.eye_gap + 0.15 - np.abs(self.u), np.abs(self.eye_v + 0.03) - 0.014)
        self._paint(worn * self._inside(np.minimum(np.minimum(ring, bridge), arm)), 0.07)

    def _ears(self) -> None:
        t = self.t
        for sign in (-1, 1):
            u, v = self.x - sign * (t.width * self.cos + 0.02), self.y - t.eye_level - 0.07
            narrow = 0.50 * t.ear * (1 + 0.5 * np.maximum(-sign * self.sin, 0))
            behind = _step(sign * self.sin, 0.02, 0.15)
            ear = self._ellipse(u, v, narrow, t.ear) * (1 - behind * self.head)
            normal = _unit(sign * 0.5 * self.cos + u / narrow, v / t.ear, 0.8)
            self._paint(ear, 0.92 * t.skin, normal)
            self._darken(0.5 * ear * self._ellipse(u + sign * 0.1 * narrow, v, 0.5 * narrow, 0.6 * t.ear), 0.6)

    def _hair(self) -> None:
        t = self.t
        width = t.width * (1.02 + t.hair_volume * (0.35 + 0.65 * t.long_hair))
        height = t.height * (1.0 + 0.8 * t.hair_volume)
        edge, normal, side, front, level = self._ellipsoid(width, height, t.square, 0.4 * t.jaw, 0.03)
        angle = np.arctan2(side, front)
        temple = np.abs(angle)
        forehead = t.hairline + t.hair_part * angle + t.hair_wave * np.sin(9 * angle + t.hair_phase)
        # Short hair runs back over the ear in a slope, long hair falls in front of it.
        sides = _step(temple, 1.0 - 0.1 * t.long_hair, 1.55 - 0.35 * t.long_hair)
        limit = forehead + sides * (t.hair_length - forehead)
        coverage = (1 - t.bald) * self._inside(edge) * self._inside((level - limit) * t.height)
        flow = angle + 0.5 * t.hair_part * level
        strands = 1 + 0.10 * np.sin(19 * flow + t.hair_phase) + 0.07 * np.sin(43 * flow + 3 * t.hair_phase)
        gloss = 0.25 * np.exp(-(((level + 0.72) / 0.13) ** 2))
        self._paint(coverage, t.hair_tone * strands + gloss * (0.2 + t.hair_tone), normal)
