"""Work on the queue, as hints and bot moves have it in common: asking, waiting, answering.

What a worker wrote is English. Whoever reads it gets the sentences in their own language, made from
the codes and values beside them; these are the same in every language."""

from collections.abc import Mapping
from typing import Any

from flask import Response

from service.api.reading import preferred_wait_s
from service.api.resource import Call, json_answer
from service.games.advice import load_task
from service.games.reasons import reason_sentences
from service.translations import language_headers, told

READ_HEADERS = ("Content-Language",)
"""Of an answer with a task, for the document."""
ASKED_HEADERS = (*READ_HEADERS, "Location", "Preference-Applied", "Idempotent-Replayed")
"""Of an answer to a request for work."""
FINAL = ("done", "failed", "cancelled")
FIRST_LOOK_S = 0.01
"""A bot's answer comes after some tens of milliseconds: looks are dense at first."""
LAST_LOOK_S = 0.1
MAX_PREFERRED_WAIT_S = 30


def task_answer(
    call: Call,
    game_id: str,
    kind: str,
    path: str,
    document: dict[str, Any],
    *,
    is_replayed: bool,
    location: str | None = None,
) -> Response:
    """Answer a request for work: 202, or 200 when it ends within the seconds of `Prefer: wait`.

    It is found below `path` by its id, unless `location` says where."""
    headers = {"Location": location or f"{path}/{document['id']}"}
    if is_replayed:
        headers["Idempotent-Replayed"] = "true"
    wanted_s = preferred_wait_s(call.request)
    if wanted_s is not None:
        wait_s = min(wanted_s, MAX_PREFERRED_WAIT_S, call.parts.settings.max_wait_s)
        headers["Preference-Applied"] = f"wait={wait_s:g}"
        document = _wait_for(call, game_id, kind, document, wait_s)
        call.check_key()
    return told_answer(document, 200 if document["status"] in FINAL else 202, headers)


def told_answer(
    document: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Answer a task in the language of the request in hand."""
    return json_answer(_told(document), status, language_headers() | dict(headers or {}))


def _told(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task, or the advice on one position of several, with its sentences told."""
    shown = dict(document)
    if shown.get("error"):
        shown["error"] = told(shown["error"])
    if shown.get("candidates"):
        shown["candidates"] = [_with_reason(candidate) for candidate in shown["candidates"]]
    if shown.get("hints"):
        shown["hints"] = [_told(hint) for hint in shown["hints"]]
    return shown


def _with_reason(candidate: dict[str, Any]) -> dict[str, Any]:
    reason = candidate.get("reason")
    if not reason:
        return candidate
    try:
        sentences = reason_sentences(reason["code"], reason["values"], candidate["action"])
    except KeyError:
        # Another release wrote it: its English is better than nothing.
        return candidate
    return {**candidate, "reason": {**reason, "text": " ".join(map(told, sentences))}}


def _wait_for(
    call: Call, game_id: str, kind: str, document: dict[str, Any], wait_s: float
) -> dict[str, Any]:
    """Return the task when it has ended, or as it is when the time is up."""
    deadline = call.parts.monotonic() + wait_s
    pause_s = FIRST_LOOK_S
    while True:
        document = load_task(call.house, game_id, kind, document["id"])
        left_s = deadline - call.parts.monotonic()
        if document["status"] in FINAL or left_s <= 0:
            return document
        call.parts.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 1.5, LAST_LOOK_S)
