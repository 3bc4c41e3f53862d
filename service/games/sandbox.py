"""The sandbox: what only a test key may do, and only to games that were made with one.

Choosing the cards is part of making a game (`GameOrder.decks`); here is the moving of a game's
clock. A live game cannot be reached: it has no mark, whoever asks."""

from service.games.access import AppCaller, Caller, admit
from service.games.changing import Outcome, Step, change_game
from service.games.clocks import deadline_s
from service.games.errors import Conflict, NotAllowed
from service.games.hosting import check_unfinished, event_answer
from service.games.house import House
from service.games.model import Game
from service.games.ports import CLOCK
from service.games.representation import Viewer
from service.sentences import Sentence


def check_test_key(caller: Caller) -> None:
    """Raise NotAllowed for anybody without a test key."""
    if not isinstance(caller, AppCaller) or not caller.is_test:
        raise NotAllowed(Sentence("The sandbox takes a test key."))


def move_clock(house: House, caller: Caller, game_id: str, seconds: int) -> Outcome:
    """Let the clock of a sandbox game be `seconds` further on: its turn's deadline comes so much
    sooner. Returns `{"action": EVENT, "game": GAME}`.

    Raises NotAllowed without a test key and for a game that was not made with one, Conflict where
    no clock runs."""
    check_test_key(caller)

    def admit_tester(game: Game) -> Viewer:
        admit(game, caller)
        if not game.is_sandbox:
            raise NotAllowed(Sentence("That game was not made with a test key."))
        return Viewer(None)

    def decide(game: Game, viewer: Viewer) -> Step:
        check_unfinished(game)
        due_s = deadline_s(game)
        if due_s is None:
            raise Conflict(Sentence("No clock runs in that game now."))
        game.extra["deadline_s"] = round(due_s - seconds, 3)
        # Noted before the commit: a note too many costs the sweep one look.
        house.store.note_due(CLOCK, game.id, game.extra["deadline_s"])
        entry = {"type": "clock_moved", "seat": None, "by": "app", "seconds": seconds}
        return Step(entry, event_answer(viewer))

    return change_game(house, game_id, admit_tester, decide)
