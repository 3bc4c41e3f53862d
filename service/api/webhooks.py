"""Webhooks: an app's own, and how deliveries went. What is posted is described in `document.py`."""

from flask import Response, url_for

from service.api.resource import Answers, Body, Call, Resource, json_answer
from service.api.schemas.hooks import WebhookRequest
from service.api.schemas.queries import DeliveriesQuery
from service.api.schemas.webhooks import DeliveryPage, Webhook
from service.games.access import ADMIN
from service.games.webhooks import drop_webhook, list_deliveries, read_webhook, set_webhook

resource = Resource("webhooks", __name__, description="Telling other services what happens")


@resource.operation(
    "PUT",
    "/webhook",
    "setWebhook",
    callers=("appKey",),
    body=Body(
        WebhookRequest,
        {
            "All events, a secret of its own": {
                "url": "https://example.org/rummy",
                "secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
            },
            "Only whose turn it is": {
                "url": "https://example.org/rummy",
                "events": ["turn.started"],
            },
        },
    ),
    answers=[
        Answers(200, "In place of the one before", Webhook),
        Answers(201, "There was none before", Webhook),
    ],
    problems=(403,),
    scope=ADMIN,
)
def put(call: Call) -> Response:
    """Set the app's webhook.

    It is told what happens in all the app's games from now on, in games that run already after some
    seconds. Messages are signed by the Standard Webhooks scheme, tried again for a day, and show no
    hand. A game may have a webhook of its own besides (`createGame`)."""
    body = call.body
    shown, is_new = set_webhook(
        call.house, call.caller, body["url"], body.get("secret"), body.get("events")
    )
    return json_answer(shown, 201 if is_new else 200)


@resource.operation(
    "GET",
    "/webhook",
    "getWebhook",
    callers=("appKey",),
    answers=[Answers(200, "The webhook, without its secret", Webhook)],
    problems=(403, 404),
    scope=ADMIN,
)
def read(call: Call) -> Response:
    """Read the app's webhook."""
    return json_answer(read_webhook(call.house, call.caller))


@resource.operation(
    "DELETE",
    "/webhook",
    "dropWebhook",
    callers=("appKey",),
    answers=[Answers(204, "There is none any more")],
    problems=(403, 404),
    scope=ADMIN,
)
def drop(call: Call) -> Response:
    """Take the app's webhook away.

    What was not delivered yet never is."""
    drop_webhook(call.house, call.caller)
    return Response(status=204)


@resource.operation(
    "GET",
    "/games/<string(maxlength=64):game_id>/deliveries",
    "listDeliveries",
    callers=("appKey",),
    query=DeliveriesQuery,
    answers=[Answers(200, "A page of deliveries", DeliveryPage, ("Link",))],
    problems=(403, 404),
)
def list_page(call: Call, game_id: str) -> Response:
    """List a game's deliveries, newest first.

    What was sent of the game to its own webhook and to the app's: each try with its answer's
    status, kept for three days."""
    query = call.query
    found, before = list_deliveries(
        call.house, call.caller, game_id, query["limit"], query.get("before")
    )
    if before is None:
        return json_answer({"deliveries": found, "next": None})
    following = url_for(
        "webhooks.listDeliveries", game_id=game_id, limit=query["limit"], before=before
    )
    link = {"Link": f'<{following}>; rel="next"'}
    return json_answer({"deliveries": found, "next": following}, 200, link)
