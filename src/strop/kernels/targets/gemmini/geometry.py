"""The geometries of Gemmini: for the machine, for candidates' header, for bounds."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """Sizes. `values` are those of the native machine, by name; `peak` is multiply-adds a cycle."""

    name: str
    calibrated: bool
    element: str
    sum: str
    peak: int
    values: Mapping[str, float]

    @property
    def dim(self) -> int:
        """Rows and columns of the array."""
        return int(self.values["geometry.dim"])

    def header(self) -> str:
        """The text of gemmini_params.h."""
        value = {
            key.removeprefix("geometry."): int(number)
            for key, number in self.values.items()
            if key.startswith("geometry.")
        }
        byte = {"int8_t": 1, "float": 4, "int32_t": 4}
        rows = value["accumulator_banks"] * value["accumulator_bank_rows"]
        lines = {
            "XCUSTOM_ACC": 3,
            "DIM": value["dim"],
            "BANK_NUM": value["banks"],
            "BANK_ROWS": value["bank_rows"],
            "ACC_ROWS": rows,
            "MAX_BYTES": 64,
            "MAX_BLOCK_LEN": f"(MAX_BYTES / (DIM * {byte[self.element]}))",
            "MAX_BLOCK_LEN_ACC": f"(MAX_BYTES / (DIM * {byte[self.sum]}))" if value["dim"] * 4 <= 64 else 1,
            "MVIN_SCALE_IDENTITY": "1.0f",
            "ACC_SCALE_IDENTITY": "1.0f",
        }
        types = f"typedef {self.element} elem_t;\ntypedef {self.sum} acc_t;\ntypedef float scale_t;\n"
        return types + "typedef float acc_scale_t;\n" + "".join(f"#define {k} {v}\n" for k, v in lines.items())


@cache
def geometries() -> dict[str, dict[str, Any]]:
    """Return the data file's rows by name."""
    return tomllib.loads(files("strop.kernels.targets.gemmini").joinpath("geometry.toml").read_text("utf-8"))


@cache
def geometry(name: str) -> Geometry:
    """Return a geometry by name. Raises KeyError."""
    row = geometries()[name]
    values = {key: float(value) for key, value in row.items() if "." in key}
    return Geometry(
        name=name,
        calibrated=row["calibrated"],
        element=row["element"],
        sum=row["sum"],
        peak=row["peak"],
        values=values,
    )
