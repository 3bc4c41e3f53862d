"""Whether a position that somebody sends can be what a seat sees at a table (R33).

Every fault is found and named, not only the first. The shape is that of `view_to_json` and is taken
for granted: known names of cards, seats from 0 to 3, lists of four where there are four seats. What
is checked is what the rules imply of any position, and not that some game leads to it. Before the
first meld there is only one way to play, so there everything is checked.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from service.rules.cards import CARD_COUNT, Mask, mask_of, parse_card
from service.rules.deal import HAND_SIZE, SEATS, STOCK_SIZE
from service.rules.melds import KIND_NAMES, NO_MELD, RUN, SET, can_table, is_run, meld_kind
from service.rules.score import points
from service.rules.view import meld_name
from service.sentences import Sentence

Fault = tuple[str, Sentence]
"""The member at fault (`melds.2.cards`) and what is wrong with it."""
MOST_PASSES = SEATS - 1
NEITHER = Sentence("{cards} is neither a set nor a run (R15, R16).")
IS_OF_KIND = {SET: Sentence("{cards} is a set."), RUN: Sentence("{cards} is a run.")}


def find_view_faults(data: dict[str, Any]) -> list[Fault]:
    """Return what is wrong with the position `data`, a view as JSON; none when it can be."""
    faults = [
        *_turn_faults(data),
        *_count_faults(data),
        *_double_faults(data),
        *_known_faults(data),
        *_meld_faults(data),
    ]
    if not faults:
        # These rest on what is checked above.
        faults += [*_point_faults(data), *_due_faults(data), *_opening_faults(data)]
    return faults


def _mask(names: list[str]) -> Mask:
    return mask_of(map(parse_card, names))


def _turn_faults(data: dict[str, Any]) -> Iterator[Fault]:
    """Yield what is wrong with whose turn it is, and when."""
    if data["seat"] != data["turn"]:
        yield (
            "turn",
            Sentence("Advice is for the seat to move, and seat {seat} is not.", seat=data["seat"]),
        )
    if data["phase"] == "over":
        yield "phase", Sentence("The deal is over: there is nothing to decide (R21).")
    if data["number"] > data["deals"]:
        yield (
            "number",
            Sentence(
                "There is no deal {number} in a game of {deals}.",
                number=data["number"],
                deals=data["deals"],
            ),
        )
    if data["number"] == 1 and any(data["scores"]):
        yield "scores", Sentence("In the first deal nobody has points of deals before.")
    if data["phase"] == "draw":
        if data["due"] is not None:
            yield "due", Sentence("A card is due only after it was taken (R11).")
        if not data["discard_pile"]:
            yield (
                "discard_pile",
                Sentence("At the beginning of a turn the discard pile is not empty (R20)."),
            )
    if data["phase"] == "meld" and not data["hand"]:
        yield (
            "hand",
            Sentence("After drawing the hand is not empty, or the deal would be over (R21)."),
        )
    if not 0 <= data["passes"] <= MOST_PASSES:
        yield "passes", Sentence("Four passes in a row end the deal (R25).")
    elif data["passes"] and (data["stock_count"] or data["phase"] == "meld"):
        yield (
            "passes",
            Sentence("Passes come with an empty stock only, and a take ends their row (R24, R25)."),
        )


def _count_faults(data: dict[str, Any]) -> Iterator[Fault]:
    """Yield what is wrong with how many cards lie where."""
    if not 0 <= data["stock_count"] <= STOCK_SIZE:
        yield "stock_count", Sentence("The stock has 0 to {most} cards (R5).", most=STOCK_SIZE)
    if len(data["hand"]) != data["hand_counts"][data["seat"]]:
        yield (
            "hand",
            Sentence(
                "These are {count} cards, but `hand_counts` says {told}.",
                count=len(data["hand"]),
                told=data["hand_counts"][data["seat"]],
            ),
        )
    tabled = sum(len(meld["cards"]) for meld in data["melds"])
    total = data["stock_count"] + len(data["discard_pile"]) + sum(data["hand_counts"]) + tabled
    if total != CARD_COUNT:
        yield (
            "body",
            Sentence(
                "Stock, discard pile, hands and melds have {total} cards, not {count} (R2).",
                total=total,
                count=CARD_COUNT,
            ),
        )


def _double_faults(data: dict[str, Any]) -> Iterator[Fault]:
    """Yield each card that lies in two places (R2)."""
    places = {
        "hand": data["hand"],
        "discard_pile": data["discard_pile"],
        **{f"melds.{row}.cards": meld["cards"] for row, meld in enumerate(data["melds"])},
        **{
            f"known_cards.{seat}": names
            for seat, names in enumerate(data["known_cards"])
            if seat != data["seat"]
        },
    }
    seen: dict[str, str] = {}
    for place, names in places.items():
        for name, count in Counter(names).items():
            if count > 1:
                yield (
                    place,
                    Sentence(
                        "{card} stands here {count} times; there is one of each card (R2).",
                        card=name,
                        count=count,
                    ),
                )
            elif name in seen:
                yield (
                    place,
                    Sentence("{card} lies in `{place}` already (R2).", card=name, place=seen[name]),
                )
            seen[name] = place


def _known_faults(data: dict[str, Any]) -> Iterator[Fault]:
    """Yield what is wrong with the cards that all know to be in a hand (R33)."""
    for seat, names in enumerate(data["known_cards"]):
        if len(names) > data["hand_counts"][seat]:
            yield (
                f"known_cards.{seat}",
                Sentence(
                    "{known} cards are known of a hand of {count}.",
                    known=len(names),
                    count=data["hand_counts"][seat],
                ),
            )
    own = data["known_cards"][data["seat"]]
    if not set(own) <= set(data["hand"]):
        missing = ", ".join(sorted(set(own) - set(data["hand"])))
        yield (
            f"known_cards.{data['seat']}",
            Sentence("Not in the hand: {cards}.", cards=missing),
        )
    if len(set(own)) != len(own):
        yield f"known_cards.{data['seat']}", Sentence("A card stands here more than once (R2).")


def _meld_faults(data: dict[str, Any]) -> Iterator[Fault]:
    """Yield what is wrong with each meld (R15 to R18, R27, R28)."""
    for row, meld in enumerate(data["melds"]):
        place = f"melds.{row}"
        if meld["id"] != meld_name(row):
            yield (
                f"{place}.id",
                Sentence(
                    "Melds are called by their order: this one `{meld}`.", meld=meld_name(row)
                ),
            )
        if len(meld["cards"]) != len(meld["laid_by"]):
            yield f"{place}.laid_by", Sentence("Each card has one seat that laid it (R27).")
            continue
        if len(set(meld["cards"])) != len(meld["cards"]):
            continue
        kind = meld_kind(_mask(meld["cards"]))
        if kind == NO_MELD:
            yield f"{place}.cards", NEITHER.format(cards=" ".join(meld["cards"]))
            continue
        if KIND_NAMES[kind] != meld["kind"]:
            yield f"{place}.kind", IS_OF_KIND[kind].format(cards=" ".join(meld["cards"]))
        if not _was_begun(meld, kind):
            yield (
                f"{place}.laid_by",
                Sentence("A meld is begun by one player with three cards (R15, R16)."),
            )
        if meld["doubled"] and not _may_double(meld, kind):
            yield (
                f"{place}.doubled",
                Sentence("Only a set of four, laid at once by one player, doubles (R28)."),
            )


def _was_begun(meld: dict[str, Any], kind: int) -> bool:
    """Tell whether one seat's cards alone could have begun the meld."""
    laid: dict[int, list[int]] = {}
    for name, seat in sorted(
        zip(meld["cards"], meld["laid_by"], strict=True), key=lambda pair: parse_card(pair[0])
    ):
        laid.setdefault(seat, []).append(parse_card(name))
    if kind == SET:
        return any(len(cards) >= 3 for cards in laid.values())
    threes = (cards[i : i + 3] for cards in laid.values() for i in range(len(cards) - 2))
    return any(is_run(mask_of(three)) for three in threes)


def _may_double(meld: dict[str, Any], kind: int) -> bool:
    return kind == SET and len(meld["cards"]) == 4 and len(set(meld["laid_by"])) == 1


def _point_faults(data: dict[str, Any]) -> Iterator[Fault]:
    """Yield the teams whose points are not those of the melds (R27, R28)."""
    laid = [0, 0]
    for meld in data["melds"]:
        for name, seat in zip(meld["cards"], meld["laid_by"], strict=True):
            laid[seat % 2] += points(_mask([name])) * (2 if meld["doubled"] else 1)
    for team in (0, 1):
        if laid[team] != data["points"][team]:
            yield (
                f"points.{team}",
                Sentence("The melds are worth {points} (R26 to R28).", points=laid[team]),
            )


def _due_faults(data: dict[str, Any]) -> Iterator[Fault]:
    """Yield what is wrong with the card that is due (R11, R12)."""
    due = data["due"]
    if due is None:
        return
    if due not in data["known_cards"][data["seat"]]:
        yield (
            "due",
            Sentence(
                "{card} was just taken in all players' sight, and is not among `known_cards`.",
                card=due,
            ),
        )
    tables = {SET: 0, RUN: 0}
    for meld in data["melds"]:
        tables[KIND_NAMES.index(meld["kind"])] |= _mask(meld["cards"])
    held = _mask(data["hand"])
    if not can_table(parse_card(due), held | _mask([due]), tables[SET], tables[RUN]):
        yield (
            "due",
            Sentence(
                "{card} can be neither melded nor laid off, so it was not taken (R12).", card=due
            ),
        )


def _opening_faults(data: dict[str, Any]) -> Iterator[Fault]:
    """Yield what cannot be before the first meld: until then nobody has taken, unless the seat to
    move just did; so all have drawn from the stock and discarded (R8, R11).
    """
    if data["melds"]:
        return
    seat, is_meld = data["seat"], data["phase"] == "meld"
    drawn = STOCK_SIZE - data["stock_count"]
    taken = len(data["known_cards"][seat]) if data["due"] is not None else 0
    turns = drawn - (1 if is_meld and not taken else 0)
    others = [known for other, known in enumerate(data["known_cards"]) if other != seat]
    if any(others) or len(data["known_cards"][seat]) != taken:
        yield (
            "known_cards",
            Sentence("Nobody keeps a card of the discard pile before the first meld (R11)."),
        )
        return
    if (data["dealer"] + 1 + turns + data["passes"]) % SEATS != data["turn"]:
        yield "turn", Sentence("With so many cards drawn another seat is to move (R6).")
    for other, count in enumerate(data["hand_counts"]):
        extra = (taken or 1) if other == seat and is_meld else 0
        if count != HAND_SIZE + extra:
            yield (
                f"hand_counts.{other}",
                Sentence("Before the first meld: {count} (R5, R8).", count=HAND_SIZE + extra),
            )
