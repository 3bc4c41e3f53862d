"""From a seed to a pack: the written algorithm, its golden values, its evenness, the commitment."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules import shuffle
from service.rules.cards import CARD_NAMES
from service.rules.shuffle import ALGORITHM, below, commitment, shuffled_deck, words
from tests.strategies import seeds

GOLDEN = [
    ("rummy", "deal-1", "", "e42611bf3a708eb3d16000eeef4c52ef6aa084f7b5a9d2bb9a2dc36960543ad7"),
    ("rummy", "deal-2", "", "34b95b607fe2a67761dc1d805e1ce083e1e6a3b4cebf94ce4c81a90e67bdc990"),
    ("rummy", "draw-1", "", "1c84d79121d18f6dfade2b123f3094a90a3d4038dc07a9955ccfac8a48ede471"),
    ("rummy", "deal-1", "Ana", "17ac3dadf184a971a0c3a5e2d82c8224bb308c2fe365937a97c79f3b24ab8cb8"),
    ("", "deal-1", "", "341c7c6a842f350a78ee053f08e01275d2cd021fa91fabbf9aa05be0cd764972"),
    ("سیب🍏", "deal-1", "ä", "6d484d193be97af3d831fe0f9313173600396fe824377ce20f3b9bb0ea9f4906"),
]
"""Seed, label, client seed, and the SHA-256 of the 56 names side by side, the top card first.

Games are replayed from their seeds: these never change while the algorithm keeps its name."""


def written_algorithm(seed: str, label: str, client_seed: str) -> list[str]:
    """Shuffle as the docstring of `service.rules.shuffle` tells another language to."""
    text_of_block = "{label}:{i}:{hex}:{seed}"
    client_hex = "".join(f"{byte:02x}" for byte in client_seed.encode("utf-8"))
    stream = b""
    for i in range(40):
        text = text_of_block.format(label=label, i=i, hex=client_hex, seed=seed)
        stream += hashlib.sha256(text.encode("utf-8")).digest()
    pack = [rank + suit for suit in "CDHS" for rank in "23456789TJQKA"] + ["X1", "X2", "X3", "X4"]
    at = 0
    for i in range(55, 0, -1):
        n = i + 1
        while True:
            w = stream[at] << 24 | stream[at + 1] << 16 | stream[at + 2] << 8 | stream[at + 3]
            at += 4
            if w < 2**32 - 2**32 % n:
                break
        j = w % n
        pack[i], pack[j] = pack[j], pack[i]
    return pack


@given(seeds(), st.sampled_from(["deal-1", "deal-2", "draw-1", "draw-17"]), seeds())
def test_the_docstring_is_enough_to_repeat_a_shuffle(seed: str, label: str, client: str) -> None:
    """R5: an implementation from the text alone deals the same cards."""
    deck = [CARD_NAMES[card] for card in shuffled_deck(seed, label, client)]

    assert deck == written_algorithm(seed, label, client)


@pytest.mark.parametrize(("seed", "label", "client_seed", "digest"), GOLDEN)
def test_a_seed_gives_the_same_pack_for_ever(
    seed: str, label: str, client_seed: str, digest: str
) -> None:
    """R5: golden values; a finished game can be checked by its seed at any time."""
    names = "".join(CARD_NAMES[card] for card in shuffled_deck(seed, label, client_seed))

    assert hashlib.sha256(names.encode()).hexdigest() == digest
    assert ALGORITHM == "sha256-counter-fisher-yates-1"


def test_the_first_golden_pack_in_full() -> None:
    """R5: one to compare by eye, in another language."""
    names = " ".join(CARD_NAMES[card] for card in shuffled_deck("rummy", "deal-1"))

    assert names == (
        "5D 2C 4S 8S JD 6C AD X1 4C 6S KC 5S 4D 7D 9S 2H 7H JH KS QC 3C 7S QS KH 5H 6D 3D AS "
        "X3 9H TD X4 TC AH 3S 7C 9D 8D QD 3H TS 2D JS 8C 2S AC 9C 4H QH 8H JC TH 5C KD X2 6H"
    )


@given(seeds(), seeds())
def test_a_shuffle_is_the_whole_pack(seed: str, client_seed: str) -> None:
    """R2, R5: all 56 cards, each once."""
    assert sorted(shuffled_deck(seed, "deal-1", client_seed)) == list(range(56))


def test_every_part_of_the_input_counts() -> None:
    """R5: seed, label and client seed each change the pack; none stands in for another."""
    decks = [
        tuple(shuffled_deck(seed, label, client))
        for seed in ("", "a", "a:", ":a", "0:a", "61")
        for label in ("deal-1", "deal-2", "draw-1")
        for client in ("", "a", "61", ":")
    ]

    assert len(set(decks)) == len(decks)


def test_every_card_comes_to_every_place_equally_often() -> None:
    """R5: chi-square over 6,000 fixed seeds; 3,025 degrees of freedom, four deviations allowed."""
    trials = 6000
    counts: Counter[tuple[int, int]] = Counter()
    for number in range(trials):
        counts.update(enumerate(shuffled_deck(f"uniform-{number}", "deal-1")))
    expected = trials / 56

    chi_square = sum(
        (counts[place, card] - expected) ** 2 / expected
        for place in range(56)
        for card in range(56)
    )

    freedom = 55 * 55
    assert abs(chi_square - freedom) < 4 * (2 * freedom) ** 0.5


def test_neighbours_in_the_pack_are_as_even() -> None:
    """R5: which card follows which, over 3,000 fixed seeds."""
    trials = 3000
    counts: Counter[tuple[int, int]] = Counter()
    for number in range(trials):
        deck = shuffled_deck(f"neighbours-{number}", "deal-2", "client")
        counts.update(pairwise(deck))
    expected = trials * 55 / (56 * 55)

    chi_square = sum(
        (counts[first, second] - expected) ** 2 / expected
        for first in range(56)
        for second in range(56)
        if first != second
    )

    freedom = 56 * 55 - 1
    assert abs(chi_square - freedom) < 4 * (2 * freedom) ** 0.5


def test_a_number_that_would_tip_the_scales_is_thrown_away() -> None:
    """Step 2: w at or above the largest multiple of n below 2**32 is drawn again."""
    limit = 2**32 - 2**32 % 56

    assert below(iter([limit, 2**32 - 1, limit - 1]), 56) == 55
    assert below(iter([limit, 57]), 56) == 1
    assert below(iter([2**32 - 1]), 2) == 1


@given(seeds(), st.integers(1, 56), st.integers(1, 20))
def test_a_number_stays_below_its_bound(seed: str, bound: int, count: int) -> None:
    """Step 2: from 0 to n - 1."""
    stream = words(seed, "deal-1")

    assert all(0 <= below(stream, bound) < bound for _ in range(count))


def test_the_stream_goes_on_after_each_block() -> None:
    """Step 1: eight words a block, no gap and no repeat."""
    numbers = list(islice(words("a", "deal-1"), 24))

    second = hashlib.sha256(b"deal-1:1::a").digest()
    assert numbers[8] == int.from_bytes(second[:4], "big")
    assert len(set(numbers)) == 24


@given(seeds())
def test_the_commitment_is_the_hash_of_the_seed(seed: str) -> None:
    """The commitment is what `sha256sum` prints of the seed."""
    assert commitment(seed) == hashlib.sha256(seed.encode()).hexdigest()
    assert re.fullmatch("[0-9a-f]{64}", commitment(seed))


@given(seeds(), seeds())
def test_no_block_is_the_commitment(seed: str, client_seed: str) -> None:
    """The published commitment gives away no block of the stream."""
    stream = words(seed, "deal-1", client_seed)
    published = bytes.fromhex(commitment(seed))

    for _ in range(8):
        block = b"".join(word.to_bytes(4, "big") for word in islice(stream, 8))
        assert block != published


def test_the_docstring_names_what_the_constants_say() -> None:
    """The text that other languages follow stays with the code."""
    assert shuffle.__doc__ is not None
    for words_of_text in ("SHA-256", "big-endian", "2**32 mod n", "Fisher and Yates"):
        assert words_of_text in " ".join(shuffle.__doc__.split())
