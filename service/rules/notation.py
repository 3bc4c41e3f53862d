"""Text and JSON for cards, actions and whole games, both ways.

An action in JSON is the API's ACTION. In text an action is one word:

| word | action |
|---|---|
| `S` | draw from the stock |
| `T7H` | take `7H`, and what lies above it, from the discard pile |
| `M4S4D4H` | meld |
| `L7S@m3` | lay off on meld `m3`; several cards stand side by side, `L3S7S@m3` |
| `DKD` | discard |
| `P` | pass |

A game in text is a list of lines `KEY value`, then for each deal one line with its pack, in the
order of the cards before the deal, and one line a turn with the seat in front:

    persian-rummy 1
    dealer 2
    players Ana|Bo|Cy|Di
    deal 1 7H2C...
    3 S M4S4D4H DKD
    0 TKD MKDKSKH D2C

A line that begins with `#` is a comment. `read_game(write_game(record)) == record`, and `replay`
plays it through the rules.
"""

import reprlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from service.rules.cards import (
    ALL_CARDS,
    CARD_COUNT,
    CARD_NAMES,
    NAMED_TWICE,
    CardId,
    Mask,
    Seat,
    UnknownCard,
    mask_of_distinct,
    names_of,
    parse_card,
)
from service.rules.deal import (
    ACTION_NAMES,
    DISCARD,
    DRAW_STOCK,
    LAY_MELD,
    LAY_OFF,
    NO_ROW,
    NOBODY,
    PASS,
    SEATS,
    TAKE_DISCARDS,
    Action,
    Deal,
    deal_cards,
    play,
)
from service.rules.view import meld_name
from service.rules.violations import RulesError

HEADER = "persian-rummy 1"
_LETTERS = {
    DRAW_STOCK: "S",
    TAKE_DISCARDS: "T",
    LAY_MELD: "M",
    LAY_OFF: "L",
    DISCARD: "D",
    PASS: "P",
}
_TYPES = {letter: kind for kind, letter in _LETTERS.items()}


class BadNotation(RulesError):
    """Text that is no action or no game. Carries the line (from 1, or None) and what is wrong."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason if line is None else f"line {line}: {reason}")
        self.reason = reason
        self.line = line


def action_to_json(action: Action) -> dict[str, Any]:
    """Return `action` as the API's ACTION."""
    result: dict[str, Any] = {"type": ACTION_NAMES[action.type]}
    if action.type in (TAKE_DISCARDS, DISCARD):
        result["card"] = names_of(action.cards)[0]
    elif action.type in (LAY_MELD, LAY_OFF):
        result["cards"] = names_of(action.cards & ALL_CARDS)
    if action.type == LAY_OFF:
        result["meld"] = meld_name(action.meld)
    return result


def action_from_json(data: dict[str, Any]) -> Action:
    """Return the action that a well-formed ACTION names; raises BadNotation for any other shape.

    A card named twice and a meld that cannot be have the right shape: the rules refuse them in
    their turn (R2, R18).
    """
    try:
        kind = ACTION_NAMES.index(data["type"])
        if kind in (TAKE_DISCARDS, DISCARD):
            return Action(kind, 1 << parse_card(data["card"]))
        if kind in (LAY_MELD, LAY_OFF):
            cards = mask_of_distinct(map(parse_card, data["cards"]))
            return Action(kind, cards, _meld_row(data["meld"]) if kind == LAY_OFF else NO_ROW)
        return Action(kind)
    except (KeyError, ValueError, TypeError) as error:
        raise BadNotation(f"{reprlib.repr(data)} is no action: {error}") from error


def _meld_row(name: str) -> int:
    """Return the row that a name such as `m3` stands for, or NO_ROW if no meld is called so."""
    digits = name[1:]
    is_number = name[:1] == "m" and digits.isascii() and digits.isdigit() and digits[0] != "0"
    return int(digits) - 1 if is_number and len(digits) <= 2 else NO_ROW


def write_cards(mask: Mask) -> str:
    """Return the names of `mask` side by side."""
    return "".join(names_of(mask))


def read_cards(text: str) -> list[CardId]:
    """Return the cards of names side by side; raises UnknownCard."""
    return [parse_card(text[start : start + 2]) for start in range(0, len(text), 2)]


def write_action(action: Action) -> str:
    """Return `action` as one word."""
    word = _LETTERS[action.type] + write_cards(action.cards)
    return f"{word}@{meld_name(action.meld)}" if action.type == LAY_OFF else word


def read_action(word: str) -> Action:
    """Return the action that `word` stands for; raises BadNotation."""
    body, at, meld = word[1:].partition("@")
    try:
        kind = _TYPES[word[:1]]
        cards = read_cards(body)
        expected = {DRAW_STOCK: 0, PASS: 0, TAKE_DISCARDS: 1, DISCARD: 1}.get(kind, len(cards))
        if len(cards) != expected or bool(at) != (kind == LAY_OFF):
            raise ValueError("wrong number of parts")
        mask = mask_of_distinct(cards)
        row = _meld_row(meld)
        if mask & NAMED_TWICE or (at and row == NO_ROW):
            raise ValueError("a card twice, or no name of a meld")
        return Action(kind, mask, row)
    except (KeyError, ValueError) as error:
        raise BadNotation(f"{reprlib.repr(word)} is no action") from error


@dataclass(slots=True)
class DealRecord:
    """One deal as it was played."""

    deck: list[CardId]
    """The 56 cards before the deal, the top one first."""
    actions: list[tuple[Seat, Action]] = field(default_factory=list)
    """All actions in order, with the seat that played each."""


@dataclass(slots=True)
class GameRecord:
    """One game as it was played."""

    dealer: Seat
    """The seat that dealt first."""
    players: list[str]
    """Four names by seat, without `|`, line breaks and space at an end."""
    deals: list[DealRecord] = field(default_factory=list)


def write_game(record: GameRecord) -> str:
    """Return `record` in text; raises BadNotation for what would not read back."""
    if record.dealer not in range(SEATS) or len(record.players) != SEATS:
        raise BadNotation("a game has a dealer and four players")
    if not all(map(_is_plain_name, record.players)):
        raise BadNotation("a player's name has a line break, a bar or space at an end")
    lines = [HEADER, f"dealer {record.dealer}", "players " + "|".join(record.players)]
    for number, deal in enumerate(record.deals, start=1):
        lines.append(f"deal {number} " + "".join(CARD_NAMES[card] for card in deal.deck))
        lines += _turn_lines(deal)
    return "\n".join(lines) + "\n"


def _is_plain_name(name: str) -> bool:
    """Tell whether `name` stands between bars on one line, by what `splitlines` splits at."""
    return "|" not in name and name == name.strip() and len(name.splitlines()) <= 1


def _turn_lines(deal: DealRecord) -> Iterator[str]:
    """Yield one line a turn: a seat and its actions. What no game is like reads back the same too:
    another seat begins another line.
    """
    line, writer = "", NOBODY
    for seat, action in deal.actions:
        if line and (seat != writer or action.type in (DRAW_STOCK, TAKE_DISCARDS, PASS)):
            yield line
            line = ""
        line = f"{line} {write_action(action)}" if line else f"{seat} {write_action(action)}"
        writer = seat
    if line:
        yield line


def read_game(text: str) -> GameRecord:
    """Return the game written in `text`; raises BadNotation with the line at fault."""
    lines = [(n, line.strip()) for n, line in enumerate(text.splitlines(), start=1)]
    lines = [(n, line) for n, line in lines if line and not line.startswith("#")]
    if not lines or lines[0][1] != HEADER:
        raise BadNotation(f"a game begins with {HEADER!r}", lines[0][0] if lines else 1)
    record = GameRecord(dealer=NOBODY, players=[])
    for number, line in lines[1:]:
        try:
            _read_line(record, line)
        except (UnknownCard, BadNotation) as error:
            raise BadNotation(str(error), number) from error
    if record.dealer == NOBODY or not record.players:
        raise BadNotation("a game names its dealer and its four players", lines[-1][0])
    return record


def _read_line(record: GameRecord, line: str) -> None:
    key, _, rest = line.partition(" ")
    if key == "dealer":
        record.dealer = _read_seat(rest)
    elif key == "players":
        record.players = rest.split("|")
        if len(record.players) != SEATS:
            raise BadNotation("a game names four players")
        if not all(map(_is_plain_name, record.players)):
            raise BadNotation("a player's name has space at an end")
    elif key == "deal":
        number, _, names = rest.partition(" ")
        deck = read_cards(names)
        if number != str(len(record.deals) + 1) or sorted(deck) != list(range(CARD_COUNT)):
            raise BadNotation("a deal has its number and the 56 cards once each")
        record.deals.append(DealRecord(deck))
    else:
        seat = _read_seat(key)
        if not record.deals:
            raise BadNotation("a turn comes before any deal")
        record.deals[-1].actions += [(seat, read_action(word)) for word in rest.split()]


def _read_seat(text: str) -> Seat:
    if text not in ("0", "1", "2", "3"):
        raise BadNotation(f"{reprlib.repr(text)} is no seat")
    return int(text)


def replay(record: GameRecord) -> list[Deal]:
    """Play `record` through the rules and return its deals as they ended.

    Raises IllegalAction at the first action that the rules refuse.
    """
    deals = []
    for number, written in enumerate(record.deals):
        deal = deal_cards(written.deck, (record.dealer + number) % SEATS)
        for seat, action in written.actions:
            play(deal, seat, action)
        deals.append(deal)
    return deals
