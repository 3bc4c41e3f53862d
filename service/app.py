"""The composition root: the only place that chooses the store, the queue and the clock.

Nothing is connected here: Redis may be away when the service starts, and requests are answered 503
until it is there."""

import secrets
import time
from collections.abc import Callable
from typing import Any

from flask import Flask, Response

from service import web
from service.api import (
    actions,
    bot_moves,
    bots,
    events,
    games,
    hints,
    matches,
    positions,
    queues,
    records,
    reviews,
    rules,
    sandbox,
    seats,
    system,
    webhooks,
)
from service.api.auth import AppKeys
from service.api.cors import allow_origins
from service.api.document import make_document
from service.api.figures import FiguresCollector
from service.api.limiting import KnownTokens, limits_of, show_limits
from service.api.metrics_port import keep_metrics_apart
from service.api.observing import Metrics, observe_requests
from service.api.problem import register_problems
from service.api.resource import Parts
from service.config import Settings
from service.games.house import House
from service.games.limits import Limits
from service.games.ports import GameStore, JobQueue
from service.jobqueue import RqQueue
from service.store.app_keys import RedisAppKeys
from service.store.clock import StoreClock
from service.store.connecting import connect
from service.store.figures import Figures
from service.store.jobs import Jobs
from service.store.limits import redis_limits
from service.store.redis_store import RedisStore
from service.translations import register_translations
from service.web import guides

RESOURCES = (
    games.resource,
    seats.resource,
    actions.resource,
    events.resource,
    hints.resource,
    bot_moves.resource,
    positions.resource,
    records.resource,
    matches.resource,
    reviews.resource,
    webhooks.resource,
    sandbox.resource,
    bots.resource,
    rules.resource,
    queues.resource,
    system.resource,
)
FIGURES_TIMEOUT_S = 0.5
HEADERS = (
    # Answers hold a player's hand: nobody on the way may keep them.
    ("Cache-Control", "no-store"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Referrer-Policy", "no-referrer"),
    ("Vary", "Authorization"),
    ("X-Content-Type-Options", "nosniff"),
)
"""What every answer carries unless its view says otherwise."""


class Service(Flask):
    """The app. Its views are plain functions, so nothing asks at each request whether they are
    coroutines.
    """

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return `func` as it is."""
        return func


def create_app(
    settings: Settings | None = None,
    *,
    store: GameStore | None = None,
    queue: JobQueue | None = None,
    keys: AppKeys | None = None,
    limits: Limits | None = None,
    clock: Callable[[], float] | None = None,
    new_secret: Callable[[int], str] = secrets.token_urlsafe,
    sleep: Callable[[float], None] | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> Flask:
    """Return the service as a WSGI app.

    What is not given is made from `settings`, and those from the environment."""
    settings = Settings.from_env() if settings is None else settings
    if store is None or keys is None or limits is None:
        client = connect(settings.redis_url, settings.redis_timeout_s)
        clock = clock or StoreClock(client)
        store = store or RedisStore(
            client,
            finished_ttl_s=settings.finished_ttl_s,
            idle_ttl_s=settings.idle_ttl_s,
            idempotency_ttl_s=settings.idempotency_ttl_s,
            wait_replicas=settings.wait_replicas,
            wait_s=settings.redis_timeout_s / 2,
        )
        keys = keys or RedisAppKeys(client)
        limits = limits or redis_limits(client, clock)
    clock = clock or time.time
    figures = _figures(settings)
    collector = None
    if queue is None:
        collector = FiguresCollector(figures, clock)
        queue = RqQueue(
            connect(settings.queue_redis_url, settings.redis_timeout_s),
            max_queued_jobs=settings.max_queued_jobs,
            job_timeout_s=settings.job_timeout_s,
            job_timeouts_s={"reviews": settings.review_timeout_s},
            clock=clock,
        )
    app = Service("service", static_folder=None, template_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = settings.max_body_bytes
    # Neither redirects to another spelling of a path: their answers would be HTML pages.
    app.url_map.strict_slashes = False
    app.url_map.merge_slashes = False
    metrics = Metrics(collector)
    house = House(
        store,
        queue,
        clock,
        new_secret,
        settings.hint_ttl_s,
        settings.webhook_addresses == "any",
        review_ttl_s=settings.finished_ttl_s,
        max_hints=settings.max_hints,
    )
    app.extensions["persian_rummy"] = Parts(
        house=house,
        settings=settings,
        keys=keys,
        metrics=metrics,
        figures=figures,
        jobs=Jobs(connect(settings.queue_redis_url, settings.redis_timeout_s)),
        limits=limits,
        tokens=KnownTokens(house, monotonic),
        bucket_limits=limits_of(settings),
        # Looked up now: gevent may have put its own in place since this module was imported.
        sleep=time.sleep if sleep is None else sleep,
        monotonic=monotonic,
    )
    observe_requests(app, metrics)
    keep_metrics_apart(app, settings.metrics_port)
    # What is registered later is run earlier: these two add to what the others have put on.
    allow_origins(app, settings.cors_origins)
    show_limits(app)
    app.after_request(_put_headers)
    register_translations(app)
    register_problems(app)
    api = make_document(app)
    for resource in RESOURCES:
        api.register_blueprint(resource)
    app.register_blueprint(web.pages)
    app.register_blueprint(guides.pages)
    app.register_blueprint(system.pages)
    return app


def _figures(settings: Settings) -> Figures:
    """Return where `/metrics` reads what lies in Redis, for which it does not wait long."""
    patience_s = min(settings.redis_timeout_s, FIGURES_TIMEOUT_S)
    return Figures(
        connect(settings.redis_url, patience_s), connect(settings.queue_redis_url, patience_s)
    )


def _put_headers(answer: Response) -> Response:
    """Add what every answer carries."""
    headers = answer.headers
    present = {name for name, _ in headers}
    headers.extend([header for header in HEADERS if header[0] not in present])
    return answer
