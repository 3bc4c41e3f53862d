"""Text and JSON for actions and games: what is written reads back, the rest is refused."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from service.rules.cards import ALL_CARDS, CARD_NAMES, NAMED_TWICE, hand
from service.rules.deal import (
    DISCARD,
    DRAW_STOCK,
    LAY_MELD,
    LAY_OFF,
    NO_ROW,
    OVER,
    PASS,
    TAKE_DISCARDS,
    Action,
    Deal,
    apply_action,
    deal_cards,
)
from service.rules.legal import legal_actions
from service.rules.notation import (
    BadNotation,
    DealRecord,
    GameRecord,
    action_from_json,
    action_to_json,
    read_action,
    read_cards,
    read_game,
    replay,
    write_action,
    write_cards,
    write_game,
)
from service.rules.shuffle import shuffled_deck
from service.rules.violations import IllegalAction, RulesError, Violation
from tests.strategies import LIKINGS, MOST_STEPS, cards, choose, deals_in_play, masks

Given = TypeVar("Given")
Read = TypeVar("Read")

WORDS = {
    "S": Action(DRAW_STOCK),
    "T7H": Action(TAKE_DISCARDS, hand("7H")),
    "M4D4H4S": Action(LAY_MELD, hand("4S 4D 4H")),
    "MX1X2X3X4": Action(LAY_MELD, hand("X1 X2 X3 X4")),
    "L7S@m3": Action(LAY_OFF, hand("7S"), 2),
    "L3S7S@m18": Action(LAY_OFF, hand("3S 7S"), 17),
    "DKD": Action(DISCARD, hand("KD")),
    "P": Action(PASS),
}

single = cards().map(lambda card: 1 << card)
actions = st.one_of(
    st.sampled_from([Action(DRAW_STOCK), Action(PASS)]),
    st.builds(Action, st.sampled_from([TAKE_DISCARDS, DISCARD]), single),
    st.builds(Action, st.just(LAY_MELD), masks()),
    st.builds(Action, st.just(LAY_OFF), masks(), st.integers(0, 17)),
)


def attempt(read: Callable[[Given], Read], given: Given) -> Read | BadNotation:
    """Return what is read, or the refusal; any other error fails the test."""
    try:
        return read(given)
    except BadNotation as refused:
        return refused


# Actions in text.


@pytest.mark.parametrize(("word", "action"), WORDS.items())
def test_an_action_is_one_word(word: str, action: Action) -> None:
    """One letter for the type, then the cards, then the meld."""
    assert write_action(action) == word
    assert read_action(word) == action


@given(actions)
def test_an_action_reads_back_from_its_word_and_its_json(action: Action) -> None:
    """Both forms name the whole action, legal or not."""
    assert read_action(write_action(action)) == action
    assert action_from_json(json.loads(json.dumps(action_to_json(action)))) == action


@given(deals_in_play())
def test_every_legal_action_reads_back(deal: Deal) -> None:
    """Always true: what a list names can be sent back as it is."""
    for action in legal_actions(deal):
        assert read_action(write_action(action)) == action
        assert action_from_json(action_to_json(action)) == action


def test_cards_may_stand_in_any_order() -> None:
    """A meld is a set of cards."""
    assert read_action("M4S4D4H") == read_action("M4H4S4D")


@given(masks())
def test_cards_side_by_side_read_back(mask: int) -> None:
    """Two letters a card, so that no space is needed."""
    assert sum(1 << card for card in read_cards(write_cards(mask))) == mask


@pytest.mark.parametrize(
    "word",
    [
        *("", " ", "s", "X", "SS", "S2C", "PS", "P7H", "T", "D", "T7H8H", "DKDKC", "T7", "T7HX"),
        *("T7h", "M4S4D4", "M4S 4D", "M4S4S4D", "MX1X1X1", "L7S", "L7S@", "L7S@3", "L7S@m"),
        *("L7S@m0", "L7S@m03", "L7S@m100", "L7S@m3@m4", "L7S@m٣", "L7S@m3 ", "L7S@M3", "M7S@m3"),
        *("S@m1", "DKD@m1", "T７H", "ＳS", "D🂡", "D\ud800\ud800", "\0", "S\n", "L7S7S@m1"),
    ],
)
def test_a_malformed_word_is_refused(word: str) -> None:
    """BadNotation, which is a RulesError, and nothing else."""
    with pytest.raises(BadNotation) as refused:
        read_action(word)

    assert isinstance(refused.value, RulesError)
    assert refused.value.line is None


@given(st.text(st.characters(), max_size=30))
@example("L" + "7S" * 100_000 + "@m1")
@example("M" + "".join(CARD_NAMES) * 1000)
@example("L7S@m" + "9" * 100_000)
@example("T" + "\U0010ffff" * 100_000)
def test_any_text_is_an_action_or_bad_notation(word: str) -> None:
    """No other error, however long or odd; the message stays short."""
    outcome = attempt(read_action, word)

    if isinstance(outcome, BadNotation):
        assert len(str(outcome)) < 300
    else:
        assert read_action(write_action(outcome)) == outcome


letters = st.sampled_from([*"STMLDP@m0123", *CARD_NAMES, "@m1"])


@given(st.lists(letters, max_size=8).map("".join))
def test_any_text_in_the_letters_of_notation_is_an_action_or_bad_notation(word: str) -> None:
    """Near misses, which random text never is."""
    outcome = attempt(read_action, word)

    assert isinstance(outcome, BadNotation) or sorted(write_action(outcome)) == sorted(word)


# Actions in JSON.


@pytest.mark.parametrize(
    ("given", "action"),
    [
        ({"type": "draw_stock"}, WORDS["S"]),
        ({"type": "take_discards", "card": "7H"}, WORDS["T7H"]),
        ({"type": "meld", "cards": ["4S", "4D", "4H"]}, WORDS["M4D4H4S"]),
        ({"type": "lay_off", "cards": ["7S"], "meld": "m3"}, WORDS["L7S@m3"]),
        ({"type": "discard", "card": "KD"}, WORDS["DKD"]),
        ({"type": "pass"}, WORDS["P"]),
    ],
)
def test_the_json_form_is_that_of_the_api(given: dict[str, object], action: Action) -> None:
    """The API's ACTION, each type with its own fields."""
    assert action_from_json(given) == action
    written = action_to_json(action)
    assert set(written) == set(given)
    assert {**written, "cards": set(written.get("cards", ()))} == {
        **given,
        "cards": set(given.get("cards", ())),  # type: ignore[call-overload]
    }


def test_a_card_named_twice_is_kept_for_the_rules_to_refuse() -> None:
    """R2: the shape is right, so it is no bad notation; it never looks like a legal meld."""
    action = action_from_json({"type": "meld", "cards": ["7S", "7D", "7H", "7S"]})

    assert action == Action(LAY_MELD, hand("7S 7D 7H") | NAMED_TWICE)
    assert action_to_json(action) == {"type": "meld", "cards": ["7D", "7H", "7S"]}


@pytest.mark.parametrize("name", ["m0", "m100", "x", "", "m-1", "m１"])
def test_a_name_that_no_meld_has_is_kept_for_the_rules_to_refuse(name: str) -> None:
    """R18: which needs the cards to be held first."""
    action = action_from_json({"type": "lay_off", "cards": ["7S"], "meld": name})

    assert action == Action(LAY_OFF, hand("7S"), NO_ROW)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(CARD_NAMES),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
types = st.sampled_from(["draw_stock", "take_discards", "meld", "lay_off", "discard", "pass"])


@given(json_values)
@example(None)
@example([])
@example({})
@example("draw_stock")
@example({"type": None})
@example({"type": ["pass"]})
def test_any_json_is_an_action_or_bad_notation(data: object) -> None:
    """An empty body plays nobody's move; nothing but BadNotation comes out."""
    with pytest.raises(BadNotation):
        action_from_json(data)  # type: ignore[arg-type]


@given(
    st.fixed_dictionaries(
        {"type": types}, optional={"card": json_values, "cards": json_values, "meld": json_values}
    )
)
@example({"type": "take_discards"})
@example({"type": "discard", "card": ["KD"]})
@example({"type": "discard", "card": {"KD": 1}})
@example({"type": "meld"})
@example({"type": "meld", "cards": None})
@example({"type": "meld", "cards": 7})
@example({"type": "meld", "cards": "4S4D4H"})
@example({"type": "lay_off", "cards": ["7S"]})
@example({"type": "lay_off", "cards": ["7S"], "meld": 3})
@example({"type": "lay_off", "cards": ["7S"], "meld": ["m", "3"]})
def test_any_fields_make_an_action_or_bad_notation(data: dict[str, object]) -> None:
    """Whatever a client puts into the fields of a known type."""
    outcome = attempt(action_from_json, data)

    if not isinstance(outcome, BadNotation):
        assert not outcome.cards & ~(ALL_CARDS | NAMED_TWICE)


def test_json_nested_beyond_all_measure_is_bad_notation() -> None:
    """A message that tried to show all of it would itself fail."""
    nested: object = "KD"
    for _ in range(100_000):
        nested = [nested]

    for data in (nested, {"type": nested}, {"type": "discard", "card": nested}):
        with pytest.raises(BadNotation) as refused:
            action_from_json(data)  # type: ignore[arg-type]
        assert len(str(refused.value)) < 500


# Games.


player_names = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"], exclude_characters="|"),
    max_size=12,
).map(str.strip)


@st.composite
def games(draw: st.DrawFn) -> GameRecord:
    """Games by legal actions, broken off anywhere."""
    rng = random.Random(draw(st.integers(0, 2**32 - 1)))
    record = GameRecord(draw(st.integers(0, 3)), [draw(player_names) for _ in range(4)])
    for number in range(draw(st.integers(0, 2))):
        written = DealRecord(rng.sample(range(56), 56))
        record.deals.append(written)
        deal = deal_cards(written.deck, (record.dealer + number) % 4)
        liking = draw(st.sampled_from(LIKINGS))
        for _ in range(draw(st.integers(0, MOST_STEPS))):
            if deal.phase == OVER:
                break
            action = choose(rng, deal, liking)
            written.actions.append((deal.turn, action))
            apply_action(deal, action.type, action.cards, action.meld)
    return record


DECK = "".join(CARD_NAMES[card] for card in shuffled_deck("rummy", "deal-1"))
GAME = f"""persian-rummy 1
# A comment, and an empty line:

dealer 2
players Ana #1|Bo|Cy|Di
deal 1 {DECK}
3 S DKC
0 S DKH
"""


@given(games())
def test_a_game_reads_back(record: GameRecord) -> None:
    """Players, packs, every action with its seat; and it plays through the rules."""
    text = write_game(record)

    assert read_game(text) == record
    assert len(replay(read_game(text))) == len(record.deals)


@given(games(), st.sampled_from(["\n", "\r\n", "\n\n", "\n  # so far\n", " \n\t"]))
def test_line_ends_indents_and_comments_do_not_matter(record: GameRecord, end: str) -> None:
    """A person may edit a game and send it by mail."""
    assert read_game(write_game(record).replace("\n", end)) == record


def test_a_game_is_written_line_by_line() -> None:
    """The form that the docstring shows, one line a turn."""
    record = read_game(GAME)

    assert record.dealer == 2
    assert record.players == ["Ana #1", "Bo", "Cy", "Di"]
    assert write_action(record.deals[0].actions[3][1]) == "DKH"
    assert [seat for seat, _ in record.deals[0].actions] == [3, 3, 0, 0]
    assert write_game(record) == GAME.replace("# A comment, and an empty line:\n\n", "")


@pytest.mark.parametrize("name", ["a|b", "a\nb", "a\r", " a", "a ", "a\u2028b", "a\x85b", "a\x1cb"])
def test_a_name_that_would_not_read_back_is_not_written(name: str) -> None:
    """Whatever Python takes for a line break, too."""
    with pytest.raises(BadNotation):
        write_game(GameRecord(0, [name, "Bo", "Cy", "Di"]))


@pytest.mark.parametrize("record", [GameRecord(4, ["A"] * 4), GameRecord(0, ["A"] * 3)])
def test_a_game_without_dealer_or_players_is_not_written(record: GameRecord) -> None:
    """R1: four players, one of them dealing."""
    with pytest.raises(BadNotation):
        write_game(record)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("persian-rummy 1", "persian-rummy 2", 1),
        ("persian-rummy 1", "", 4),
        ("dealer 2", "dealer 4", 4),
        ("dealer 2", "dealer", 4),
        ("dealer 2", "dealer ２", 4),
        ("dealer 2\n", "", 7),
        ("players Ana #1|Bo|Cy|Di", "players Ana|Bo|Cy", 5),
        ("players Ana #1|Bo|Cy|Di\n", "", 7),
        ("Di\n", "Di\n3 S\n", 6),
        ("deal 1", "deal 2", 6),
        ("deal 1", "deal 01", 6),
        ("deal 1", "deal", 6),
        (DECK, DECK[2:], 6),
        (DECK, DECK[2:] + DECK[-2:], 6),
        (DECK, DECK[:-1], 6),
        (DECK, DECK.lower(), 6),
        ("3 S DKC", "4 S DKC", 7),
        ("3 S DKC", "S DKC", 7),
        ("3 S DKC", "3 S DKX", 7),
        ("0 S DKH", "0 S DKH # done", 8),
        ("0 S DKH", "0 S L7S@m0", 8),
        ("0 S DKH", "whatever", 8),
        ("0 S DKH", "0\u00a0S\u2028DKH", 8),
    ],
)
def test_a_malformed_game_is_refused_with_the_line(old: str, new: str, line: int) -> None:
    """BadNotation carries the number of the line, from 1, comments counted."""
    assert GAME.count(old) == 1

    with pytest.raises(BadNotation) as refused:
        read_game(GAME.replace(old, new))

    assert refused.value.line == line
    assert str(refused.value).startswith(f"line {line}: ")


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing", "\0", "\ud800", "🂡" * 1000])
def test_what_is_no_game_is_refused(text: str) -> None:
    """It begins with the header or it is none."""
    with pytest.raises(BadNotation):
        read_game(text)


pieces = st.sampled_from(
    [*GAME.split(), *GAME.splitlines(), "\n", "\n", " ", "|", "#", DECK, "deal 2 " + DECK, "P", "9"]
)


@given(st.one_of(st.text(), st.lists(pieces, max_size=20).map("".join)))
def test_any_text_is_a_game_or_bad_notation(text: str) -> None:
    """No other error, with a good beginning or without."""
    for whole in (text, GAME + text, "persian-rummy 1\n" + text):
        outcome = attempt(read_game, whole)

        if isinstance(outcome, BadNotation):
            assert outcome.line is not None
        else:
            assert read_game(write_game(outcome)) == outcome


def test_a_replay_stops_at_the_first_action_that_the_rules_refuse() -> None:
    """R8: a record is judged like a game that is played."""
    record = read_game(GAME.replace("3 S DKC", "3 DKC"))

    with pytest.raises(IllegalAction) as refused:
        replay(record)

    assert refused.value.violation == Violation.NOT_DRAWN


def test_a_replay_ends_where_the_game_ended() -> None:
    """R7: each deal from its own pack, the second dealt by the left neighbour."""
    record = GameRecord(3, ["Ana", "Bo", "Cy", "Di"])
    played = []
    for number in range(2):
        deck = shuffled_deck("rummy", f"deal-{number + 1}")
        deal = deal_cards(deck, (3 + number) % 4)
        record.deals.append(DealRecord(deck))
        rng = random.Random(number)
        while deal.phase != OVER:
            action = choose(rng, deal, {})
            record.deals[-1].actions.append((deal.turn, action))
            apply_action(deal, action.type, action.cards, action.meld)
        played.append(deal)

    assert replay(read_game(write_game(record))) == played
