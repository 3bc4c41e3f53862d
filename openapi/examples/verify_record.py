"""Check a game's record: `python verify_record.py < record.json` fails at what is not right."""

import json
from hashlib import sha256

PACK = [rank + suit for suit in "CDHS" for rank in "23456789TJQKA"] + ["X1", "X2", "X3", "X4"]
POINTS = dict(zip("23456789TJQKAX", [*range(2, 10), 10, 10, 10, 10, 15, 20], strict=True))
SETS = [{c for c in PACK if c[0] == rank} - {out} for rank in POINTS for out in ["", *PACK]]
RUNS = [{*PACK[low:high]} for low in range(52) for high in range(low + 3, low // 13 * 13 + 14)]
record, totals = json.load(open(0)), [0, 0]  # noqa: SIM115
seed, mixed_in = record["fairness"]["seed"], record["fairness"]["client_seed"] or ""
assert sha256(seed.encode()).hexdigest() == record["fairness"]["commitment"], "commitment"
for number, deal in enumerate(record["deals"], 1):
    texts = (f"deal-{number}:{block}:{mixed_in.encode().hex()}:{seed}" for block in range(999))
    blocks = (sha256(text.encode()).digest() for text in texts)
    words = (int.from_bytes(block[i : i + 4], "big") for block in blocks for i in range(0, 32, 4))
    deck = PACK[:]  # to be shuffled by Fisher and Yates, each place with the same chance
    for last in range(55, 0, -1):
        other = next(word for word in words if word < 2**32 - 2**32 % (last + 1)) % (last + 1)
        deck[last], deck[other] = deck[other], deck[last]
    turn = (record["seating"]["dealer"] + number) % 4
    assert [deck, (turn - 1) % 4, number] == [deal["deck"], deal["dealer"], deal["number"]], "deal"
    hands = [{*deck[(seat - turn) % 4 : 28 : 4]} for seat in range(4)]
    pile, stock, melds, laid = deck[28:29], deck[29:], {}, [0, 0]
    has_drawn, due, passes, out = False, None, 0, None
    for entry in deal["actions"]:
        action, kind, hand = entry["action"], entry["action"]["type"], hands[turn]
        cards = {*action.get("cards", [action["card"]] if kind == "discard" else [])}
        assert has_drawn == bool(cards) == (kind in ("meld", "lay_off", "discard")), entry
        assert [entry["seat"], out, passes < 4, cards <= hand] == [turn, None, True, True], entry
        assert [entry["card"]] == (stock[:1] if kind == "draw_stock" else [None]), entry
        if kind == "draw_stock":
            hand.add(stock.pop(0))
        elif kind == "take_discards":  # the action after it shows that it was allowed
            due, place = action["card"], pile.index(action["card"])
            hand |= {*pile[place:]}
            del pile[place:]
        elif kind in ("meld", "lay_off"):
            name = action.get("meld", f"m{len(melds) + 1}")
            meld = cards | melds.get(name, set())
            assert [meld in SETS + RUNS, due in (None, *cards)] == [True, True], entry
            assert [name in melds, len(cards)] == [kind == "lay_off", len(action["cards"])], entry
            doubled = 2 if kind == "meld" and len(cards) == 4 and cards in SETS else 1
            laid[turn % 2] += doubled * sum(POINTS[card[0]] for card in cards)
            melds[name], due, out = meld, None, turn if cards == hand else None
        else:
            assert due is None if kind == "discard" else (kind, stock) == ("pass", []), entry
            pile += cards
        hand -= cards
        has_drawn = kind not in ("discard", "pass")
        turn, passes = (turn + (not has_drawn)) % 4, passes + 1 if kind == "pass" else 0
    bonus = [25 * (out in (team, team + 2)) for team in (0, 1)]
    left = [-sum(POINTS[card[0]] for card in hands[team] | hands[team + 2]) for team in (0, 1)]
    total = [sum(parts) for parts in zip(laid, bonus, left, strict=True)]
    score = {"laid": laid, "bonus": bonus, "hands": left, "total": total, "went_out": out}
    assert [deal["score"], True] == [score, passes == 4 or out is not None], "score"
    totals = [sum(pair) for pair in zip(totals, total, strict=True)]
winner = None if totals[0] == totals[1] else totals.index(max(totals))
assert [totals, winner] == [record["scores"], record["winner"]], "result"
