"""Look at a zarr store before zarr does.

The metadata of a store name the codecs that zarr runs on every chunk, and one of them
unpickles. So only plain numbers and text in well-known codecs are let through.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manyview._extras import import_extra
from manyview._files import UNREADABLE
from manyview.exceptions import DatasetError

NOTES = frozenset({"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"})
COMPRESSORS = frozenset({"blosc", "gzip", "zlib", "zstd", "lz4"})
CODECS = COMPRESSORS | {"bytes", "transpose", "crc32c"}
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

    @property
    def chunk_bytes(self) -> int:
        return math.prod(self.chunks) * self.item_bytes

    @property
    def n_bytes(self) -> int:
        """Memory that reading it takes: chunks are unpacked whole."""
        return max(math.prod(self.shape) * self.item_bytes, self.chunk_bytes)


def check_zarr(path: Path) -> dict[str, ZarrArray]:
    """Arrays of a store by name ("" if the store is one array), or a `DatasetError`.

    No chunk is opened here. Arrays are to be opened one by one: copies of their
    metadata that a group may keep are not looked at.
    """
    if not path.is_dir():
        msg = f"{path} is not a zarr store: it is no folder."
        raise DatasetError(msg)
    for item in path.rglob("*"):
        if item.is_symlink():
            msg = f"{path} holds the link {item.name!r}; expected files of its own."
            raise DatasetError(msg)
    try:
        whole = _array_at(path)
        if whole is not None:
            return {"": whole}
        found = {child.name: _array_at(child) for child in sorted(path.iterdir())}
    except DatasetError:
        raise
    except UNREADABLE as error:
        msg = f"{path} has unsound zarr metadata ({type(error).__name__}: {error})."
        raise DatasetError(msg) from error
    if not any((path / note).is_file() for note in ("zarr.json", ".zgroup")):
        msg = f"{path} is not a zarr store: it has neither zarr.json nor .zarray."
        raise DatasetError(msg)
    return {name: array for name, array in found.items() if array is not None}


def _array_at(path: Path) -> ZarrArray | None:
    content, format = _read_json(path / "zarr.json"), 3
    if content is None:
        content, format = _read_json(path / ".zarray"), 2
    if content is None or content.get("node_type", "array") != "array":
        return None
    array = _describe(path, content, format)
    pairs = zip(array.shape, array.chunks, strict=True)
    n_chunks = math.prod(-(-size // chunk) for size, chunk in pairs)
    if n_chunks > HARMLESS_CHUNKS and n_chunks > 4 * len(_chunk_files(path)):
        msg = f"{path} claims {n_chunks} chunks and stores few of them; not opened."
        raise DatasetError(msg)
    return array


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _describe(path: Path, content: dict[str, Any], format: int) -> ZarrArray:
    """The array that metadata of either format describe, if it is one to be read."""
    if format == 2:
        compressor, filters = content["compressor"], content.get("filters")
        codecs = [] if compressor is None else [compressor["id"]]
        naming, separator = "v2", content.get("dimension_separator", ".")
        grid, chunks, dtype = "regular", content["chunks"], content["dtype"]
    else:
        codecs = [codec["name"] for codec in content["codecs"]]
        filters, dtype = content.get("storage_transformers"), content["data_type"]
        naming = content["chunk_key_encoding"]["name"]
        keys = content["chunk_key_encoding"].get("configuration", {})
        separator = keys.get("separator", "/")
        grid = content["chunk_grid"]["name"]
        chunks = content["chunk_grid"]["configuration"]["chunk_shape"]
    allowed = CODECS if format == 3 else COMPRESSORS
    compressors = [codec for codec in codecs if codec in COMPRESSORS]
    array = ZarrArray(
        path=path,
        format=format,
        shape=tuple(content["shape"]),
        chunks=tuple(chunks),
        item_bytes=_item_bytes(dtype),
        compressor=compressors[0] if compressors else None,
    )
    sizes = [*array.shape, *array.chunks]
    are_sizes = all(type(size) is int and size >= 0 for size in sizes)
    fit = len(array.shape) == len(array.chunks) and 0 not in array.chunks
    for what, value, is_wrong in (
        ("data of type", dtype, array.item_bytes < 1),
        ("the filters", filters, bool(filters)),
        ("the codecs", codecs, not allowed >= {*codecs} or len(compressors) > 1),
        ("chunks named by", naming, naming not in ("default", "v2")),
        ("the separator", separator, separator not in (".", "/")),
        ("the chunk grid", grid, grid != "regular"),
        ("sizes", (array.shape, array.chunks), not (are_sizes and fit)),
    ):
        if is_wrong:
            msg = (
                f"{path} has {what} {str(value)[:80]!r}, which is not read. Expected "
                f"numbers, compressed by one of {', '.join(sorted(COMPRESSORS))} or "
                "not at all, without filters and shards."
            )
            raise DatasetError(msg)
    return array


def _item_bytes(dtype: Any) -> int:
    """Size of a number or text by the name of its type, in either format; else 0."""
    if isinstance(dtype, dict) and dtype["name"] == "fixed_length_utf32":
        return int(dtype["configuration"]["length_bytes"])
    is_plain = isinstance(dtype, str) and np.dtype(dtype).kind in "biufUS"
    return np.dtype(dtype).itemsize if is_plain else 0


def _chunk_files(path: Path) -> list[Path]:
    """Files of an array that hold chunks."""
    return [f for f in path.rglob("*") if f.name not in NOTES and f.is_file()]


def check_chunks(array: ZarrArray) -> None:
    """Refuse chunks that unpack to more than the metadata say."""
    for file in _chunk_files(array.path):
        n_bytes = _unpacked_bytes(array, file.read_bytes())
        if n_bytes is None or n_bytes > array.chunk_bytes:
            msg = (
                f"{file} unpacks to more than the {array.chunk_bytes} bytes of a "
                "chunk, so it was not opened; it is damaged."
            )
            raise DatasetError(msg)


def _unpacked_bytes(array: ZarrArray, packed: bytes) -> int | None:
    """Size of a chunk, as far as it is needed; None where a chunk does not tell."""
    enough = array.chunk_bytes + 1
    match array.compressor:
        case "gzip":
            with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
                return len(stream.read(enough))
        case "zlib":
            return len(zlib.decompressobj().decompress(packed, enough))
        case "lz4":
            return int.from_bytes(packed[:4], "little")
        case "blosc":
            n_packed = int.from_bytes(packed[12:16], "little")
            # A checksum of four bytes may follow.
            is_whole = len(packed) - n_packed in (0, 4)
            return int.from_bytes(packed[4:8], "little") if is_whole else None
        case "zstd":
            zstandard = import_extra("zstandard", "io", f"Reading {array.path}")
            n_bytes = int(zstandard.frame_content_size(packed))
            return None if n_bytes < 0 else n_bytes
        case _:
            return len(packed) - 4 if array.format == 3 else len(packed)
