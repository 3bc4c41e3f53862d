"""The stand-alone verifier: it takes the records of real games and of nothing else."""

from __future__ import annotations

import ast
import copy
import io
import json
import random
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from service.games.records import read_record
from tests.games.tables import APP, open_table

VERIFIER = Path(__file__).parents[2] / "openapi" / "examples" / "verify_record.py"
Json = dict[str, Any]
MOST_STEPS = 2000
SEEDS = [f"verified-{number}" for number in range(12)]


@cache
def played_out(seed: str) -> str:
    """Play a game at random to its end, tabling rather than not; return its record as JSON."""
    rng = random.Random(seed)
    table = open_table(
        seed=seed,
        client_seed=rng.choice(["", "mixed in: é"]),
        seating=rng.choice(["fixed", "draw"]),
        deals=rng.choice([1, 2, 3]),
    )
    for _ in range(MOST_STEPS):
        if table.game.status == "finished":
            break
        actions = table.legal_actions()
        rich = [a for a in actions if a["type"] in ("meld", "lay_off", "take_discards")]
        table.play(rng.choice(rich if rich and rng.random() < 0.7 else actions))
    return json.dumps(read_record(table.house, APP, table.game_id))


def fault_of(record: str) -> str | None:
    """Run the verifier on a record; return what it raises, None for nothing."""
    code = compile(VERIFIER.read_text("utf-8"), str(VERIFIER), "exec")
    try:
        exec(code, {"open": lambda _file: io.StringIO(record)})
    except (AssertionError, LookupError, TypeError, ValueError) as error:
        return repr(error)
    return None


def test_it_is_short_and_needs_nothing_but_python() -> None:
    """Under 60 lines, of the standard library alone: it is read before it is trusted."""
    text = VERIFIER.read_text("utf-8")
    imported = {
        alias.name if isinstance(node, ast.Import) else str(node.module)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }

    assert len(text.splitlines()) < 60
    assert imported <= sys.stdlib_module_names


@pytest.mark.parametrize("seed", SEEDS)
def test_the_record_of_a_real_game_is_right(seed: str) -> None:
    """Fixed seats and drawn ones, one deal and several, with and without a client's seed."""
    assert fault_of(played_out(seed)) is None


def test_it_runs_as_a_command() -> None:
    """No word and 0 for a right record; an error for another one."""
    right = json.loads(played_out(SEEDS[0]))
    wrong = {**right, "winner": None if right["winner"] is not None else 0}

    for record, is_right in ((right, True), (wrong, False)):
        # Printed with line breaks as well as on one line.
        done = subprocess.run(
            [sys.executable, "-I", str(VERIFIER)],
            input=json.dumps(record, indent=1),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode == 0) is is_right
        assert (done.stderr == "") is is_right


def entries_of(record: Json) -> list[Json]:
    """Return the actions of all deals."""
    return [entry for deal in record["deals"] for entry in deal["actions"]]


def of_type(record: Json, rng: random.Random, *kinds: str) -> Json:
    """Return a random entry whose action is of one of the types."""
    return rng.choice([e for e in entries_of(record) if e["action"]["type"] in kinds])


def another(rng: random.Random, card: str) -> str:
    """Return another card than `card`."""
    return rng.choice([f"{r}{s}" for r in "23456789TJQKA" for s in "CDHS" if f"{r}{s}" != card])


def swap_in_deck(record: Json, rng: random.Random) -> None:
    deck = rng.choice(record["deals"])["deck"]
    first, second = rng.sample(range(56), 2)
    deck[first], deck[second] = deck[second], deck[first]


def change_card(record: Json, rng: random.Random) -> None:
    action = of_type(record, rng, "discard", "take_discards")["action"]
    action["card"] = another(rng, action["card"])


def change_drawn(record: Json, rng: random.Random) -> None:
    entry = of_type(record, rng, "draw_stock")
    entry["card"] = another(rng, entry["card"])


def change_melded(record: Json, rng: random.Random) -> None:
    cards = of_type(record, rng, "meld", "lay_off")["action"]["cards"]
    place = rng.randrange(len(cards))
    cards[place] = another(rng, cards[place])


def leave_melded_out(record: Json, rng: random.Random) -> None:
    of_type(record, rng, "meld", "lay_off")["action"]["cards"].pop()


def name_melded_twice(record: Json, rng: random.Random) -> None:
    cards = of_type(record, rng, "meld", "lay_off")["action"]["cards"]
    cards.append(cards[0])


def name_another_meld(record: Json, rng: random.Random) -> None:
    of_type(record, rng, "lay_off")["action"]["meld"] = rng.choice(["m0", "m18", "m", "x"])


def make_a_lay_off_a_meld(record: Json, rng: random.Random) -> None:
    action = of_type(record, rng, "lay_off")["action"]
    action["type"] = "meld"
    del action["meld"]


def change_type(record: Json, rng: random.Random) -> None:
    action = rng.choice(entries_of(record))["action"]
    kinds = ["draw_stock", "take_discards", "meld", "lay_off", "discard", "pass", "cheat"]
    action["type"] = rng.choice([kind for kind in kinds if kind != action["type"]])


def change_seat(record: Json, rng: random.Random) -> None:
    entry = rng.choice(entries_of(record))
    entry["seat"] = rng.choice([seat for seat in range(4) if seat != entry["seat"]])


def leave_action_out(record: Json, rng: random.Random) -> None:
    actions = rng.choice(record["deals"])["actions"]
    del actions[rng.randrange(len(actions))]


def leave_the_end_out(record: Json, rng: random.Random) -> None:
    del rng.choice(record["deals"])["actions"][-1]


def play_on_after_the_end(record: Json, rng: random.Random) -> None:
    actions = rng.choice(record["deals"])["actions"]
    seat = (actions[-1]["seat"] + 1) % 4
    actions.append({**actions[-1], "seat": seat, "action": {"type": "pass"}, "card": None})


def play_an_action_twice(record: Json, rng: random.Random) -> None:
    actions = rng.choice(record["deals"])["actions"]
    place = rng.randrange(len(actions))
    actions.insert(place, actions[place])


def exchange_actions(record: Json, rng: random.Random) -> None:
    actions = rng.choice(record["deals"])["actions"]
    place = rng.randrange(len(actions) - 1)
    actions[place], actions[place + 1] = actions[place + 1], actions[place]


def change_score(record: Json, rng: random.Random) -> None:
    score = rng.choice(record["deals"])["score"]
    name = rng.choice(["laid", "bonus", "hands", "total"])
    score[name][rng.randrange(2)] += rng.choice([-25, -1, 1, 10])


def change_total(record: Json, rng: random.Random) -> None:
    record["scores"][rng.randrange(2)] += rng.choice([-1, 1])


def change_winner(record: Json, rng: random.Random) -> None:
    record["winner"] = rng.choice([w for w in (0, 1, None) if w != record["winner"]])


def change_who_went_out(record: Json, rng: random.Random) -> None:
    score = rng.choice(record["deals"])["score"]
    score["went_out"] = rng.choice([w for w in (0, 1, 2, 3, None) if w != score["went_out"]])


def change_dealer(record: Json, rng: random.Random) -> None:
    record["seating"]["dealer"] = (record["seating"]["dealer"] + rng.randint(1, 3)) % 4


def change_a_deals_dealer(record: Json, rng: random.Random) -> None:
    deal = rng.choice(record["deals"])
    deal["dealer"] = (deal["dealer"] + rng.randint(1, 3)) % 4


def change_seed(record: Json, rng: random.Random) -> None:
    record["fairness"]["seed"] += rng.choice("abc ")


def change_client_seed(record: Json, rng: random.Random) -> None:
    record["fairness"]["client_seed"] = (record["fairness"]["client_seed"] or "") + rng.choice("ab")


def change_commitment(record: Json, rng: random.Random) -> None:
    digits = record["fairness"]["commitment"]
    place = rng.randrange(len(digits))
    other = rng.choice([d for d in "0123456789abcdef" if d != digits[place]])
    record["fairness"]["commitment"] = digits[:place] + other + digits[place + 1 :]


def leave_a_deal_out(record: Json, _rng: random.Random) -> None:
    del record["deals"][0]


TAMPERINGS = [
    swap_in_deck,
    change_card,
    change_drawn,
    change_melded,
    leave_melded_out,
    name_melded_twice,
    name_another_meld,
    make_a_lay_off_a_meld,
    change_type,
    change_seat,
    leave_action_out,
    leave_the_end_out,
    play_on_after_the_end,
    play_an_action_twice,
    exchange_actions,
    change_score,
    change_total,
    change_winner,
    change_who_went_out,
    change_dealer,
    change_a_deals_dealer,
    change_seed,
    change_client_seed,
    change_commitment,
    leave_a_deal_out,
]


@pytest.mark.parametrize("tamper", TAMPERINGS, ids=lambda tamper: tamper.__name__)
def test_every_kind_of_tampering_is_found(tamper: Callable[[Json, random.Random], None]) -> None:
    """Several of each kind, in several games."""
    rng = random.Random(tamper.__name__)
    tried = 0
    for seed in SEEDS:
        right = json.loads(played_out(seed))
        for _ in range(3):
            record = copy.deepcopy(right)
            try:
                tamper(record, rng)
            except IndexError:
                # No action of that type in this game.
                continue
            if record == right:
                continue
            tried += 1
            assert fault_of(json.dumps(record)) is not None, (seed, record)

    assert tried >= 9
