"""Look at a zarr store before zarr does.

The metadata of a store name the codecs that zarr runs on every chunk, and one of them
unpickles. So only plain numbers and text in well-known codecs are let through.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from manyview.exceptions import DatasetError

NOTES = frozenset({"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"})
COMPRESSORS = frozenset({"blosc", "gzip", "zlib", "zstd", "lz4"})
CODECS = COMPRESSORS | {"bytes", "transpose", "crc32c"}
# What metadata of another form than expected can raise.
UNSOUND = (LookupError, TypeError, ValueError, AttributeError, RecursionError)
# Chunks that are not stored count as zeros, at no cost for the file: about 0.1 ms each.
HARMLESS_CHUNKS = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class ZarrArray:
    """One array of a store, as its metadata describe it."""

    path: Path
    format: int
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    item_bytes: int
    compressor: str | None

    def __post_init__(self) -> None:
        sizes = [*self.shape, *self.chunks]
        if not all(type(size) is int and size >= 0 for size in sizes) or (
            len(self.shape) != len(self.chunks) or 0 in self.chunks
        ):
            _refuse(self.path, "sizes", f"shape {self.shape}, chunks {self.chunks}")

    @property
    def n_bytes(self) -> int:
        """Memory that reading it takes: chunks are unpacked whole."""
        return max(math.prod(self.shape) * self.item_bytes, self.chunk_bytes)

    @property
    def chunk_bytes(self) -> int:
        return math.prod(self.chunks) * self.item_bytes


def check_zarr(path: Path) -> dict[str, ZarrArray]:
    """Arrays of a store by name ("" if the store is one array), or a `DatasetError`.

    No chunk is opened here.
    """
    if not path.is_dir():
        msg = f"{path} is not a zarr store: it is no folder."
        raise DatasetError(msg)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            if (Path(folder) / name).is_symlink():
                msg = f"{path} holds the link {name!r}; expected files of its own only."
                raise DatasetError(msg)
    try:
        return _arrays_of(path)
    except UNSOUND as error:
        if isinstance(error, DatasetError):
            raise
        msg = f"{path} has unsound zarr metadata ({type(error).__name__}: {error})."
        raise DatasetError(msg) from error


def _arrays_of(path: Path) -> dict[str, ZarrArray]:
    whole = _array_at(path)
    if whole is not None:
        return {"": whole}
    if not any((path / name).is_file() for name in ("zarr.json", ".zgroup")):
        msg = f"{path} is not a zarr store: it has neither zarr.json nor .zarray."
        raise DatasetError(msg)
    _check_consolidated(path)
    found = {child.name: _array_at(child) for child in sorted(path.iterdir())}
    return {name: array for name, array in found.items() if array is not None}


def _array_at(path: Path) -> ZarrArray | None:
    if (path / "zarr.json").is_file():
        content = _read_json(path / "zarr.json")
        if content["node_type"] != "array":
            return None
        array = _parse_new(path, content)
    elif (path / ".zarray").is_file():
        array = _parse_old(path, _read_json(path / ".zarray"))
    else:
        return None
    n_chunks = math.prod(
        -(-size // chunk) for size, chunk in zip(array.shape, array.chunks, strict=True)
    )
    if n_chunks > HARMLESS_CHUNKS and n_chunks > 4 * len(_chunk_files(path)):
        msg = f"{path} claims {n_chunks} chunks and stores few of them; not opened."
        raise DatasetError(msg)
    return array


def _check_consolidated(path: Path) -> None:
    """The copies of the metadata that a group may keep are what zarr reads."""
    if (path / "zarr.json").is_file():
        kept = _read_json(path / "zarr.json").get("consolidated_metadata") or {}
        for copy in kept.get("metadata", {}).values():
            if copy["node_type"] == "array":
                _parse_new(path, copy)
    elif (path / ".zmetadata").is_file():
        for name, copy in _read_json(path / ".zmetadata")["metadata"].items():
            if name.endswith(".zarray"):
                _parse_old(path, copy)


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _parse_old(path: Path, content: dict[str, Any]) -> ZarrArray:
    """Metadata of format 2."""
    item_bytes = _item_bytes(path, content["dtype"])
    if content.get("filters"):
        _refuse(path, "the filters", content["filters"])
    compressor = content["compressor"]
    codec = None if compressor is None else compressor["id"]
    if codec is not None and codec not in COMPRESSORS:
        _refuse(path, "the compressor", codec)
    if content.get("dimension_separator", ".") not in (".", "/"):
        _refuse(path, "the separator", content["dimension_separator"])
    return ZarrArray(
        path=path,
        format=2,
        shape=tuple(content["shape"]),
        chunks=tuple(content["chunks"]),
        item_bytes=item_bytes,
        compressor=codec,
    )


def _parse_new(path: Path, content: dict[str, Any]) -> ZarrArray:
    """Metadata of format 3."""
    codecs = [codec["name"] for codec in content["codecs"]]
    for codec in codecs:
        if codec not in CODECS:
            _refuse(path, "the codec", codec)
    compressors = [codec for codec in codecs if codec in COMPRESSORS]
    if len(compressors) > 1:
        _refuse(path, "the codecs", codecs)
    if content.get("storage_transformers"):
        _refuse(path, "storage transformers", content["storage_transformers"])
    grid, keys = content["chunk_grid"], content["chunk_key_encoding"]
    separator = keys.get("configuration", {}).get("separator", "/")
    if keys["name"] not in ("default", "v2") or separator not in (".", "/"):
        _refuse(path, "chunk names", keys)
    if grid["name"] != "regular":
        _refuse(path, "the chunk grid", grid["name"])
    return ZarrArray(
        path=path,
        format=3,
        shape=tuple(content["shape"]),
        chunks=tuple(grid["configuration"]["chunk_shape"]),
        item_bytes=_item_bytes(path, content["data_type"]),
        compressor=compressors[0] if compressors else None,
    )


def _item_bytes(path: Path, dtype: Any) -> int:
    """Size of a number or text by the name of its type, in either format."""
    if isinstance(dtype, dict) and dtype["name"] == "fixed_length_utf32":
        return int(dtype["configuration"]["length_bytes"])
    if not isinstance(dtype, str) or np.dtype(dtype).kind not in "biufUS":
        _refuse(path, "data of type", dtype)
    return np.dtype(dtype).itemsize


def _refuse(path: Path, what: str, value: Any) -> NoReturn:
    msg = (
        f"{path} has {what} {str(value)[:80]!r}, which is not read. Expected numbers, "
        f"compressed by one of {', '.join(sorted(COMPRESSORS))} or not at all, "
        "without filters and shards."
    )
    raise DatasetError(msg)


def _chunk_files(path: Path) -> list[Path]:
    """Files of an array that hold chunks."""
    return [f for f in path.rglob("*") if f.name not in NOTES and f.is_file()]


def check_chunks(array: ZarrArray) -> None:
    """Refuse chunks that unpack to more than the metadata say."""
    for file in _chunk_files(array.path):
        n_bytes = _unpacked_bytes(array, file.read_bytes())
        if n_bytes > array.chunk_bytes:
            msg = (
                f"{file} unpacks to more than the {array.chunk_bytes} bytes of a "
                "chunk, so it was not opened; it is damaged."
            )
            raise DatasetError(msg)


def _unpacked_bytes(array: ZarrArray, packed: bytes) -> int:
    """Size of a chunk, or anything above the limit where it is more or unknown."""
    limit = array.chunk_bytes
    match array.compressor:
        case "gzip":
            with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
                return len(stream.read(limit + 1))
        case "zlib":
            return len(zlib.decompressobj().decompress(packed, limit + 1))
        case "lz4":
            return int.from_bytes(packed[:4], "little")
        case "blosc":
            n_packed = int.from_bytes(packed[12:16], "little")
            # A checksum of four bytes may follow.
            if len(packed) - n_packed not in (0, 4):
                return limit + 1
            return int.from_bytes(packed[4:8], "little")
        case "zstd":
            return _zstd_bytes(packed, limit)
        case _:
            return len(packed) - 4 if array.format == 3 else len(packed)


def _zstd_bytes(packed: bytes, limit: int) -> int:
    """The size that the header of a Zstandard frame tells."""
    if packed[:4] != b"\x28\xb5\x2f\xfd":
        return limit + 1
    flags = packed[4]
    single = flags >> 5 & 1
    start = 5 + (not single) + (0, 1, 2, 4)[flags & 3]
    width = (single, 2, 4, 8)[flags >> 6]
    if not width:
        return limit + 1
    return int.from_bytes(packed[start : start + width], "little") + 256 * (width == 2)
