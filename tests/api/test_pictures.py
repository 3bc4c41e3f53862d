"""The picture of a finished game: well-formed, inert, complete, and nothing before the end."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from service import web
from service.api import picture
from service.rules.cards import CARD_NAMES
from service.store.app_keys import MemoryAppKeys
from tests.api.client import ApiClient, Table

SVG = f"{{{picture.SVG}}}"
NAMES = ["Bo <script>", "Čyril of the Northern Isles & Co", "Di", "Eva"]
"""Whose first letters are on no card."""
KNOWN = {"svg", "title", "desc", "defs", "symbol", "g", "rect", "circle", "path", "use", "text"}
"""All elements that a picture has: none that acts, none that loads."""


@pytest.fixture
def table(api: ApiClient) -> Table:
    """Return a table whose game was played to its end."""
    seats = [{"player": "human", "name": name} for name in NAMES]
    played = Table(ApiClient(api.app, check_every=17), seed="picture", seats=seats)
    played.play_out()
    return played


def read(api: ApiClient, table: Table, query: str = "", **headers: str) -> ElementTree.Element:
    """Return the picture as elements."""
    answer = api.get(f"{table.path}/record.svg{query}", headers=headers)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "image/svg+xml"
    return ElementTree.fromstring(answer.raw)


def cards_drawn(root: ElementTree.Element) -> list[str]:
    """Return the cards by what their corners refer to."""
    found = []
    for corner in root.iter(f"{SVG}g"):
        if corner.get("class") == "corner":
            rank, suit = (use.attrib["href"][3:] for use in corner.findall(f"{SVG}use"))
            found.append(f"X{rank}" if suit == "jester" else rank + suit)
    return found


def test_it_shows_every_meld_and_hand_and_score(api: ApiClient, table: Table) -> None:
    """The cards on the table and in hand, each once; who laid them; the deals' scores."""
    game = table.view(0)
    root = read(api, table)
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    laid = [card for meld in game["deal"]["melds"] for card in meld["cards"]]

    drawn = cards_drawn(root)
    assert len(laid) > 10
    assert drawn[: len(laid)] == laid
    assert len(set(drawn)) == len(drawn)
    assert set(drawn) <= set(CARD_NAMES)
    assert len(drawn) - len(laid) == sum(game["deal"]["hand_counts"])
    assert "Čyril of the North…" in texts
    for score in game["deal_scores"]:
        assert {str(points).replace("-", "−") for points in score["total"]} <= set(texts)
    badges = [text for text in texts if text in [name[0] for name in NAMES]]
    layers = [seat for meld in game["deal"]["melds"] for seat in meld["laid_by"]]
    assert badges[: len(laid)] == [NAMES[seat][0] for seat in layers]


def test_it_is_told_in_words_to_those_who_do_not_see_it(api: ApiClient, table: Table) -> None:
    """A title, and a text with the result, each meld, each hand."""
    root = read(api, table)
    title, text = root[0], root[1]

    assert root.attrib["role"] == "img"
    assert root.attrib["aria-labelledby"].split() == [title.attrib["id"], text.attrib["id"]]
    assert title.text == "Persian Rummy: the final table"
    assert text.text is not None
    assert " win, " in text.text
    for meld in table.view(0)["deal"]["melds"]:
        assert f"Meld {meld['id']}, {meld['kind']}, " in text.text
    for name in NAMES:
        assert f"{name}: " in text.text


def test_nothing_in_it_acts_or_loads(api: ApiClient, table: Table) -> None:
    """Known elements, no styles and no handlers; it refers to nothing but to itself."""
    answer = api.get(f"{table.path}/record.svg")
    root = ElementTree.fromstring(answer.raw)
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    references = {e.attrib["href"] for e in root.iter() if "href" in e.attrib}

    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= KNOWN
    assert len(ids) == len(set(ids))
    assert {f"#{name}" for name in ids} >= references
    for element in root.iter():
        assert not [name for name in element.attrib if name.startswith("on") or name == "style"]
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("query", "accepted", "language", "title"),
    [
        ("", "fi-FI, en;q=0.5", "fi", "Persialainen rommi: pöytä pelin lopussa"),
        ("?lang=eo", "fi", "eo", "Persa Rumio: la tablo je la fino"),
        ("", "de", "en", "Persian Rummy: the final table"),
    ],
)
def test_its_words_are_in_the_language_that_is_wanted(
    api: ApiClient, table: Table, query: str, accepted: str, language: str, title: str
) -> None:
    """By the query, else by the header."""
    answer = api.get(f"{table.path}/record.svg{query}", headers={"Accept-Language": accepted})

    assert answer.headers["Content-Language"] == language
    assert "Accept-Language" in answer.headers["Vary"]
    root = ElementTree.fromstring(answer.raw)
    assert (root.attrib["lang"], root[0].text) == (language, title)


def test_before_the_end_nothing_is_told(any_api: ApiClient) -> None:
    """409, as for the record: in play, with seats open, and abandoned."""
    table = Table(any_api)
    table.play_on(20)
    opened = any_api.post("/games", {"seats": [{"player": "open"}] * 4}).json["game"]["id"]
    answers = [any_api.get(f"{path}/record.svg") for path in (table.path, f"/games/{opened}")]
    any_api.delete(table.path)
    answers.append(any_api.get(f"{table.path}/record.svg"))

    for answer in answers:
        assert answer.status == 409
        assert answer.json["type"] == "/docs/problems/game-not-finished"


def test_who_may_read_the_record_may_see_the_picture_and_nobody_else(
    api: ApiClient, table: Table, keys: MemoryAppKeys
) -> None:
    """Every seat's token; not another app. An unknown language is refused."""
    keys.create("other", "prk_other")

    for token in table.tokens.values():
        assert api.get(f"{table.path}/record.svg", token=token).status == 200
    assert api.get(f"{table.path}/record.svg", token="prk_other").status == 404
    assert api.get("/games/nothing/record.svg").status == 404
    assert api.get(f"{table.path}/record.svg?lang=de").status == 422


def drawn(**changes: Any) -> str:
    """Return the picture of a table without melds, with some changes."""
    seats = [{"seat": seat, "name": f"P{seat}"} for seat in range(4)]
    score = {"laid": [0, 0], "bonus": [0, 0], "hands": [0, 0], "total": [0, 0], "went_out": None}
    table = {
        "created_at": "2026-11-30T12:00:00Z",
        "seats": seats,
        "deal": {"number": 1, "melds": []},
        "deal_scores": [score],
        "scores": [0, 0],
        "winner": None,
        "hands": [[], [], [], []],
        **changes,
    }
    return picture.draw_table(table, "en").decode()


def test_a_draw_without_a_meld_is_a_picture_too() -> None:
    """It says so."""
    root = ElementTree.fromstring(drawn())

    texts = {element.text for element in root.iter(f"{SVG}text")}
    assert {"A draw, 0 to 0", "No melds yet", "nobody went out"} <= texts


def test_a_large_hand_stays_within_its_place() -> None:
    """However many cards somebody was left with."""
    shown = drawn(hands=[list(CARD_NAMES[:30]), [], [], []])
    places = [float(x) for x in re.findall(r'transform="translate\(([\d.]+) ', shown)]

    assert len(places) == 30
    assert max(places) + picture.HAND_CARD < picture.MARGIN + picture.LEFT_WIDTH - 40


def test_names_that_xml_cannot_hold_do_no_harm() -> None:
    """Whatever is in the store is drawn well-formed."""
    seats = [{"seat": seat, "name": f"\x01\ud800{seat}"} for seat in range(4)]

    assert "�" in "".join(ElementTree.fromstring(drawn(seats=seats)).itertext())


def test_the_cards_have_the_colours_of_the_page() -> None:
    """Which stand in its style sheet."""
    sheet = Path(web.__file__).with_name("static").joinpath("table.css").read_text("utf-8")

    for colour in {*picture.CARD_COLOURS.values(), *picture.SEAT_COLOURS, picture.GOLD}:
        assert f"{colour};" in sheet
