"""Matches: two tables with the same deals."""

from marshmallow import fields, validate

from service.api.schemas.fields import AnswerSchema, RequestSchema, Whole
from service.api.schemas.games import CreatedGame, Fairness, GameRequest


class MatchRequest(GameRequest):
    """A match to be made: the first table as given, the second with the teams exchanged."""

    class Meta(RequestSchema.Meta):
        """See GameRequest; the seats are as given, and the cards are not to be chosen."""

        exclude = ("seating", "sandbox")


class MatchTeam(AnswerSchema):
    """A team of the match."""

    team = Whole(required=True)
    players = fields.List(fields.String(), required=True)


class MatchTable(AnswerSchema):
    """One of the two games."""

    game_id = fields.String(required=True)
    status = fields.String(required=True)
    teams = fields.List(
        Whole(),
        required=True,
        metadata={"description": "By the game's teams, which team of the match sits there."},
    )
    scores = fields.List(
        Whole(),
        required=True,
        allow_none=True,
        metadata={"description": "By the game's teams; null until both tables are finished."},
    )


class MatchDeal(AnswerSchema):
    """A deal as it was played at both tables."""

    points = fields.List(
        Whole(), required=True, metadata={"description": "By the match's teams, both tables."}
    )
    margin = Whole(required=True, metadata={"description": "Team 0's points less team 1's."})


class MatchResult(AnswerSchema):
    """The compared score."""

    points = fields.List(
        Whole(),
        required=True,
        validate=validate.Length(2, 2),
        metadata={"description": "By the match's teams, over both tables."},
    )
    margin = Whole(required=True, metadata={"description": "Team 0's points less team 1's."})
    winner = Whole(
        required=True, allow_none=True, metadata={"description": "The better team, or null."}
    )
    deals = fields.List(fields.Nested(MatchDeal), required=True)


class Match(AnswerSchema):
    """Two games with the same cards and the teams' seats exchanged."""

    id = fields.String(required=True)
    status = fields.String(
        required=True, validate=validate.OneOf(["playing", "finished", "abandoned"])
    )
    created_at = fields.DateTime(required=True)
    deals = Whole(required=True, metadata={"description": "Deals of each game."})
    fairness = fields.Nested(
        Fairness,
        required=True,
        metadata={"description": "The seed is null until both tables are over."},
    )
    teams = fields.List(fields.Nested(MatchTeam), required=True)
    tables = fields.List(fields.Nested(MatchTable), required=True)
    result = fields.Nested(
        MatchResult,
        required=True,
        allow_none=True,
        metadata={"description": "Null until both tables are finished."},
    )


class CreatedMatch(AnswerSchema):
    """A new match, and for each table what `createGame` shows."""

    match = fields.Nested(Match, required=True)
    tables = fields.List(fields.Nested(CreatedGame), required=True)
