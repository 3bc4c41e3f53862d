"""Advice: a search run in chunks, its progress published, and the HINT document that comes of it.

What is shown of a move comes from fresh worlds (`workers/search/evaluate.py`), about a fifth of the
time: the best moves on many, so that they can be told apart, the others on some. While the search
still runs, its best moves so far are shown, on few worlds each and so with wide intervals.
"""

from collections.abc import Callable
from typing import Any

from service.games.levels import DEFAULT_LEVEL
from service.games.reasons import reason_sentences
from service.rules.notation import action_to_json
from service.rules.score import GOING_OUT_BONUS
from service.rules.view import SeatView
from workers.bots.base import Budget
from workers.bots.registry import BOTS
from workers.search import evaluate
from workers.search.endgame import ENDGAME_ENGINE, Solution, solve_endgame
from workers.search.moves import action_of_move
from workers.search.reasons import reason_for
from workers.search.search import (
    CHUNK,
    ENGINE,
    MoveSamples,
    MoveStatistics,
    Search,
    difference_half_width,
    merge_rankings,
)
from workers.search.values import LARGEST_MARGIN, win_chances
from workers.splitting import Desk, Ranking, split

SHOWN = 3
"""Moves that get the most fresh worlds, and that are shown while the search runs."""
SEARCH_SHARE, FRESH_SHARE = 0.8, 0.2
"""Parts of the effort that go to the tree and to fresh worlds, all shown moves together."""
FEWEST_FRESH = 500
"""Fresh worlds a move at least, unless time is up: an interval of about 4 points either way."""
FRESH_CHUNK = 250
"""Fresh worlds between two looks at the clock: about 4 ms for three moves."""
FRESH_FOR_OTHERS = 200
"""Fresh worlds for each of the other moves."""
FRESH_ON_THE_WAY = 150
"""Fresh worlds a move each time that the best so far is published: about 2 ms for all."""
MOST_BY_TIME = 2_000_000
"""Room for nodes of a search by time."""
PUBLISH_EVERY_S = 0.05
EQUAL_WITHIN = 2.0
"""Moves nearer than this many points to the best are called equal."""

Save = Callable[[dict[str, Any]], bool]


def budget_of(request: dict[str, Any]) -> Budget:
    """Return the budget that a request's body asks for: seconds, iterations or a level (that
    level's iterations).
    """
    if "seconds" in request:
        return Budget(seconds=float(request["seconds"]) * SEARCH_SHARE)
    if "iterations" in request:
        return Budget(iterations=int(request["iterations"]))
    bot = BOTS[request.get("level", DEFAULT_LEVEL)]
    return Budget(iterations=max(getattr(bot, "iterations", 0), FEWEST_FRESH))


def write_hint(
    view: SeatView,
    request: dict[str, Any],
    document: dict[str, Any],
    save: Save,
    now: Callable[[], str],
    clock: Callable[[], float],
    desk: Desk | None = None,
    number: int = 0,
) -> dict[str, Any]:
    """Search and fill `document`; `save` is called with each state of it and answers False when the
    hint was cancelled.

    The same view, iterations, workers and seed give the same candidates, whether others take parts
    from `desk` or not; `number` is that of this search among those of the desk's task."""
    budget = budget_of(request)
    seed = str(request.get("seed", ""))
    start = clock()
    cancelled = {**document, "status": "cancelled"}
    solution = solve_endgame(view)
    if solution is not None:
        document |= _solved(view, solution, seed, clock() - start) | {"finished_at": now()}
        return document if save(document) else cancelled
    first, others = split(view, seed, budget, request.get("workers", 1), desk, number)
    search = new_search(view, seed, first)
    share = SEARCH_SHARE / (1 + len(others.parts))
    rankings: list[Ranking] = []

    def publish(progress: float) -> bool:
        document["progress"] = round(share * (len(rankings) + progress), 3)
        if not rankings:
            document.update(_interim(view, search))
        return save(document)

    def publish_sampling(progress: float) -> bool:
        document["progress"] = round(SEARCH_SHARE + 0.95 * FRESH_SHARE * progress, 3)
        return save(document)

    others.offer()
    if not spend(first, CHUNK, search.run, clock, publish):
        others.withdraw()
        return cancelled
    rankings.append(search.ranking())
    for found in others.gather(
        lambda seed, budget: search_part(view, seed, budget, clock, publish)
    ):
        if found is None:
            others.withdraw()
            return cancelled
        rankings.append(found)
    ranking = merge_rankings(rankings)
    iterations = sum(move.visits for move in ranking)
    shown = ranking[:SHOWN]
    rest = _others(view, search, ranking)
    fresh = int(iterations * FRESH_SHARE / len(shown))
    if budget.seconds is not None:
        budget = Budget(seconds=max(request["seconds"] - (clock() - start), 0.0))
    else:
        budget = Budget(iterations=max(FEWEST_FRESH, fresh))
    sampling = search.sampling([move.code for move in shown])
    if not spend(budget, FRESH_CHUNK, sampling.run, clock, publish_sampling):
        return cancelled
    document |= {
        "status": "done",
        "progress": 1.0,
        "candidates": _candidates(view, ranking, sampling.found()) + rest,
        "search": {
            "iterations": iterations,
            "workers": len(rankings),
            "fresh_worlds": sampling.samples,
            "seconds": round(clock() - start, 3),
            "seed": seed,
            "engine": ENGINE,
        },
        "finished_at": now(),
    }
    document["best"] = document["candidates"][0]["action"]
    return document if save(document) else cancelled


def new_search(view: SeatView, seed: str, budget: Budget) -> Search:
    """Return a search with room for what the budget allows."""
    return Search(view, seed, min(budget.iterations or MOST_BY_TIME, MOST_BY_TIME))


def spend(
    budget: Budget,
    size: int,
    work: Callable[[int], None],
    clock: Callable[[], float],
    is_wanted: Callable[[float], bool],
) -> bool:
    """Let `work` do chunks of `size` until the budget is used; False when `is_wanted`, asked with
    the progress every `PUBLISH_EVERY_S`, said no.
    """
    asked = clock() - PUBLISH_EVERY_S
    for amount, progress in budget.chunks(size, clock):
        work(amount)
        if clock() - asked >= PUBLISH_EVERY_S:
            asked = clock()
            if not is_wanted(progress):
                return False
    return True


def search_part(
    view: SeatView,
    seed: str,
    budget: Budget,
    clock: Callable[[], float],
    is_wanted: Callable[[float], bool],
) -> Ranking | None:
    """Return what a part of a search found; None when it is no longer wanted."""
    part = new_search(view, seed, budget)
    return part.ranking() if spend(budget, CHUNK, part.run, clock, is_wanted) else None


def _solved(view: SeatView, solution: Solution, seed: str, seconds: float) -> dict[str, Any]:
    """Return the members of a hint whose values are solved and not sampled."""
    best = solution.best
    codes = sorted(solution.values, key=lambda code: (-solution.values[code], code != best, code))
    is_exact = solution.worlds == 1
    values = {"worlds": solution.worlds}
    text = " ".join(reason_sentences("solved", values, {}))
    reason = {"code": "solved", "values": values, "text": text}
    candidates = []
    for code in codes:
        margin = round(solution.values[code], 2)
        win = float(win_chances(view)[round(margin) + LARGEST_MARGIN]) if is_exact else None
        candidates.append(
            {
                "action": action_to_json(action_of_move(code, view)),
                "expected_margin": margin,
                "margin_interval": [margin, margin] if is_exact else None,
                "win_probability": win,
                "visits": 0,
                "split": None,
                "equal": abs(margin - solution.values[best]) < 0.01,
                "reason": reason,
            }
        )
    search = {
        "iterations": 0,
        "workers": 1,
        "fresh_worlds": solution.worlds,
        "seconds": round(seconds, 3),
        "seed": seed,
        "engine": ENDGAME_ENGINE,
    }
    return {
        "status": "done",
        "progress": 1.0,
        "best": candidates[0]["action"],
        "candidates": candidates,
        "search": search,
    }


def _interim(view: SeatView, search: Search) -> dict[str, Any]:
    """Return the best so far of a search that runs."""
    ranking = search.ranking()
    samples = search.sample([move.code for move in ranking[:SHOWN]], FRESH_ON_THE_WAY)
    candidates = _candidates(view, ranking, samples)
    return {"best": candidates[0]["action"], "candidates": candidates}


def _others(view: SeatView, search: Search, ranking: list[MoveStatistics]) -> list[dict[str, Any]]:
    """Return the candidates beyond the first `SHOWN`, compared with the chosen move on fewer
    worlds.
    """
    rest = ranking[SHOWN:]
    if not rest:
        return []
    samples = search.sample([ranking[0].code, *(move.code for move in rest)], FRESH_FOR_OTHERS)
    return _candidates(view, ranking, samples)[1:]


def _candidates(
    view: SeatView, ranking: list[MoveStatistics], samples: list[MoveSamples]
) -> list[dict[str, Any]]:
    """Return the candidates of `samples`, in their order; the first is what others are held
    against.
    """
    visits = {move.code: move.visits for move in ranking}
    best = samples[0]
    found = []
    for sample in samples:
        gap = best.mean(evaluate.MARGIN) - sample.mean(evaluate.MARGIN)
        wide = difference_half_width(best, sample)
        margin = sample.mean(evaluate.MARGIN)
        found.append(
            {
                "action": action_to_json(action_of_move(sample.code, view)),
                "expected_margin": round(margin, 1),
                "margin_interval": [
                    round(margin - sample.half_width, 1),
                    round(margin + sample.half_width, 1),
                ],
                "win_probability": round(sample.mean(evaluate.WIN), 3),
                "visits": visits[sample.code],
                "equal": sample is best or abs(gap) <= max(wide, EQUAL_WITHIN),
                "split": split_of(sample, view),
                "reason": reason_for(view, sample),
            }
        )
    return found


def split_of(sample: MoveSamples, view: SeatView) -> dict[str, float]:
    """Return the expected margin in its parts, own less theirs; they add up to it exactly but for
    rounding.

    `table_now` is what lies on the table already, `melds` what will be laid, `bonus` that for going
    out times the difference in chances to do so, `hands` the cost of cards left."""
    team = view.turn % 2
    out = sample.mean(evaluate.OUT) - sample.mean(evaluate.OUT_THEIRS)
    return {
        "table_now": float(view.laid[team] - view.laid[1 - team]),
        "melds_own": round(sample.mean(evaluate.LAID), 1),
        "melds_theirs": round(-sample.mean(evaluate.LAID_THEIRS), 1),
        "bonus": round(GOING_OUT_BONUS * out, 1),
        "hands_own": round(-sample.mean(evaluate.HAND), 1),
        "hands_theirs": round(sample.mean(evaluate.HAND_THEIRS), 1),
    }


def write_hints(
    views: list[SeatView],
    request: dict[str, Any],
    document: dict[str, Any],
    save: Save,
    now: Callable[[], str],
    clock: Callable[[], float],
    desk: Desk | None = None,
) -> dict[str, Any]:
    """Search on each of `views` with the whole budget of `request`, one after the other, and fill
    the list `hints` of `document`, or the document itself where that is null.

    What is found for one view is what `write_hint` finds for it alone."""
    hints: list[dict[str, Any]] = document["hints"] or [document]
    for number, view in enumerate(views):

        def save_part(hint: dict[str, Any], number: int = number) -> bool:
            hints[number] |= {name: hint[name] for name in ADVICE if name in hint}
            document["progress"] = round((number + hint["progress"]) / len(views), 4)
            if number == len(views) - 1 and hint["status"] == "done":
                document.update(status="done", finished_at=now())
            return save(document)

        hint = write_hint(view, request, {"status": "running"}, save_part, now, clock, desk, number)
        if hint["status"] == "cancelled":
            return {**document, "status": "cancelled"}
    return document


ADVICE = ("best", "candidates", "search")
"""What the advice for one of several positions has of a hint."""
