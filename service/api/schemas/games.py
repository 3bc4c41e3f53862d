"""GAME and the bodies of creating and joining."""

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, ValidationError, fields, validate, validates_schema

from service.api.schemas.actions import Action, DealScore, Event, Union, type_field
from service.api.schemas.fields import (
    CARD_PATTERN,
    SEED_MAX,
    AnswerSchema,
    Items,
    RequestSchema,
    Truth,
    Whole,
    card_field,
    cards_field,
    check_card,
    check_pack,
    check_text,
    level_field,
    name_field,
)
from service.api.schemas.hooks import WebhookRequest, secret_field, url_field
from service.sentences import Sentence

MIN_TURN_S, MAX_TURN_S = 5, 86_400
STATUSES = ("open", "playing", "finished", "abandoned")


class HumanSeat(RequestSchema):
    """A seat played over this API."""

    player = type_field("human")
    name = name_field("Shown to all.")


class BotSeat(RequestSchema):
    """A seat that plays by itself."""

    player = type_field("bot")
    name = name_field("Shown to all.")
    level = level_field("How strong the bot plays; `expert` if not given.")


class OpenSeat(RequestSchema):
    """A seat that waits for somebody to join."""

    player = type_field("open")
    name = name_field("Shown until somebody joins.")


class ExternalSeat(RequestSchema):
    """A seat played by a service of yours, which is asked for each action."""

    player = type_field("external")
    name = name_field("Shown to all.")
    url = url_field("Where the seat is asked: http or https, at a public address.")
    secret = secret_field("What questions are signed with; made here if not given, shown once.")
    level = level_field(
        "The bot that finishes a turn that is not answered in time or not well; the game's "
        "`timeout_level` if not given."
    )


class SeatRequest(Union):
    """Who is to sit in a place: told apart by `player`."""

    type_field = "player"
    type_schemas: Mapping[str, type[Schema] | Schema] = {
        "human": HumanSeat,
        "bot": BotSeat,
        "open": OpenSeat,
        "external": ExternalSeat,
    }


def _seed(description: str, **more: Any) -> fields.String:
    return fields.String(
        validate=[validate.Length(more.pop("low", None), SEED_MAX), check_text],
        metadata={"description": description, "examples": ["ferienspiel-7"]},
        **more,
    )


class Sandbox(RequestSchema):
    """A game whose cards are chosen: for trying out a client."""

    decks = Items(
        Items(
            fields.String(validate=check_card, metadata={"pattern": CARD_PATTERN}),
            validate=[validate.Length(equal=56), check_pack],
            metadata={
                "description": "56 cards, the top one first: seven to each player, one at a time "
                "from the dealer's left, then the upcard, then the stock."
            },
        ),
        validate=validate.Length(max=10),
        metadata={"description": "One for each of the first deals; the others are shuffled."},
    )
    dealer = Whole(
        validate=validate.Range(0, 3), metadata={"description": "The seat that deals first."}
    )


class GameRequest(RequestSchema):
    """A game to be made."""

    seats = Items(
        fields.Nested(SeatRequest),
        required=True,
        validate=validate.Length(equal=4),
        metadata={"description": "Four places, in seat order (with `draw`: in any order)."},
    )
    seating = fields.String(
        load_default="fixed",
        validate=validate.OneOf(["fixed", "draw"]),
        metadata={
            "description": "`fixed`: the seats as given, the dealer is drawn; `draw`: the partner "
            "draw of R4."
        },
    )
    seed = _seed(
        "What the cards are shuffled from; made here if not given. Whoever knows it knows all "
        "cards, so it is for tests and replays.",
        low=1,
    )
    client_seed = _seed("Mixed into the shuffle, so that neither side alone chooses the cards.")
    deals = Whole(
        load_default=2,
        validate=validate.Range(1, 10),
        metadata={"description": "Deals that make the game; two by R7."},
    )
    spectators = Truth(
        load_default=True, metadata={"description": "Whether others may look on, without any hand."}
    )
    turn_seconds = Whole(
        validate=validate.Range(MIN_TURN_S, MAX_TURN_S),
        metadata={"description": "Seconds a person's turn may take; without it there is no clock."},
    )
    timeout_level = level_field(
        "The bot that finishes a turn that is over its time; `greedy` if not given. Needs "
        "`turn_seconds`."
    )

    webhook = fields.Nested(
        WebhookRequest, metadata={"description": "Who is told of this game, besides the app."}
    )

    sandbox = fields.Nested(
        Sandbox, metadata={"description": "Cards of one's choice; with a test key only."}
    )

    @validates_schema
    def check_clock(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a bot for a clock that is not there."""
        if "timeout_level" in data and "turn_seconds" not in data:
            needs = Sentence("This needs `{field}`.", field="turn_seconds")
            raise ValidationError({"timeout_level": [needs]})


class SeatBotRequest(RequestSchema):
    """Which bot takes the seat."""

    level = level_field("How strong the bot plays; `expert` if not given.")


class RematchRequest(RequestSchema):
    """What the next game has of its own."""

    seed = _seed(
        "What the cards are shuffled from; made here if not given. For tests and replays.", low=1
    )
    client_seed = _seed("Mixed into the shuffle, so that neither side alone chooses the cards.")


class JoinRequest(RequestSchema):
    """Who takes the seat."""

    name = name_field("Shown to all.")


class Seat(AnswerSchema):
    """One place at the table."""

    seat = Whole(required=True, validate=validate.Range(0, 3))
    team = Whole(required=True, validate=validate.Range(0, 1))
    player = fields.String(
        required=True, metadata={"description": "`human`, `bot`, `open` or `external`."}
    )
    name = fields.String(required=True)
    level = fields.String(
        required=True, allow_none=True, metadata={"description": "The bot's level, or null."}
    )
    stand_in = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "description": "Who let a bot play a person's seat: `app`, `human` (its owner) or "
            "`clock`; null where none does."
        },
    )


class DrawnCard(AnswerSchema):
    """A card of the draw for seats or for the dealer (R4)."""

    player = Whole(required=True, metadata={"description": "The place in the request, from 0."})
    card = card_field("The card drawn.", required=True)


class Seating(AnswerSchema):
    """How the players came to their seats."""

    mode = fields.String(required=True, validate=validate.OneOf(["fixed", "draw"]))
    dealer = Whole(required=True, metadata={"description": "The seat that deals first."})
    order = fields.List(
        Whole(), required=True, metadata={"description": "By seat, the place in the request."}
    )
    draws = fields.List(
        fields.List(fields.Nested(DrawnCard)),
        required=True,
        metadata={"description": "The cards drawn, round by round; ties draw again."},
    )


class Fairness(AnswerSchema):
    """What proves, after the game, that the cards were settled before it."""

    commitment = fields.String(
        required=True, metadata={"description": "SHA-256 of the seed, in hexadecimal."}
    )
    algorithm = fields.String(required=True)
    client_seed = fields.String(required=True, allow_none=True)
    seed = fields.String(
        required=True, allow_none=True, metadata={"description": "Null until the game is finished."}
    )


class Meld(AnswerSchema):
    """A meld on the table."""

    id = fields.String(required=True, metadata={"examples": ["m1"]})
    kind = fields.String(required=True, validate=validate.OneOf(["set", "run"]))
    cards = cards_field("A run from its low end, a set by suit.", required=True)
    laid_by = fields.List(
        Whole(), required=True, metadata={"description": "The seat that laid each of `cards`."}
    )
    doubled = Truth(required=True, metadata={"description": "A set of four laid at once (R28)."})


class Deal(AnswerSchema):
    """The deal in hand, as the viewer may see it (R33)."""

    number = Whole(required=True, metadata={"description": "From 1."})
    dealer = Whole(required=True, metadata={"description": "The seat that dealt."})
    turn = Whole(required=True, metadata={"description": "The seat to move."})
    phase = fields.String(
        required=True,
        validate=validate.OneOf(["draw", "meld", "over"]),
        metadata={
            "description": "`draw` to begin a turn, then `meld`; `over` after the last deal."
        },
    )
    due = card_field(
        "The card that must be melded or laid off first (R11), or null.",
        required=True,
        allow_none=True,
    )
    passes = Whole(required=True, metadata={"description": "Passes in a row (R25)."})
    deadline = fields.DateTime(
        required=True,
        allow_none=True,
        metadata={"description": "When the turn must be over; null without a clock or for a bot."},
    )
    stock_count = Whole(required=True)
    discard_pile = cards_field("Bottom to top.", required=True)
    hand = cards_field("The viewer's own cards.", required=True)
    hand_counts = fields.List(
        Whole(), required=True, metadata={"description": "Cards held, by seat."}
    )
    known_cards = fields.List(
        cards_field("Of one seat."),
        required=True,
        metadata={"description": "By seat, cards taken from the pile and still held (R33)."},
    )
    melds = fields.List(fields.Nested(Meld), required=True)
    points = fields.List(
        Whole(), required=True, metadata={"description": "Points on the table, by team."}
    )


class Game(AnswerSchema):
    """A game as the caller may see it."""

    id = fields.String(required=True)
    version = Whole(
        required=True, metadata={"description": "Accepted changes so far: the ETag, without gaps."}
    )
    status = fields.String(required=True, validate=validate.OneOf(STATUSES))
    created_at = fields.DateTime(required=True)
    seats = fields.List(fields.Nested(Seat), required=True)
    seating = fields.Nested(Seating, required=True)
    fairness = fields.Nested(Fairness, required=True)
    match_id = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "The match that this game is a table of, or null."},
    )
    sandbox = Truth(required=True, metadata={"description": "Made with a test key."})
    deals = Whole(required=True, metadata={"description": "Deals that make the game."})
    turn_seconds = Whole(
        required=True,
        allow_none=True,
        metadata={"description": "Seconds a person's turn may take, or null: no clock."},
    )
    spectators = Truth(
        required=True, metadata={"description": "Whether there is a token for those who look on."}
    )
    deal = fields.Nested(
        Deal, required=True, allow_none=True, metadata={"description": "Null while seats are open."}
    )
    deal_scores = fields.List(
        fields.Nested(DealScore),
        required=True,
        metadata={"description": "One a finished deal, in order."},
    )
    scores = fields.List(
        Whole(), required=True, metadata={"description": "Points of the finished deals, by team."}
    )
    winner = Whole(
        required=True,
        allow_none=True,
        metadata={"description": "The winning team; null before the end and for a draw (R32)."},
    )
    viewer = Whole(
        required=True,
        allow_none=True,
        metadata={"description": "The seat whose hand is shown, or null."},
    )
    legal_actions = fields.List(
        fields.Nested(Action),
        required=True,
        metadata={"description": "What the viewer may play now; empty out of turn."},
    )


class CreatedGame(AnswerSchema):
    """A new game and the tokens of its human seats."""

    game = fields.Nested(Game, required=True)
    seat_tokens = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        required=True,
        metadata={"description": "By seat; shown this once.", "examples": [{"0": "prs_..."}]},
    )
    spectator_token = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "description": "For those who look on: it shows what all see and plays nothing. Null "
            "where `spectators` is false; shown this once."
        },
    )
    webhook_secret = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "Of the game's webhook, where it was made here; else null."},
    )
    external_secrets = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        required=True,
        metadata={"description": "By seat: of external seats, where they were made here."},
    )


class GamePage(AnswerSchema):
    """A page of games, newest first."""

    games = fields.List(fields.Nested(Game), required=True)
    next = fields.String(
        required=True, allow_none=True, metadata={"description": "The next page's path, or null."}
    )


class JoinedSeat(AnswerSchema):
    """The seat and its new token, shown this once."""

    seat = Whole(required=True)
    token = fields.String(required=True)
    game = fields.Nested(Game, required=True)


class ChangedGame(AnswerSchema):
    """What happened, and the game after it."""

    action = fields.Nested(Event, required=True)
    game = fields.Nested(Game, required=True)


class JudgedAction(AnswerSchema):
    """A dry run: the action would be accepted; nothing was played."""

    dry_run = Truth(required=True, validate=validate.Equal(True))
    action = fields.Nested(Action, required=True)
    game = fields.Nested(Game, required=True)
