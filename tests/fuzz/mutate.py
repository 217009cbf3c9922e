"""Damage files: any bytes, numbers in text, members of archives, chunks of stores.

Everything follows from a `random.Random`, so that a case can be made again.
"""

import hashlib
import io
import json
import struct
import zipfile

import numpy as np

TOKENS = [
    b"-1", b"0", b"1.5", b"nan", b"1e400", b"99999999999", b"18446744073709551616",
    b"", b" ", b"\x00", b'"', b"'", b",", b"\t", b"\n", b"\xff", b"null", b"[]", b"{}",
    b"|O", b"<f8", b"true", b"1048577", b"%", b"[[[[[[[[", b"../../x",
]  # fmt: skip
WORDS = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**20, 2**31 - 1, 2**31, 2**32 - 1]


def mutate_bytes(data, rng):
    """A few random changes, most often a single one."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        if not data:
            break
        rng.choice([_flip, _flip, _number, _number, _cut, _copy, _fill, _token])(
            data, rng
        )
    return bytes(data)


def _flip(data, rng):
    data[rng.randrange(len(data))] ^= rng.randrange(1, 256)


def _number(data, rng):
    """Overwrite an integer field: sizes, counts and offsets are where it hurts."""
    code = rng.choice(["<I", ">I", "<H", "<Q", "B"])
    size = struct.calcsize(code)
    at = rng.randrange(len(data))
    if rng.random() < 0.7:
        at -= at % min(size, 4)
    value = rng.choice(WORDS) & (256**size - 1)
    data[at : at + size] = struct.pack(code, value)[: max(0, len(data) - at)]


def _cut(data, rng):
    start = rng.randrange(len(data))
    end = len(data) if rng.random() < 0.3 else start + rng.randint(1, 64)
    del data[start:end]


def _copy(data, rng):
    start, at = rng.randrange(len(data)), rng.randrange(len(data))
    part = bytes(data[start : start + rng.randint(1, 64)])
    if rng.random() < 0.5:
        data[at:at] = part
    else:
        data[at : at + len(part)] = part


def _fill(data, rng):
    at, size = rng.randrange(len(data)), rng.randint(1, 32)
    size = min(size, len(data) - at)
    data[at : at + size] = bytes([rng.choice([0, 0xFF])]) * size


def _token(data, rng):
    """Replace what stands between two separators, as it would in a text file."""
    at = rng.randrange(len(data))
    end = at
    while end < len(data) and end - at < 24 and data[end] not in b" ,\t\n:}]":
        end += 1
    data[at:end] = rng.choice(TOKENS)


def mutate_zip(data, rng):
    """Damage a member and pack it again, so that checksums of the archive are right."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(members))
    members[name] = mutate_bytes(members[name], rng)
    return zip_bytes(members)


def zip_bytes(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def mutate_folder(folder, rng):
    """Damage one file of a store in place."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    notes = [path for path in files if path.suffix == ".json" or path.name[0] == "."]
    path = rng.choice(notes if rng.random() < 0.5 else files)
    if path in notes and rng.random() < 0.6:
        content = json.loads(path.read_text())
        path.write_text(json.dumps(forge_json(content, rng)))
    else:
        path.write_bytes(mutate_bytes(path.read_bytes(), rng))


HOSTILE_JSON = [
    None, True, -1, 0, 1, 2, 3, 7, 1.5, 10**6, 10**30, 1e400, "", "x", "|O", "nan", [],
    [1], [[]], {}, {"a": 1}, [-1, 2], [10**9, 10**9], ["a", "b", "c"],
]  # fmt: skip


def forge_json(content, rng):
    """One value, anywhere in the document, replaced, removed or moved."""
    places = list(_places(content))
    if not places:
        return rng.choice(HOSTILE_JSON)
    holder, key = rng.choice(places)
    what = rng.random()
    if what < 0.15 and isinstance(holder, dict):
        del holder[key]
    elif what < 0.3:
        other_holder, other = rng.choice(places)
        holder[key] = json.loads(json.dumps(other_holder[other]))
    else:
        holder[key] = rng.choice(HOSTILE_JSON)
    return content


def _places(content):
    if isinstance(content, dict):
        items = content.items()
    elif isinstance(content, list):
        items = enumerate(content)
    else:
        return
    for key, value in list(items):
        yield content, key
        yield from _places(value)


def _forge_array(array, rng):
    """Another shape, type or content for an array of a model."""
    choices = [
        lambda: array[..., :-1],
        lambda: array.ravel(),
        lambda: array[None],
        lambda: array.T,
        lambda: np.concatenate([array, array]) if array.ndim else array,
        lambda: np.repeat(array, 40, axis=0) if array.ndim else array,
        lambda: np.zeros((0, *array.shape[1:])),
        lambda: np.zeros((100, 3)),
        lambda: np.full(array.shape, np.nan),
        lambda: np.full(array.shape, -7),
        lambda: np.full(array.shape, 2**40),
        lambda: array.astype(">f8"),
        lambda: array.astype(np.complex128),
        lambda: np.full(array.shape, "x"),
        lambda: np.asfortranarray(array),
    ]
    return np.asarray(rng.choice(choices)())


def forge_model(data, rng):
    """A model file with other content and right checksums."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with np.load(io.BytesIO(members["arrays.npz"])) as stored:
        arrays = dict(stored)
    content = json.loads(members["model.json"])
    for _ in range(rng.randint(1, 2)):
        name = rng.choice(sorted(arrays))
        if rng.random() < 0.5:
            content = forge_json(content, rng)
        elif rng.random() < 0.1:
            del arrays[name]
        elif rng.random() < 0.2:
            arrays[name] = arrays[rng.choice(sorted(arrays))]
        elif arrays[name].dtype.kind != "U":
            arrays[name] = _forge_array(arrays[name], rng)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return sealed_model(json.dumps(content).encode(), buffer.getvalue(), members)


def sealed_model(model_json, arrays_npz, members):
    """A model file of these parts, with the checksums that belong to them."""
    parts = {"model.json": model_json, "arrays.npz": arrays_npz}
    header = json.loads(members["header.json"])
    header["sha256"] = {n: hashlib.sha256(d).hexdigest() for n, d in parts.items()}
    return zip_bytes({"header.json": json.dumps(header).encode(), **parts})
