"""One deal: its state, the checks of each action and the transitions (R5, R8 to R28).

Three layers, each resting on the one before, so that every rule has one body:

* the *core* (`CORE_FIELDS`): hands, stock, pile, two masks of the table, points laid. All of the
  play follows from it. A search copies nothing else.
* the *meld rows* (`TABLE_FIELDS`): which meld each card joined and who laid it. They are for people
  and for the naming of melds (R18), and change nothing in what may be played later.
* `play`, the checked door: judges an `Action` and changes the deal only if it is legal.

`check_*` return a `Violation` and change nothing. `apply_*` change the deal in place without
asking. Both are kernels: `deal` may be a `Deal` or a numpy record with the fields of the same
names.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from service.rules._jit import kernel, lowest_card, popcount
from service.rules.cards import ALL_CARDS, CARD_COUNT, NAMED_TWICE, CardId, Mask, Seat, mask_of
from service.rules.melds import (
    SET,
    can_table,
    check_meld,
    is_meld_of_kind,
    meld_kind,
)
from service.rules.score import DealScore, points, score_deal
from service.rules.violations import IllegalAction, Violation

SEATS = 4
HAND_SIZE = 7
STOCK_SIZE = 27
MAX_MELDS = 18
"""56 cards make at most eighteen melds."""

DRAW, MELD, OVER = 0, 1, 2
"""Phases: before the draw; after it; the deal is over."""
PHASE_NAMES = ("draw", "meld", "over")
NOBODY = -1
NO_CARD = -1
NO_ROW = -1

DRAW_STOCK, TAKE_DISCARDS, LAY_MELD, LAY_OFF, DISCARD, PASS = 0, 1, 2, 3, 4, 5
"""Types of action."""
ACTION_NAMES = ("draw_stock", "take_discards", "meld", "lay_off", "discard", "pass")

CORE_FIELDS: tuple[tuple[str, int], ...] = (
    ("hands", SEATS),
    ("known", SEATS),
    ("laid", 2),
    ("table_sets", 0),
    ("table_runs", 0),
    ("turn", 0),
    ("dealer", 0),
    ("phase", 0),
    ("due", 0),
    ("passes", 0),
    ("went_out", 0),
    ("stock_count", 0),
    ("pile_count", 0),
    ("stock", STOCK_SIZE),
    ("pile", CARD_COUNT),
)
"""Name and length (0: a single int) of each field that the play depends on."""
TABLE_FIELDS: tuple[tuple[str, int], ...] = (
    ("meld_count", 0),
    ("meld_kinds", MAX_MELDS),
    ("meld_cards", MAX_MELDS),
    ("meld_doubled", MAX_MELDS),
    ("laid_by", CARD_COUNT),
)
"""The same for the rows of melds."""


def _ints(count: int, value: int = 0) -> list[int]:
    return [value] * count


@dataclass(slots=True)
class Deal:
    """The whole state of a deal, hidden cards included.

    Lists have a fixed length; counts say how much of them is in use.
    """

    hands: list[Mask] = field(default_factory=lambda: _ints(SEATS))
    """Cards held, by seat."""
    known: list[Mask] = field(default_factory=lambda: _ints(SEATS))
    """Cards each seat took from the pile and still holds, which all players know (R33)."""
    laid: list[int] = field(default_factory=lambda: _ints(2))
    """Points on the table by team, doubles included (R27, R28)."""
    table_sets: Mask = 0
    """Cards that lie in sets."""
    table_runs: Mask = 0
    """Cards that lie in runs."""
    turn: Seat = 0
    """The seat to move."""
    dealer: Seat = 3
    """The seat that dealt."""
    phase: int = DRAW
    """DRAW, MELD or OVER."""
    due: CardId = NO_CARD
    """The card that the next table action must contain (R11), or NO_CARD."""
    passes: int = 0
    """Passes in a row, 0 to 4 (R25)."""
    went_out: Seat = NOBODY
    """The seat that ended the deal (R21), or NOBODY."""
    stock_count: int = 0
    """Cards in the stock; the next to be drawn is `stock[stock_count - 1]`."""
    pile_count: int = 0
    """Cards in the discard pile; `pile[0]` is its bottom."""
    stock: list[CardId] = field(default_factory=lambda: _ints(STOCK_SIZE))
    pile: list[CardId] = field(default_factory=lambda: _ints(CARD_COUNT))
    meld_count: int = 0
    """Melds on the table; row i is called `m<i+1>`."""
    meld_kinds: list[int] = field(default_factory=lambda: _ints(MAX_MELDS))
    """SET or RUN by row."""
    meld_cards: list[Mask] = field(default_factory=lambda: _ints(MAX_MELDS))
    """Cards by row, all lay-offs included."""
    meld_doubled: list[int] = field(default_factory=lambda: _ints(MAX_MELDS))
    """1 where a set of four was laid in one action (R28)."""
    laid_by: list[int] = field(default_factory=lambda: _ints(CARD_COUNT, NOBODY))
    """The seat that laid a card, by card, or NOBODY."""

    def copy(self) -> "Deal":
        """Return a deal that shares nothing with this one."""
        twin = Deal.__new__(Deal)
        for name, length in CORE_FIELDS + TABLE_FIELDS:
            value = getattr(self, name)
            setattr(twin, name, value[:] if length else value)
        return twin

    @property
    def pile_cards(self) -> list[CardId]:
        """The discard pile from bottom to top."""
        return self.pile[: self.pile_count]

    @property
    def stock_cards(self) -> list[CardId]:
        """The stock, the next card to be drawn first."""
        return self.stock[: self.stock_count][::-1]

    @property
    def score(self) -> DealScore:
        """The score of the deal as it stands (R26 to R31)."""
        return score_deal(
            (self.laid[0], self.laid[1]),
            (self.hands[0], self.hands[1], self.hands[2], self.hands[3]),
            None if self.went_out == NOBODY else self.went_out,
        )


@dataclass(frozen=True, slots=True)
class Action:
    """One step of a turn.

    `cards` is a mask: one card for a take and a discard, none for a draw and a pass.
    """

    type: int
    """DRAW_STOCK, TAKE_DISCARDS, LAY_MELD, LAY_OFF, DISCARD or PASS."""
    cards: Mask = 0
    meld: int = NO_ROW
    """The row that a lay-off extends, or NO_ROW."""


def deal_cards(deck: Sequence[CardId], dealer: Seat) -> Deal:
    """Deal `deck`, 56 cards with the top one first (R5).

    Seven each, one at a time from the dealer's left; then the upcard; the rest is the stock.
    """
    deal = Deal(dealer=dealer, turn=(dealer + 1) % SEATS)
    for place in range(SEATS * HAND_SIZE):
        deal.hands[(dealer + 1 + place) % SEATS] |= 1 << deck[place]
    deal.pile[0] = deck[SEATS * HAND_SIZE]
    deal.pile_count = 1
    deal.stock = list(deck[SEATS * HAND_SIZE + 1 :])[::-1]
    deal.stock_count = STOCK_SIZE
    return deal


# Checks. None of them asks whose turn it is: `check_action` does, once.


@kernel
def check_draw_stock(deal: Deal) -> Violation:
    """Return why no card may be drawn from the stock (R8, R23), or NONE."""
    if deal.phase != DRAW:
        return Violation.ALREADY_DRAWN
    if deal.stock_count == 0:
        return Violation.STOCK_EMPTY
    return Violation.NONE


@kernel
def find_in_pile(deal: Deal, card: CardId) -> int:
    """Return the place of `card` in the pile, 0 at the bottom, or -1."""
    for place in range(deal.pile_count):
        if deal.pile[place] == card:
            return place
    return -1


@kernel
def pile_from(deal: Deal, place: int) -> Mask:
    """Return the mask of the pile's cards from `place` up (R10)."""
    cards = 0
    for above in range(place, deal.pile_count):
        cards |= 1 << deal.pile[above]
    return cards


@kernel
def check_take(deal: Deal, card: CardId) -> Violation:
    """Return why `card` may not be taken from the pile (R8, R9, R12), or NONE."""
    if deal.phase != DRAW:
        return Violation.ALREADY_DRAWN
    place = find_in_pile(deal, card)
    if place < 0:
        return Violation.NOT_IN_PILE
    cards = deal.hands[deal.turn] | pile_from(deal, place)
    if not can_table(card, cards, deal.table_sets, deal.table_runs):
        return Violation.TAKE_UNPLAYABLE
    return Violation.NONE


@kernel
def check_held(deal: Deal, cards: Mask) -> Violation:
    """Return why `cards` may not leave the hand: draw first, hold them, once (R8, R2); or NONE."""
    if deal.phase != MELD:
        return Violation.NOT_DRAWN
    if cards & NAMED_TWICE:
        return Violation.CARD_TWICE
    if cards & ~deal.hands[deal.turn]:
        return Violation.CARD_NOT_HELD
    return Violation.NONE


@kernel
def is_due_left_out(deal: Deal, cards: Mask) -> bool:
    """Tell whether a card is due (R11) and `cards` do not contain it."""
    return deal.due != NO_CARD and (cards >> deal.due) & 1 == 0


@kernel
def check_lay_meld(deal: Deal, cards: Mask) -> Violation:
    """Return why `cards` may not be melded (R8, R3, R15, R16, R11), or NONE."""
    violation = check_held(deal, cards)
    if violation == Violation.NONE:
        violation = check_meld(cards)
    if violation == Violation.NONE and is_due_left_out(deal, cards):
        violation = Violation.DUE_CARD_MISSING
    return violation


@kernel
def check_lay_off(deal: Deal, cards: Mask, row: int) -> Violation:
    """Return why `cards` may not join the meld in `row` (R8, R18, R17, R11), or NONE."""
    violation = check_held(deal, cards)
    if violation != Violation.NONE:
        return violation
    if row < 0 or row >= deal.meld_count:
        return Violation.NO_SUCH_MELD
    if cards == 0 or not is_meld_of_kind(deal.meld_cards[row] | cards, deal.meld_kinds[row]):
        return Violation.LAY_OFF_UNFIT
    if is_due_left_out(deal, cards):
        return Violation.DUE_CARD_MISSING
    return Violation.NONE


@kernel
def check_discard(deal: Deal, cards: Mask) -> Violation:
    """Return why the one card of `cards` may not be discarded (R8, R11), or NONE."""
    violation = check_held(deal, cards)
    if violation == Violation.NONE and popcount(cards) != 1:
        violation = Violation.CARD_NOT_HELD
    if violation == Violation.NONE and deal.due != NO_CARD:
        violation = Violation.DUE_CARD_MISSING
    return violation


@kernel
def check_pass(deal: Deal) -> Violation:
    """Return why the turn may not be passed (R8, R24), or NONE."""
    if deal.phase != DRAW:
        return Violation.PASS_AFTER_DRAW
    if deal.stock_count > 0:
        return Violation.PASS_WITH_STOCK
    return Violation.NONE


@kernel
def check_action(deal: Deal, seat: Seat, kind: int, cards: Mask, row: int) -> Violation:
    """Return why `seat` may not play the action of type `kind`, or NONE."""
    if deal.phase == OVER:
        return Violation.DEAL_OVER
    if seat != deal.turn:
        return Violation.NOT_YOUR_TURN
    if kind == DRAW_STOCK:
        return check_draw_stock(deal)
    if kind == TAKE_DISCARDS:
        return check_take(deal, lowest_card(cards))
    if kind == LAY_MELD:
        return check_lay_meld(deal, cards)
    if kind == LAY_OFF:
        return check_lay_off(deal, cards, row)
    if kind == DISCARD:
        return check_discard(deal, cards)
    return check_pass(deal)


# Transitions.


@kernel
def end_turn(deal: Deal) -> None:
    """Give the turn to the left neighbour (R6, R20)."""
    deal.turn = (deal.turn + 1) & 3
    deal.phase = DRAW


@kernel
def apply_draw_stock(deal: Deal) -> None:
    """Move the stock's top card to the hand (R9)."""
    deal.stock_count -= 1
    deal.hands[deal.turn] |= 1 << deal.stock[deal.stock_count]
    deal.phase = MELD


@kernel
def apply_take_from(deal: Deal, place: int) -> None:
    """Move the pile's cards from `place` up to the hand, in everybody's sight (R10, R25, R33).

    The lowest of them is due (R11).
    """
    cards = pile_from(deal, place)
    deal.hands[deal.turn] |= cards
    deal.known[deal.turn] |= cards
    deal.due = deal.pile[place]
    deal.pile_count = place
    deal.passes = 0
    deal.phase = MELD


@kernel
def table_cards(deal: Deal, cards: Mask, kind: int, is_doubled: bool) -> None:
    """Move `cards` from the hand to the table's sets or runs and credit the mover (R27, R28).

    An empty hand ends the deal (R21).
    """
    seat = deal.turn
    deal.hands[seat] &= ~cards
    deal.known[seat] &= ~cards
    if kind == SET:
        deal.table_sets |= cards
    else:
        deal.table_runs |= cards
    worth = points(cards)
    deal.laid[seat & 1] += 2 * worth if is_doubled else worth
    if not is_due_left_out(deal, cards):
        deal.due = NO_CARD
    if deal.hands[seat] == 0:
        deal.phase = OVER
        deal.went_out = seat


@kernel
def record_cards(deal: Deal, cards: Mask, row: int) -> None:
    """Add `cards` to the meld in `row`, laid by the seat to move."""
    deal.meld_cards[row] |= cards
    while cards:
        deal.laid_by[lowest_card(cards)] = deal.turn
        cards &= cards - 1


@kernel
def is_doubled_meld(cards: Mask) -> bool:
    """Tell whether `cards`, a meld laid in one action, are a set of four and count double (R28)."""
    return meld_kind(cards) == SET and popcount(cards) == 4


@kernel
def apply_lay_meld(deal: Deal, cards: Mask) -> None:
    """Lay a new meld on the table."""
    row = deal.meld_count
    kind = meld_kind(cards)
    doubled = is_doubled_meld(cards)
    deal.meld_count += 1
    deal.meld_kinds[row] = kind
    deal.meld_doubled[row] = 1 if doubled else 0
    record_cards(deal, cards, row)
    table_cards(deal, cards, kind, doubled)


@kernel
def apply_lay_off(deal: Deal, cards: Mask, row: int) -> None:
    """Add `cards` to the meld in `row` (R17)."""
    record_cards(deal, cards, row)
    table_cards(deal, cards, deal.meld_kinds[row], False)


@kernel
def apply_discard(deal: Deal, card: CardId) -> None:
    """Put `card` on the pile and end the turn (R20, R22)."""
    deal.hands[deal.turn] &= ~(1 << card)
    deal.known[deal.turn] &= ~(1 << card)
    deal.pile[deal.pile_count] = card
    deal.pile_count += 1
    end_turn(deal)


@kernel
def apply_pass(deal: Deal) -> None:
    """Count a pass; the fourth in a row ends the deal (R24, R25)."""
    deal.passes += 1
    if deal.passes == SEATS:
        deal.phase = OVER
    else:
        end_turn(deal)


@kernel
def apply_action(deal: Deal, kind: int, cards: Mask, row: int) -> None:
    """Carry out a legal action of the seat to move."""
    if kind == DRAW_STOCK:
        apply_draw_stock(deal)
    elif kind == TAKE_DISCARDS:
        apply_take_from(deal, find_in_pile(deal, lowest_card(cards)))
    elif kind == LAY_MELD:
        apply_lay_meld(deal, cards)
    elif kind == LAY_OFF:
        apply_lay_off(deal, cards, row)
    elif kind == DISCARD:
        apply_discard(deal, lowest_card(cards))
    else:
        apply_pass(deal)


def is_well_formed(action: Action) -> bool:
    """Tell whether the action is of a known type and names the cards and meld that its type has."""
    if action.cards & ~(ALL_CARDS | NAMED_TWICE):
        return False
    if action.type != LAY_OFF and action.meld != NO_ROW:
        return False
    if action.type in (TAKE_DISCARDS, DISCARD):
        return popcount(action.cards) == 1
    if action.type in (DRAW_STOCK, PASS):
        return action.cards == 0
    return action.type in (LAY_MELD, LAY_OFF)


def play(deal: Deal, seat: Seat, action: Action) -> None:
    """Judge `action` of `seat` and carry it out.

    Raises IllegalAction, with the violation, when the rules refuse, and ValueError for what is no
    action at all (see `is_well_formed`); the deal is then as it was.
    """
    if not is_well_formed(action):
        raise ValueError(f"no action: {action!r}")
    violation = check_action(deal, seat, action.type, action.cards, action.meld)
    if violation != Violation.NONE:
        raise IllegalAction(violation, action, seat)
    apply_action(deal, action.type, action.cards, action.meld)


def find_faults(deal: Deal) -> list[str]:
    """Return what is wrong with a state, in sentences: none when each card is in one place."""
    places = [*deal.hands, mask_of(deal.pile_cards), mask_of(deal.stock_cards)]
    places += deal.meld_cards[: deal.meld_count]
    faults = []
    seen = 0
    for mask in places:
        if seen & mask:
            faults.append("a card is in two places")
        seen |= mask
    if seen != ALL_CARDS:
        faults.append("a card is missing")
    if (
        deal.stock_count
        + deal.pile_count
        + sum(map(popcount, deal.hands))
        + popcount(deal.table_sets | deal.table_runs)
        != CARD_COUNT
    ):
        faults.append("the counts do not add up to 56")
    if any(deal.known[seat] & ~deal.hands[seat] for seat in range(SEATS)):
        faults.append("a known card is not in its hand")
    return faults
