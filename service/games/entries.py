"""Log entries in short: how a store keeps the most numerous documents of a game.

A game of two deals has some two hundred entries, nearly all of them actions. As JSON they are what
a stored game mostly consists of; in the words of `service/rules/notation.py` such an entry is a
seventh of that. What is kept is one of

- an action: `SEAT BY DEAL` side by side, the time, the action: `2b1 mjk3l2x9 DKD`. BY is a letter
  (`_LETTERS`), the time is milliseconds since 1970 in base 36, the card drawn from the stock stands
  behind the `S` of its draw (`S7H`). What an entry has besides, a deal's score, follows as JSON;
- any other entry: JSON, an object.

The version is not kept, as it is the entry's place in the log. What is read for a version is equal
to what was written, with the fields in the same order.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from service.games.house import rfc3339
from service.rules.notation import action_from_json, action_to_json, read_action, write_action

_LETTERS = {"human": "h", "bot": "b", "clock": "c", "external": "e", "app": "a"}
_NAMES = {letter: name for name, letter in _LETTERS.items()}
_PLAYED = ("version", "at", "type", "deal", "seat", "by", "action")
"""The fields of an action's entry, in their order; `drawn` may follow, and others."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


def write_entry(entry: dict[str, Any]) -> bytes:
    """Return what to keep of a log entry; whatever is no common action is kept as JSON."""
    fields = tuple(entry)
    if fields[:7] != _PLAYED or entry["type"] != "played" or entry["by"] not in _LETTERS:
        return _as_json(entry)
    at_ms = (datetime.fromisoformat(entry["at"]) - _EPOCH) // _MS
    if rfc3339(at_ms / 1000) != entry["at"]:
        return _as_json(entry)
    has_drawn = "drawn" in fields[7:8]
    word = write_action(action_from_json(entry["action"])) + (entry["drawn"] if has_drawn else "")
    text = f"{entry['seat']}{_LETTERS[entry['by']]}{entry['deal']} {_to_base_36(at_ms)} {word}"
    rest = fields[8 if has_drawn else 7 :]
    if not rest:
        return text.encode()
    return text.encode() + b" " + orjson.dumps({name: entry[name] for name in rest})


def read_entry(version: int, kept: bytes) -> dict[str, Any]:
    """Return the entry of `version` that was kept as `kept`."""
    if kept.startswith(b"{"):
        return {"version": version, **orjson.loads(kept)}
    who, at, word, *rest = kept.decode().split(" ", 3)
    drawn = word[1:] if word.startswith("S") else ""
    entry: dict[str, Any] = {
        "version": version,
        "at": rfc3339(int(at, 36) / 1000),
        "type": "played",
        "deal": int(who[2:]),
        "seat": int(who[0]),
        "by": _NAMES[who[1]],
        "action": action_to_json(read_action("S" if drawn else word)),
    }
    if drawn:
        entry["drawn"] = drawn
    if rest:
        entry.update(orjson.loads(rest[0]))
    return entry


def _as_json(entry: dict[str, Any]) -> bytes:
    return orjson.dumps({name: value for name, value in entry.items() if name != "version"})


def _to_base_36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits
