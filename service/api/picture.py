"""A finished game's table as an SVG picture: melds with who laid each card, hands left, scores.

The cards are those of the page: `service/web/cards.svg` tells how they are drawn, and the words are
the page's too. Looks are attributes, no style sheet: under a policy that allows nothing, which
every answer has unless its view says otherwise, a picture is shown all the same. Elements are made,
not text, so that whatever people are called the picture is well-formed."""

import copy
import re
from collections.abc import Sequence
from functools import cache
from typing import Any
from xml.etree import ElementTree

from service import web
from service.rules.cards import mask_of, parse_card
from service.rules.score import points

SVG = "http://www.w3.org/2000/svg"
ElementTree.register_namespace("", SVG)
WIDTH = 960
MARGIN = 28
LEFT_WIDTH = 612
"""Melds and hands; the scores stand at their right."""
RIGHT = MARGIN + LEFT_WIDTH + 24
CARD_WIDTH, CARD_HEIGHT = 60, 84
"""As `cards.svg` draws them."""
MELD_CARD, MELD_STEP, MELD_HEIGHT = 46, 24, 122
HAND_CARD, HAND_STEP, HAND_HEIGHT, HAND_LEFT = 36, 26, 58, 190
GAP = 12
LONGEST_NAME = 19
SANS = "system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif"
SERIF = "'Palatino Linotype', Palatino, 'Noto Serif', Georgia, serif"
FELT, PANEL, TEXT, DIM, GOLD = "#0e574f", "#063b36", "#f4efe0", "#b5d2ca", "#f0c766"
SEAT_COLOURS = ("#f0c766", "#6fdcf0", "#ffa98f", "#cdbcff")
CARD_COLOURS = {"H": "#b3122d", "D": "#b3122d", "C": "#18222c", "S": "#18222c", "X": "#6a2c91"}
"""Of the ink, by suit; X for jokers. As in the page's style sheet."""
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML has no way to write."""

Element = ElementTree.Element
Json = dict[str, Any]


def draw_table(table: Json, language: str) -> bytes:
    """Return the picture of a finished game's table, as `read_final_table` gives it, with the words
    of one of the service's languages.
    """
    picture = Picture(table, language)
    picture.draw()
    raw: bytes = ElementTree.tostring(picture.root, "utf-8", xml_declaration=True)
    return raw


@cache
def _drawings() -> dict[str, Element]:
    """Return what `cards.svg` names, by its id."""
    found = ElementTree.fromstring(web.card_drawings()).iter()  # noqa: S314  a file of ours
    return {element.attrib["id"]: element for element in found if "id" in element.attrib}


def _add(parent: Element, tag: str, text: str = "", **attributes: object) -> Element:
    """Add an element; `_` in the names of attributes stands for `-`."""
    named = {name.replace("_", "-"): str(value) for name, value in attributes.items()}
    element = ElementTree.SubElement(parent, f"{{{SVG}}}{tag}", named)
    if text:
        element.text = _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
    return element


def number(value: int, *, signed: bool = False) -> str:
    """Return a number with a true minus sign, and a plus where that is wanted."""
    return f"{value:{'+' if signed and value else ''}}".replace("-", "−")


def shortened(name: str) -> str:
    """Return a name, its end cut off where it would run into what stands beside it."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def worth(cards: Sequence[str]) -> int:
    """Return what cards are worth by their names (R26)."""
    return points(mask_of(map(parse_card, cards)))


class Picture:
    """One picture, drawn from top to bottom."""

    def __init__(self, table: Json, language: str) -> None:
        """Begin with an empty picture."""
        self.table = table
        self.words = web.words_in(language)
        self.names = [
            seat["name"] or self.say("seat.open", seat=seat["seat"]) for seat in table["seats"]
        ]
        self.root = Element(f"{{{SVG}}}svg", {"role": "img", "aria-labelledby": "title text"})
        self.root.set("lang", language)

    def say(self, key: str, **values: object) -> str:
        """Return the page's words for `key`, with its fields filled in."""
        return self.words[key].format_map(values)

    def spoken(self, card: str) -> str:
        """Return a card in words."""
        if card[0] == "X":
            return self.say("card.joker", number=card[1])
        rank, suit = self.words[f"rank.{card[0]}"], self.words[f"suit.{card[1]}"]
        return self.say("card.of", rank=rank, suit=suit)

    def draw(self) -> None:
        """Draw all."""
        _add(self.root, "title", self.words["picture.title"], id="title")
        _add(self.root, "desc", self._told(), id="text")
        self._add_drawings()
        felt = _add(self.root, "rect", width=WIDTH, rx=18, fill=FELT)
        sheet = _add(self.root, "g", font_family=SANS, font_size=14, fill=TEXT)
        self._draw_head(sheet)
        top = 104
        left = self._draw_hands(sheet, self._draw_melds(sheet, top) + GAP)
        height = max(left, self._draw_scores(sheet, top)) + MARGIN
        felt.set("height", str(height))
        self.root.set("viewBox", f"0 0 {WIDTH} {height}")
        self.root.set("width", str(WIDTH))
        self.root.set("height", str(height))

    # What is told.

    def _result(self) -> str:
        scores, winner = self.table["scores"], self.table["winner"]
        if winner is None:
            ours, theirs = map(number, scores)
            return self.say("end.draw", ours=ours, theirs=theirs)
        team = " + ".join(shortened(self.names[seat]) for seat in (winner, winner + 2))
        ours, theirs = number(scores[winner]), number(scores[1 - winner])
        return self.say("end.team", team=team, ours=ours, theirs=theirs)

    def _hand_in_words(self, seat: int) -> str:
        return ", ".join(map(self.spoken, self.table["hands"][seat])) or self.words["hand.empty"]

    def _told(self) -> str:
        """Return what the picture shows in words: the result, each meld, each hand."""
        hands = [f"{name}: {self._hand_in_words(seat)}." for seat, name in enumerate(self.names)]
        melds = [f"{self._meld_in_words(meld)}." for meld in self.table["deal"]["melds"]]
        return " ".join([f"{self._result()}.", *melds, f"{self.words['picture.hands']}:", *hands])

    def _meld_in_words(self, meld: Json) -> str:
        laid = [
            self.say("meld.by", card=self.spoken(card), name=self.names[seat])
            for card, seat in zip(meld["cards"], meld["laid_by"], strict=True)
        ]
        return self.say(
            "meld.label",
            meld=meld["id"],
            kind=self.words[f"kind.{meld['kind']}"],
            worth=self._worth_of(meld),
            cards="; ".join(laid),
        )

    @staticmethod
    def _worth_of(meld: Json) -> int:
        return worth(meld["cards"]) * (2 if meld["doubled"] else 1)

    # What is drawn.

    def _add_drawings(self) -> None:
        """Add what cards refer to; the cards themselves are put together one by one."""
        shapes = _add(self.root, "defs")
        named = _drawings().items()
        shapes.extend(element for name, element in named if not name.startswith("card-"))

    def _draw_card(self, parent: Element, card: str, x: float, y: float, width: int) -> None:
        colour = CARD_COLOURS["X" if card[0] == "X" else card[1]]
        rank, suit = (card[1], "jester") if card[0] == "X" else (card[0], card[1])
        place = f"translate({x:g} {y:g}) scale({width / CARD_WIDTH:.4g})"
        drawn = _add(parent, "g", transform=place, fill=colour, color=colour)
        for name in ("card-frame", f"card-{card[0]}"):
            part = copy.deepcopy(_drawings()[name])
            del part.attrib["id"]
            for element in part.iter(f"{{{SVG}}}use"):
                href = element.attrib["href"]
                element.set("href", href.replace("RANK", rank).replace("SUIT", suit))
            drawn.append(part)

    def _draw_badge(self, parent: Element, seat: int, x: float, y: float, size: int = 18) -> None:
        """Draw a seat's mark: its colour and first letter, round for team 0, square for team 1."""
        corner = size / 2 if seat % 2 == 0 else 4
        colour = SEAT_COLOURS[seat]
        _add(parent, "rect", x=x, y=y, width=size, height=size, rx=corner, fill=colour)
        letter = self.names[seat].strip()[:1].upper() or "?"
        text = _add(parent, "text", letter, x=x + size / 2, y=y + size / 2 + 4, fill="#10201e")
        text.attrib |= {"font-size": "11", "font-weight": "700", "text-anchor": "middle"}

    def _draw_heading(self, sheet: Element, text: str, x: int, y: int) -> None:
        _add(sheet, "text", text, x=x, y=y, font_family=SERIF, font_size=17, fill=GOLD)

    def _draw_head(self, sheet: Element) -> None:
        brand = self.words["brand"]
        name = _add(sheet, "text", brand, x=MARGIN, y=46, font_family=SERIF, fill=GOLD)
        name.attrib |= {"font-size": "26", "font-weight": "600"}
        _add(sheet, "text", self._result(), x=MARGIN, y=74, font_size=16)
        day = str(self.table["created_at"])[:10]
        _add(sheet, "text", day, x=WIDTH - MARGIN, y=46, text_anchor="end", fill=DIM)

    def _draw_melds(self, sheet: Element, top: int) -> int:
        """Draw all melds, as many beside each other as there is room for; return where they end."""
        self._draw_heading(sheet, self.words["table.melds"], MARGIN, top)
        melds = self.table["deal"]["melds"]
        if not melds:
            _add(sheet, "text", self.words["meld.none"], x=MARGIN, y=top + 30, fill=DIM)
            return top + 40
        x, y = MARGIN, top + 14
        for meld in melds:
            width = 18 + MELD_CARD + MELD_STEP * (len(meld["cards"]) - 1)
            if x + width > MARGIN + LEFT_WIDTH:
                x, y = MARGIN, y + MELD_HEIGHT + GAP
            self._draw_meld(sheet, meld, x, y, width)
            x += width + GAP
        return y + MELD_HEIGHT + GAP

    def _draw_meld(self, sheet: Element, meld: Json, x: int, y: int, width: int) -> None:
        drawn = _add(sheet, "g", transform=f"translate({x} {y})", font_size=12)
        _add(drawn, "title", self._meld_in_words(meld))
        _add(drawn, "rect", width=width, height=MELD_HEIGHT, rx=10, fill=PANEL)
        kind = f"{meld['id']} {self.words['kind.' + meld['kind']]}"
        _add(drawn, "text", kind, x=9, y=18, fill=DIM)
        told = number(self._worth_of(meld)) + (" ×2" if meld["doubled"] else "")
        _add(drawn, "text", told, x=width - 9, y=18, fill=GOLD, text_anchor="end")
        for place, (card, seat) in enumerate(zip(meld["cards"], meld["laid_by"], strict=True)):
            self._draw_card(drawn, card, 9 + MELD_STEP * place, 26, MELD_CARD)
            self._draw_badge(drawn, seat, 10 + MELD_STEP * place, 97)

    def _draw_hands(self, sheet: Element, top: int) -> int:
        """Draw what each seat was left with, and what that costs; return where they end."""
        self._draw_heading(sheet, self.words["picture.hands"], MARGIN, top + 10)
        y = top + 24
        for seat, cards in enumerate(self.table["hands"]):
            middle = y + HAND_HEIGHT / 2
            self._draw_badge(sheet, seat, MARGIN, middle - 10, 20)
            _add(sheet, "text", shortened(self.names[seat]), x=MARGIN + 28, y=middle + 5)
            room = LEFT_WIDTH - HAND_LEFT - 60 - HAND_CARD
            step = min(HAND_STEP, room / max(len(cards) - 1, 1))
            for place, card in enumerate(cards):
                x = round(MARGIN + HAND_LEFT + place * step, 1)
                height = HAND_CARD * CARD_HEIGHT / CARD_WIDTH
                self._draw_card(sheet, card, x, middle - height / 2, HAND_CARD)
            if not cards:
                told = self.words["hand.empty"]
                _add(sheet, "text", told, x=MARGIN + HAND_LEFT, y=middle + 5, fill=DIM)
            cost = _add(sheet, "text", number(-worth(cards)), x=MARGIN + LEFT_WIDTH, y=middle + 5)
            cost.set("text-anchor", "end")
            y += HAND_HEIGHT
        return y

    def _draw_scores(self, sheet: Element, top: int) -> int:
        """Draw the score sheet; return where it ends."""
        columns = (WIDTH - MARGIN - 90, WIDTH - MARGIN)
        self._draw_heading(sheet, self.words["scores.heading"], RIGHT, top)
        y = top + 14
        for team, x in enumerate(columns):
            for place, seat in enumerate((team, team + 2)):
                self._draw_badge(sheet, seat, x - 40 + 22 * place, y)
        y += 24

        def row(label: str, values: Sequence[str], *, is_total: bool = False) -> None:
            nonlocal y
            y += 21
            line = _add(sheet, "g", font_weight=650 if is_total else 400)
            _add(line, "text", label, x=RIGHT, y=y, fill=TEXT if is_total else DIM)
            for value, x in zip(values, columns, strict=True):
                _add(line, "text", value, x=x, y=y, text_anchor="end")

        for place, score in enumerate(self.table["deal_scores"], start=1):
            y += 28
            out = score["went_out"]
            told = "scores.nobody_out" if out is None else "scores.out"
            name = "" if out is None else shortened(self.names[out])
            _add(sheet, "text", self.say("scores.deal", number=place), x=RIGHT, y=y, fill=GOLD)
            end = _add(sheet, "text", self.say(told, name=name), x=columns[1], y=y, fill=DIM)
            end.set("text-anchor", "end")
            hands = [-abs(cost) for cost in score["hands"]]
            row(self.words["scores.laid"], [number(laid) for laid in score["laid"]])
            row(
                self.words["scores.bonus"], [number(bonus, signed=True) for bonus in score["bonus"]]
            )
            row(self.words["scores.hands"], [number(cost) for cost in hands])
            row(
                self.words["scores.total"],
                [number(total) for total in score["total"]],
                is_total=True,
            )
        y += 14
        _add(sheet, "path", d=f"M{RIGHT} {y}H{WIDTH - MARGIN}", stroke=GOLD, stroke_width=2)
        row(
            self.words["scores.game"],
            [number(total) for total in self.table["scores"]],
            is_total=True,
        )
        return y
