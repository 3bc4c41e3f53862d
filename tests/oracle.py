"""A slow, obvious referee of Persian Rummy: the second opinion in differential tests.

It is written from the rules alone and must share nothing with the engine that it judges: no
import of the service, no bit masks, no card numbers. Cards are strings (``"7H"``, ``"TD"``,
``"AS"``, jokers ``"X1"`` to ``"X4"``), hands and piles are lists. Rule ids (``R11``) are those of
the rule book. Wherever a choice had to be made, the plainest way was taken, never the fastest.

Names for tests:

* cards: ``CARDS``, ``points(card)``, ``deal_out(pack, dealer)``;
* melds: ``is_set(cards)``, ``is_run(cards)``, ``meld_kind(cards)``, ``every_meld()``,
  ``in_display_order(cards)``, ``RefereeMeld``;
* play: ``RefereeDeal``, ``RefereeGame``, ``Refused``, ``action_key(action)``, ``meld_key(meld)``.

How the list of legal actions is found: there are only 334 melds that anybody could ever lay
(70 sets, 264 runs), so ``every_meld`` writes them all down. A new meld is one that lies wholly in
the hand; a lay-off is one that contains a meld of the table and takes the rest from the hand.
How an action is judged is separate: ``refusal`` asks ``meld_kind`` and does not look at that list,
but for R12, which asks whether anything on the list contains the taken card.

Once a deal is over, ``turn`` and ``phase`` stay as the last action left them and mean nothing.
Positions for a test are made by setting the plain attributes of a ``RefereeDeal``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from typing import Any, Literal, TypeAlias

Action: TypeAlias = dict[str, Any]
"""One action as clients send it, for example ``{"type": "discard", "card": "KD"}``."""

Kind: TypeAlias = Literal["set", "run"]

SUITS = "CDHS"
RANKS = "23456789TJQKA"
JOKERS = ["X1", "X2", "X3", "X4"]
CARDS = [rank + suit for suit in SUITS for rank in RANKS] + JOKERS
SEATS = [0, 1, 2, 3]

GOING_OUT_BONUS = 25
PASSES_THAT_END_THE_DEAL = 4
ACTIONS_OF_PHASE = {
    "draw": ["draw_stock", "take_discards", "pass"],
    "meld": ["meld", "lay_off", "discard"],
}


class Refused(Exception):
    """An action that the rules refuse; `rule` is the id of the rule, such as ``"R11"``."""

    def __init__(self, rule: str) -> None:
        """Keep the id of the rule that refuses."""
        super().__init__(f"refused by {rule}")
        self.rule = rule


# --- cards ---------------------------------------------------------------------------------------


def is_joker(card: str) -> bool:
    """Tell whether the card is one of the four jokers."""
    return card in JOKERS


def rank_of(card: str) -> str:
    """Give the rank of a card; the joker is a rank of its own, ``"X"`` (R2)."""
    return card[0]


def suit_of(card: str) -> str | None:
    """Give the suit of a card, None for a joker."""
    return None if is_joker(card) else card[1]


def points(card: str) -> int:
    """Give what a card is worth (R26).

    >>> points("X1"), points("AS"), points("TD"), points("7H")
    (20, 15, 10, 7)
    """
    rank = rank_of(card)
    if rank == "X":
        return 20
    if rank == "A":
        return 15
    if rank in "KQJT":
        return 10
    return int(rank)


def in_display_order(cards: Iterable[str]) -> list[str]:
    """Sort cards by suit C D H S, then low to high, jokers last."""
    return sorted(cards, key=CARDS.index)


def team_of(seat: int) -> int:
    """Give the team of a seat: 0 for seats 0 and 2, 1 for seats 1 and 3 (R1)."""
    return 0 if seat in (0, 2) else 1


def left_of(seat: int) -> int:
    """Give the left neighbour of a seat, who is next in clockwise order (R1)."""
    return (seat + 1) % 4


def deal_out(pack: Sequence[str], dealer: int) -> tuple[list[list[str]], list[str], str]:
    """Deal a shuffled pack, top card first, and give hands, stock and upcard (R5)."""
    cards = list(pack)
    hands: list[list[str]] = [[], [], [], []]
    for _ in range(7):
        seat = left_of(dealer)
        for _ in SEATS:
            hands[seat].append(cards.pop(0))
            seat = left_of(seat)
    upcard = cards.pop(0)
    return hands, cards, upcard


# --- melds ---------------------------------------------------------------------------------------


def _are_different_cards(cards: list[str]) -> bool:
    return len(set(cards)) == len(cards) and all(card in CARDS for card in cards)


def is_set(cards: Iterable[str]) -> bool:
    """Tell whether the cards are three or four of one rank, or so many jokers (R15, R3)."""
    cards = list(cards)
    if not _are_different_cards(cards):
        return False
    return len(cards) in (3, 4) and len({rank_of(card) for card in cards}) == 1


def is_run(cards: Iterable[str]) -> bool:
    """Tell whether the cards are three or more of one suit in a row, ace high only (R16, R3)."""
    cards = list(cards)
    if not _are_different_cards(cards) or len(cards) < 3:
        return False
    if any(is_joker(card) for card in cards):
        return False
    if len({suit_of(card) for card in cards}) != 1:
        return False
    places = sorted(RANKS.index(rank_of(card)) for card in cards)
    return all(high == low + 1 for low, high in pairwise(places))


def meld_kind(cards: Iterable[str]) -> Kind | None:
    """Give ``"set"``, ``"run"`` or None for cards in any order; a card twice is no meld."""
    cards = list(cards)
    if is_set(cards):
        return "set"
    if is_run(cards):
        return "run"
    return None


@cache
def every_meld() -> tuple[frozenset[str], ...]:
    """Write down all 70 sets and all 264 runs that the pack allows."""
    melds = []
    for rank in RANKS + "X":
        of_this_rank = [card for card in CARDS if rank_of(card) == rank]
        for size in (3, 4):
            melds += [frozenset(cards) for cards in combinations(of_this_rank, size)]
    for suit in SUITS:
        of_this_suit = [rank + suit for rank in RANKS]
        for start in range(len(RANKS)):
            for end in range(start + 3, len(RANKS) + 1):
                melds.append(frozenset(of_this_suit[start:end]))
    return tuple(melds)


@dataclass
class RefereeMeld:
    """One meld on the table."""

    id: str
    """``"m1"``, ``"m2"``, ... in the order laid within the deal."""
    kind: Kind
    cards: list[str]
    """In display order: a run low to high, a set in suit order C D H S."""
    laid_by: dict[str, int]
    """The seat that laid each card (R27)."""
    doubled: bool
    """A set of four laid in one action (R28)."""

    def view(self) -> dict[str, Any]:
        """Give the meld as clients see it, `laid_by` one seat for each card."""
        return {
            "id": self.id,
            "kind": self.kind,
            "cards": list(self.cards),
            "laid_by": [self.laid_by[card] for card in self.cards],
            "doubled": self.doubled,
        }


def meld_key(meld: dict[str, Any]) -> tuple[Any, ...]:
    """Canonicalise a meld as clients see it, so that the order of its cards does not matter."""
    laid_by = frozenset(zip(meld["cards"], meld["laid_by"], strict=True))
    return (meld["id"], meld["kind"], laid_by, meld["doubled"])


# --- actions -------------------------------------------------------------------------------------


def action_key(action: Action) -> tuple[Any, ...]:
    """Canonicalise an action, so that the order of its cards (and any "seat") does not matter.

    >>> lay_off = {"type": "lay_off", "cards": ["7S", "3S"], "meld": "m1"}
    >>> action_key(lay_off) == action_key({**lay_off, "cards": ["3S", "7S"]})
    True
    """
    cards = tuple(sorted(action["cards"])) if "cards" in action else None
    return (action["type"], action.get("card"), cards, action.get("meld"))


def table_actions(
    hand: Iterable[str], melds: Iterable[RefereeMeld], due: str | None = None
) -> list[Action]:
    """List every meld and lay-off that the hand allows, only those with the due card if any."""
    held = set(hand)
    wholes = [whole for whole in every_meld() if due is None or due in whole]
    actions: list[Action] = []
    for whole in wholes:
        if whole <= held:
            actions.append({"type": "meld", "cards": in_display_order(whole)})
    for meld in melds:
        lying = set(meld.cards)
        for whole in wholes:
            added = whole - lying
            if lying < whole and added <= held and meld_kind(whole) == meld.kind:
                cards = in_display_order(added)
                actions.append({"type": "lay_off", "cards": cards, "meld": meld.id})
    return actions


def _why_no_meld(cards: list[str]) -> str | None:
    """Give the rule by which the cards are no meld, None if they are one."""
    if meld_kind(cards) is not None:
        return None
    jokers = [card for card in cards if is_joker(card)]
    if jokers and len(jokers) < len(cards):
        return "R3"
    if not jokers and len({suit_of(card) for card in cards}) == 1:
        return "R16"
    return "R15"


# --- one deal ------------------------------------------------------------------------------------


class RefereeDeal:
    """One deal, from the first turn to the score.

    Attributes: `hands` (four lists), `stock` (the next card to be drawn first), `pile` (bottom to
    top), `melds`, `dealer`, `turn` (a seat), `phase` ("draw" or "meld"), `due` (the card of R11 or
    None), `passes` (in a row), `over`, `went_out` (the seat of R21 or None), `known` (for each seat
    the set of cards taken from the pile and still held, R33), `log` (accepted (seat, action)).
    """

    def __init__(
        self, hands: Sequence[Sequence[str]], stock: Sequence[str], upcard: str, dealer: int
    ) -> None:
        """Set up the deal; the player at the dealer's left starts (R6)."""
        self.hands = [list(hand) for hand in hands]
        self.stock = list(stock)
        self.pile = [upcard]
        self.melds: list[RefereeMeld] = []
        self.dealer = dealer
        self.turn = left_of(dealer)
        self.phase: Literal["draw", "meld"] = "draw"
        self.due: str | None = None
        self.passes = 0
        self.over = False
        self.went_out: int | None = None
        self.known: list[set[str]] = [set(), set(), set(), set()]
        self.log: list[tuple[int, Action]] = []

    # What is allowed

    def legal_actions(self) -> list[Action]:
        """List every action that the seat to move may play; none once the deal is over."""
        if self.over:
            return []
        if self.phase == "draw":
            return self._legal_draws()
        hand = self.hands[self.turn]
        actions = table_actions(hand, self.melds, self.due)
        if self.due is None:
            actions += [{"type": "discard", "card": card} for card in hand]
        return actions

    def refusal(self, seat: int, action: Action) -> str | None:
        """Give the id of the rule that refuses the action, None if it is legal.

        Raises ValueError if the action is of no known type.
        """
        if not any(action["type"] in types for types in ACTIONS_OF_PHASE.values()):
            raise ValueError(f"no such type of action: {action['type']!r}")
        if self.over:
            return "R21"
        if seat != self.turn:
            return "R6"
        if action["type"] not in ACTIONS_OF_PHASE[self.phase]:
            return "R8"
        if action["type"] == "draw_stock":
            return None if self.stock else "R23"
        if action["type"] == "pass":
            return "R24" if self.stock else None
        if action["type"] == "take_discards":
            return self._refusal_of_take(action["card"])
        if action["type"] == "discard":
            return self._refusal_of_discard(action["card"])
        return self._refusal_at_the_table(action)

    # What happens

    def play(self, seat: int, action: Action) -> None:
        """Play one action; raise Refused and change nothing if the rules refuse it."""
        rule = self.refusal(seat, action)
        if rule is not None:
            raise Refused(rule)
        self.log.append((seat, deepcopy(action)))
        if action["type"] == "draw_stock":
            self._draw_from_stock()
        elif action["type"] == "take_discards":
            self._take_from_pile(action["card"])
        elif action["type"] == "pass":
            self._pass()
        elif action["type"] == "meld":
            self._lay_meld(action["cards"])
        elif action["type"] == "lay_off":
            self._lay_off(action["cards"], action["meld"])
        else:
            self._discard(action["card"])

    # What it is worth, and what can be seen

    def score(self) -> dict[str, list[int]]:
        """Count the deal from the melds and the hands; each list is one number for each team.

        `laid` includes the doubles of R28, `hands` is negative or nought, `total` is the sum.
        """
        laid, bonus, hands = [0, 0], [0, 0], [0, 0]
        for meld in self.melds:
            for card in meld.cards:
                worth = points(card) * 2 if meld.doubled else points(card)
                laid[team_of(meld.laid_by[card])] += worth
        if self.went_out is not None:
            bonus[team_of(self.went_out)] += GOING_OUT_BONUS
        for seat in SEATS:
            for card in self.hands[seat]:
                hands[team_of(seat)] -= points(card)
        total = [laid[team] + bonus[team] + hands[team] for team in (0, 1)]
        return {"laid": laid, "bonus": bonus, "hands": hands, "total": total}

    def all_cards_once(self) -> bool:
        """Tell whether each of the 56 cards is in exactly one hand, stock, pile or meld."""
        cards = self.stock + self.pile
        for hand in self.hands:
            cards = cards + hand
        for meld in self.melds:
            cards = cards + meld.cards
        return sorted(cards) == sorted(CARDS)

    def view(self, seat: int) -> dict[str, Any]:
        """Give what the player at one seat may see, and nothing else (R33)."""
        return {
            "hand": in_display_order(self.hands[seat]),
            "hand_counts": [len(hand) for hand in self.hands],
            "known_cards": [in_display_order(cards) for cards in self.known],
            "discard_pile": list(self.pile),
            "stock_count": len(self.stock),
            "melds": [meld.view() for meld in self.melds],
            "turn": self.turn,
            "phase": self.phase,
            "due": self.due,
        }

    # Parts of the above: judging

    def _legal_draws(self) -> list[Action]:
        actions: list[Action] = []
        if self.stock:
            actions.append({"type": "draw_stock"})
        for card in self.pile:
            if self._can_table_at_once(card):
                actions.append({"type": "take_discards", "card": card})
        if not self.stock:
            actions.append({"type": "pass"})
        return actions

    def _can_table_at_once(self, card: str) -> bool:
        """Tell whether R11 can be met after taking this card and all above it (R10, R12)."""
        taken = self.pile[self.pile.index(card) :]
        hand = self.hands[self.turn] + taken
        return len(table_actions(hand, self.melds, due=card)) > 0

    def _refusal_of_take(self, card: str) -> str | None:
        if card not in self.pile:
            return "R9"
        if not self._can_table_at_once(card):
            return "R12"
        return None

    def _refusal_of_discard(self, card: str) -> str | None:
        if card not in self.hands[self.turn]:
            return "R8"
        if self.due is not None:
            return "R11"
        return None

    def _refusal_at_the_table(self, action: Action) -> str | None:
        cards = list(action["cards"])
        if len(set(cards)) < len(cards):
            return "R2"
        if any(card not in self.hands[self.turn] for card in cards):
            return "R8"
        if action["type"] == "meld":
            rule = _why_no_meld(cards)
        else:
            rule = self._why_no_lay_off(cards, action["meld"])
        if rule is not None:
            return rule
        if self.due is not None and self.due not in cards:
            return "R11"
        return None

    def _why_no_lay_off(self, cards: list[str], meld_id: str) -> str | None:
        if meld_id not in [meld.id for meld in self.melds]:
            return "R18"
        meld = self._meld_named(meld_id)
        if not cards or meld_kind(meld.cards + cards) != meld.kind:
            return "R17"
        return None

    def _meld_named(self, meld_id: str) -> RefereeMeld:
        return next(meld for meld in self.melds if meld.id == meld_id)

    # Parts of the above: playing

    def _draw_from_stock(self) -> None:
        self.hands[self.turn].append(self.stock.pop(0))
        self.phase = "meld"

    def _take_from_pile(self, card: str) -> None:
        """Take the card and all above it into the hand; the card itself is due (R10, R11)."""
        place = self.pile.index(card)
        taken = self.pile[place:]
        self.pile = self.pile[:place]
        self.hands[self.turn] += taken
        self.known[self.turn] |= set(taken)
        self.due = card
        self.passes = 0
        self.phase = "meld"

    def _pass(self) -> None:
        """Count the pass; the fourth in a row ends the deal without a bonus (R24, R25)."""
        self.passes += 1
        if self.passes == PASSES_THAT_END_THE_DEAL:
            self.over = True
        else:
            self._next_turn()

    def _lay_meld(self, cards: list[str]) -> None:
        kind = meld_kind(cards)
        assert kind is not None
        self.melds.append(
            RefereeMeld(
                id=f"m{len(self.melds) + 1}",
                kind=kind,
                cards=in_display_order(cards),
                laid_by=dict.fromkeys(cards, self.turn),
                doubled=kind == "set" and len(cards) == 4,
            )
        )
        self._leave_hand_for_the_table(cards)

    def _lay_off(self, cards: list[str], meld_id: str) -> None:
        meld = self._meld_named(meld_id)
        meld.cards = in_display_order(meld.cards + list(cards))
        for card in cards:
            meld.laid_by[card] = self.turn
        self._leave_hand_for_the_table(cards)

    def _leave_hand_for_the_table(self, cards: list[str]) -> None:
        """Remove tabled cards from the hand; whoever has none left goes out (R21)."""
        for card in cards:
            self._leave_hand(card)
        self.due = None
        if not self.hands[self.turn]:
            self.over = True
            self.went_out = self.turn

    def _discard(self, card: str) -> None:
        """Put the card on the pile and end the turn, though the hand be empty (R20, R22)."""
        self._leave_hand(card)
        self.pile.append(card)
        self._next_turn()

    def _leave_hand(self, card: str) -> None:
        self.hands[self.turn].remove(card)
        self.known[self.turn].discard(card)

    def _next_turn(self) -> None:
        self.turn = left_of(self.turn)
        self.phase = "draw"


# --- the game ------------------------------------------------------------------------------------


class RefereeGame:
    """A game of two deals (R7); the second starts by itself when the first is over.

    Attributes: `deals` (the RefereeDeals started so far), `deal` (the one in play or the last),
    `scores` (of the deals that are over, as `RefereeDeal.score` gives them), `totals` (one number
    for each team), `over`, `winner` (0, 1, or None while undecided and for a draw, R32).
    """

    def __init__(
        self,
        deals: Sequence[tuple[Sequence[Sequence[str]], Sequence[str], str]],
        first_dealer: int,
    ) -> None:
        """Start the first of two deals, each given as (hands, stock, upcard)."""
        self._set_ups = list(deals)
        self.deals: list[RefereeDeal] = []
        self.scores: list[dict[str, list[int]]] = []
        self.totals = [0, 0]
        self.over = False
        self.winner: int | None = None
        self._start_deal(first_dealer)

    @property
    def deal(self) -> RefereeDeal:
        """The deal in play, or the last one once the game is over."""
        return self.deals[-1]

    def legal_actions(self) -> list[Action]:
        """List every action that the seat to move may play; none once the game is over."""
        return self.deal.legal_actions()

    def refusal(self, seat: int, action: Action) -> str | None:
        """Give the id of the rule that refuses the action, None if it is legal."""
        return self.deal.refusal(seat, action)

    def play(self, seat: int, action: Action) -> None:
        """Play one action in the current deal; raise Refused if the rules refuse it."""
        self.deal.play(seat, action)
        if self.deal.over:
            self._count_deal()

    def _start_deal(self, dealer: int) -> None:
        hands, stock, upcard = self._set_ups[len(self.deals)]
        self.deals.append(RefereeDeal(hands, stock, upcard, dealer))

    def _count_deal(self) -> None:
        """Add the deal's score; start the second deal or name the winner (R7, R32)."""
        score = self.deal.score()
        self.scores.append(score)
        self.totals = [self.totals[team] + score["total"][team] for team in (0, 1)]
        if len(self.deals) < 2:
            self._start_deal(left_of(self.deal.dealer))
            return
        self.over = True
        if self.totals[0] > self.totals[1]:
            self.winner = 0
        if self.totals[1] > self.totals[0]:
            self.winner = 1
