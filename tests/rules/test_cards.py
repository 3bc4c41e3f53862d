"""The 56 cards: numbers, masks and names (R2, R3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules._jit import lowest_card, popcount
from service.rules.cards import (
    ALL_CARDS,
    CARD_COUNT,
    CARD_NAMES,
    JOKERS,
    NAMED_TWICE,
    RANKS,
    SUITS,
    UnknownCard,
    cards_in,
    hand,
    higher,
    lower,
    mask_of,
    mask_of_distinct,
    names_of,
    parse_card,
    rank_of,
)
from tests import oracle
from tests.rules.engines import Engine
from tests.strategies import cards, masks


def test_the_pack_is_the_52_cards_and_four_distinct_jokers() -> None:
    """R2, R3: 56 names, each once, the same ones that the referee deals with."""
    assert len(set(CARD_NAMES)) == CARD_COUNT == 56
    assert list(CARD_NAMES) == oracle.CARDS
    assert names_of(JOKERS) == ["X1", "X2", "X3", "X4"]


def test_the_ranks_go_from_two_to_ace_with_the_joker_apart(engine: Engine) -> None:
    """R2: 2 3 4 5 6 7 8 9 10 J Q K A, and the joker as a rank of its own."""
    spades = [engine(rank_of, parse_card(rank + "S")) for rank in RANKS]
    jokers = {engine(rank_of, card) for card in cards_in(JOKERS)}

    assert spades == list(range(13))
    assert jokers == {13}


def test_the_suits_agree_on_their_ranks(engine: Engine) -> None:
    """R2: a rank is the same in all four suits."""
    for rank in RANKS:
        assert len({engine(rank_of, parse_card(rank + suit)) for suit in SUITS}) == 1


@given(cards())
def test_a_card_is_read_back_from_its_name(card: int) -> None:
    """R2: names and numbers stand for each other."""
    assert parse_card(CARD_NAMES[card]) == card


@pytest.mark.parametrize(
    "text", ["", "7", "7h", "H7", "1S", "10S", "X0", "X5", "7H ", " 7H", "7H7H", "７H", "AS\0", "🂡"]
)
def test_what_is_no_card_is_refused_by_name(text: str) -> None:
    """R2: nothing is guessed, lower case included; the error carries the text."""
    with pytest.raises(UnknownCard) as refused:
        parse_card(text)

    assert refused.value.text == text


@pytest.mark.parametrize("thing", [None, 7, 7.5, True, [], {}, ["7H"], b"7H"])
def test_what_is_no_text_is_no_card(thing: object) -> None:
    """R2: whatever JSON can hold in place of a card is refused the same way."""
    with pytest.raises(UnknownCard):
        parse_card(thing)  # type: ignore[arg-type]


@given(st.text())
def test_any_text_is_a_card_or_is_refused(text: str) -> None:
    """R2: no other error, whatever the text."""
    try:
        card = parse_card(text)
    except UnknownCard:
        assert text not in CARD_NAMES
    else:
        assert CARD_NAMES[card] == text


def test_a_refusal_stays_short_for_a_huge_text() -> None:
    """R2: a megabyte that a client sent does not come back in the message."""
    with pytest.raises(UnknownCard) as refused:
        parse_card("7H" * 500_000)

    assert len(str(refused.value)) < 200


def test_a_hand_is_read_in_any_order() -> None:
    """R2: a hand is a set of cards."""
    assert hand("AS 2S X3") == hand("X3 AS 2S")
    assert names_of(hand("X3 AS 2S 2C")) == ["2C", "2S", "AS", "X3"]


@given(masks())
def test_a_mask_holds_the_cards_that_it_was_made_of(mask: int) -> None:
    """R2: masks and lists of cards stand for each other."""
    listed = list(cards_in(mask))

    assert listed == sorted(listed)
    assert mask_of(listed) == mask_of_distinct(listed) == mask
    assert popcount(mask) == len(listed)
    if listed:
        assert lowest_card(mask) == listed[0]


@pytest.mark.parametrize("names", ["7S 7S", "7S 7S 7S", "X1 2C X1", "2C X1 X2 X1 X2"])
def test_a_card_named_twice_is_marked(names: str) -> None:
    """R2: the mark is no card, so that no hand ever holds it."""
    listed = [parse_card(name) for name in names.split()]

    mask = mask_of_distinct(listed)

    assert mask == mask_of(listed) | NAMED_TWICE
    assert not NAMED_TWICE & ALL_CARDS


def count_and_find(mask: int) -> tuple[int, int]:
    """Call both bit counts, as a kernel does."""
    return popcount(mask), lowest_card(mask)


def test_bits_are_counted_the_same_way_compiled(engine: Engine) -> None:
    """R2: 56 bits and the mark fit a signed 64-bit int, in both engines."""
    for mask in (1, JOKERS, ALL_CARDS, ALL_CARDS | NAMED_TWICE, 1 << 55):
        digits = bin(mask)[:1:-1]

        assert engine(count_and_find, mask) == (digits.count("1"), digits.index("1"))


def test_nothing_is_above_an_ace_nor_below_a_two(engine: Engine) -> None:
    """R16: neighbours stay within their suit; jokers have none."""
    assert engine(higher, hand("QS KS AS AC AD X1")) == hand("KS AS")
    assert engine(lower, hand("2S 2D 3H X4")) == hand("2H")
    assert engine(higher, ALL_CARDS) == ALL_CARDS & ~JOKERS & ~hand("2C 2D 2H 2S")
    assert engine(lower, ALL_CARDS) == ALL_CARDS & ~JOKERS & ~hand("AC AD AH AS")
