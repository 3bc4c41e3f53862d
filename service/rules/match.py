"""The frame around the deals: partner draw, dealers, totals, winner (R1, R4, R7, R31, R32)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from service.rules.cards import CardId, Seat, rank_of
from service.rules.deal import OVER, SEATS, Action, Deal, deal_cards, play
from service.rules.score import DealScore
from service.rules.shuffle import shuffled_deck

DEALS = 2
"""R7."""
DrawRound = dict[int, CardId]
"""One round of the partner draw: the card drawn, by player."""


def draw_rank(card: CardId) -> int:
    """Return how low `card` is in the partner draw: aces 0, two 1 up to king 12, jokers 13 (R4)."""
    rank = rank_of(card)
    return rank if rank == 13 else (rank + 1) % 13


def draw_lowest(
    players: Sequence[int], places: int, next_card: Callable[[], CardId], rounds: list[DrawRound]
) -> list[int]:
    """Return the `places` lowest of `players`, the lowest first.

    Each round of drawing is appended to `rounds`. Players tied where it matters draw again among
    themselves (R4).
    """
    drawn = {player: next_card() for player in players}
    rounds.append(drawn)
    lowest: list[int] = []
    for rank in sorted({draw_rank(card) for card in drawn.values()}):
        tied = [player for player in players if draw_rank(drawn[player]) == rank]
        wanted = min(places - len(lowest), len(tied))
        if wanted and len(tied) > 1:
            tied = draw_lowest(tied, wanted, next_card, rounds)
        lowest += tied[:wanted]
    return lowest


def _pack_after_pack(seed: str, client_seed: str) -> Iterator[CardId]:
    """Yield cards for the partner draw, from as many packs as it takes."""
    number = 1
    while True:
        yield from shuffled_deck(seed, f"draw-{number}", client_seed)
        number += 1


@dataclass(frozen=True, slots=True)
class Seating:
    """Who sits where and who deals first."""

    players: tuple[int, int, int, int]
    """By seat, the place of that player in the list that was seated."""
    dealer: Seat
    """The seat that deals first."""
    rounds: tuple[DrawRound, ...]
    """The cards drawn, round by round, by the place in the list."""


def seat_by_draw(seed: str, client_seed: str = "") -> Seating:
    """Seat four players by R4, the two lowest opposite each other.

    The lowest sits at 0 and deals, the second lowest at 2, the others at 1 and 3 in their order.
    """
    rounds: list[DrawRound] = []
    next_card = _pack_after_pack(seed, client_seed).__next__
    lowest, second = draw_lowest(range(SEATS), 2, next_card, rounds)
    left, right = (player for player in range(SEATS) if player not in (lowest, second))
    return Seating((lowest, left, second, right), 0, tuple(rounds))


def seat_as_given(seed: str, client_seed: str = "") -> Seating:
    """Leave four players where they are and draw for the dealer only: the lowest deals (R4)."""
    rounds: list[DrawRound] = []
    next_card = _pack_after_pack(seed, client_seed).__next__
    (dealer,) = draw_lowest(range(SEATS), 1, next_card, rounds)
    return Seating((0, 1, 2, 3), dealer, tuple(rounds))


@dataclass(slots=True)
class Match:
    """A game: its seed, the deal in hand and the scores of the deals before."""

    seed: str
    client_seed: str
    first_dealer: Seat
    deals: int
    """How many deals the game has; 2 by R7."""
    number: int
    """The deal in hand, from 1."""
    deal: Deal
    scores: list[DealScore] = field(default_factory=list)
    """One a finished deal."""
    decks: tuple[tuple[CardId, ...], ...] = ()
    """Packs of the first deals, where they were chosen and not shuffled: for tests."""

    @property
    def is_over(self) -> bool:
        """Tell whether the last deal has been scored."""
        return len(self.scores) == self.deals

    @property
    def totals(self) -> tuple[int, int]:
        """Points by team over the finished deals (R31)."""
        return sum(s.total[0] for s in self.scores), sum(s.total[1] for s in self.scores)

    @property
    def winner(self) -> int | None:
        """The team with the higher total, or None for a draw or a game that goes on (R32)."""
        ours, theirs = self.totals
        return None if not self.is_over or ours == theirs else int(theirs > ours)

    def deck(self, number: int) -> list[CardId]:
        """Return the pack of a deal, from 1, as it lies before the deal, the top card first."""
        if number <= len(self.decks):
            return list(self.decks[number - 1])
        return shuffled_deck(self.seed, f"deal-{number}", self.client_seed)


def dealer_of(first_dealer: Seat, number: int) -> Seat:
    """Return who deals a deal, from 1: the left neighbour of the dealer before (R7)."""
    return (first_dealer + number - 1) % SEATS


def _deal_next(match: Match) -> None:
    """Shuffle and deal the next deal (R5)."""
    match.number += 1
    match.deal = deal_cards(match.deck(match.number), dealer_of(match.first_dealer, match.number))


def start_match(
    seed: str,
    first_dealer: Seat,
    client_seed: str = "",
    deals: int = DEALS,
    decks: Sequence[Sequence[CardId]] = (),
) -> Match:
    """Deal the first deal of a game; `decks` are packs chosen for its first deals."""
    chosen = tuple(map(tuple, decks))
    match = Match(seed, client_seed, first_dealer, deals, 0, Deal(), decks=chosen)
    _deal_next(match)
    return match


def restarted(match: Match) -> Match:
    """Return the match as it was before its first action."""
    return start_match(match.seed, match.first_dealer, match.client_seed, match.deals, match.decks)


def play_in_match(match: Match, seat: Seat, action: Action) -> DealScore | None:
    """Play `action`; return the deal's score if that ended it, else None.

    The next deal, if there is one, is dealt at once.

    Raises IllegalAction when the rules refuse; nothing has changed then.
    """
    play(match.deal, seat, action)
    if match.deal.phase != OVER:
        return None
    score = match.deal.score
    match.scores.append(score)
    if not match.is_over:
        _deal_next(match)
    return score
