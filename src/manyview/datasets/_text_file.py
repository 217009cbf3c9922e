"""Text tables on disk, as they are or compressed."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from manyview.datasets._guards import Budget, import_extra, reading

DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
PACKED = (".gz", ".zst")
CHUNK_BYTES = 1 << 20
# What zstd may keep of the text behind; its own tools refuse more, too.
ZSTD_WINDOW = 1 << 27
# So few, as three of them can stand for 128 kB.
ZSTD_BYTES = 1 << 10


def suffix_of(path: Path) -> str:
    """The suffix in lower case, of compressed files together with the one before."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] and suffixes[-1] in PACKED
    return "".join(suffixes[-2:] if packed else suffixes[-1:])


def stem_of(path: Path) -> str:
    """The name of a file without its suffix."""
    return path.name[: len(path.name) - len(suffix_of(path))]


@dataclass(frozen=True, kw_only=True, slots=True)
class TextFile:
    """A text table that can be read more than once.

    content : the text of a compressed file, which is unpacked a single time.
    """

    path: Path
    delimiter: str
    content: bytes | None = None

    def open(self) -> IO[bytes]:
        """The bytes of the text."""
        if self.content is not None:
            return io.BytesIO(self.content)
        return self.path.open("rb")

    def __str__(self) -> str:
        return str(self.path)


def open_text(path: Path, budget: Budget) -> TextFile:
    """A text table; a compressed one is unpacked as far as the budget goes."""
    suffix = suffix_of(path)
    if suffix in DELIMITERS:
        return TextFile(path=path, delimiter=DELIMITERS[suffix])
    content = io.BytesIO()
    unpack = _unpack_gzip if suffix.endswith(".gz") else _unpack_zstd
    with reading(path, "a compressed table"):
        for chunk in unpack(path):
            budget.take(path, len(chunk))
            content.write(chunk)
    delimiter = DELIMITERS[Path(suffix).stem]
    return TextFile(path=path, delimiter=delimiter, content=content.getvalue())


def _unpack_gzip(path: Path) -> Iterator[bytes]:
    with gzip.open(path) as stream:
        yield from iter(lambda: stream.read(CHUNK_BYTES), b"")


def _unpack_zstd(path: Path) -> Iterator[bytes]:
    """Frame by frame; readers of zstandard take a file that is cut short for whole."""
    zstandard = import_extra("zstandard", "io", path)
    engine = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW)
    frame = engine.decompressobj()
    with path.open("rb") as stream:
        for packed in iter(lambda: stream.read(ZSTD_BYTES), b""):
            while packed:
                if frame.eof:
                    frame = engine.decompressobj()
                yield frame.decompress(packed)
                packed = frame.unused_data if frame.eof else b""
    if not frame.eof:
        msg = "the file ends within a frame"
        raise EOFError(msg)
