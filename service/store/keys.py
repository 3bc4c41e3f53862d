"""Every key of the store, built here and nowhere else.

| key | Redis type | time to live | written by |
|---|---|---|---|
| `prs:{GAME}:state` | hash `v` `s` `c` | `idle_ttl_s`; at its end `finished_ttl_s` | commit |
| `prs:{GAME}:log` | list, entry VERSION at VERSION - 1 | as the state, with it | commit |
| `prs:{SCOPE}:idem:NAME` | hash `f` `b` `i` | `idempotency_ttl_s` | commit, new task |
| `prs:{SCOPE}:task:KIND:ID` | hash `d` `s` | what the caller says | new, save, cancel task |
| `prs:{SCOPE}:tasks:KIND` | counter | a task's or `idle_ttl_s`, the longer | new task |
| `prs:app:{APP}:games` | sorted set, by ms since 1970 | none: trimmed | index, forget game |
| `prs:waiting:WHAT` | sorted set, by s since 1970 | none: swept | mark, unmark waiting |
| `prs:agenda:AGENDA` | sorted set, by s since 1970 | none: swept | note due, put off, strike |
| `prs:{GAME}:announced` | a version | `idle_ttl_s` | set announced |
| `prs:app:{APP}:webhook` | JSON | none: until taken away | set webhook |
| `prs:appkey:HASH` | hash `app` `created_at` `scopes` `test` | none: until revoked | the same two |
| `prs:appkeys` | set of the hashes of app keys | none | create, revoke app key |
| `prs:jobs:KEY` | sorted set of job ids, by s since 1970 | `JOBS_TTL_S` | note, forget jobs |
| `prs:games:STATUS` | sorted set of games, by when they expire | none: trimmed | note status |
| `prs:metrics` | hash of counters | none | count |
| `prs:limit:BUCKET:WHO:MINUTE` | counter of requests | two minutes | take from a bucket |

Each write begins the time to live anew, a cancelling excepted. The fields:

- state: `v` version, `s` state, `c` the id of the commit that created the game;
- log: the id of the commit, 6 bytes, then the entry as `service/games/entries.py` writes it;
- answers to requests with a key: `f` fingerprint, `b` body, sealed (`sealing.py`), or `i` the id of
  the task that was made and `b` its first document, plain;
- tasks: `d` document, `s` its status, which holds where the document says otherwise.

WHO is counted is the hash of an app's key, or a game and the seat of it whose token is shown; for
what is made up there is no counter.

States, bodies and documents are JSON. A scope is a game's id or another text. The part in braces is
what Redis Cluster places keys by: all keys of one scope lie together, so that one script may touch
them. What is published: each log entry, as `VERSION JSON`, on the channel of its game, which is
named as its log is; on `prs:wake:...` nothing, to wake one reader. The keys of the queue (`rq:...`)
are RQ's own.
"""

PREFIX = "prs:"
APP_KEYS = f"{PREFIX}appkeys"
LIMITS_PREFIX = f"{PREFIX}limit"
COUNTERS = f"{PREFIX}metrics"
"""What is counted for operators, by the names of `service/games/counting.py`."""
JOBS_TTL_S = 86_400
"""After the last job that a key has asked for: longer than any runs."""
LOOK_BACK = 10
"""Tasks that are looked at to find the newest still there: one is dropped now and then."""
WAKE_CHANNELS = f"{PREFIX}wake:"
"""What the channels begin with by which a process wakes its own reader of news."""


def state_key(game_id: str) -> str:
    """Return the key of a game's version and state."""
    return f"{PREFIX}{{{game_id}}}:state"


def log_key(game_id: str) -> str:
    """Return the key of a game's log."""
    return f"{PREFIX}{{{game_id}}}:log"


def news_channel(game_id: str) -> str:
    """Return the channel on which a game's log entries are published."""
    return log_key(game_id)


def game_of_channel(channel: str) -> str:
    """Return the game whose channel that is; for another channel, no game's id.

    >>> game_of_channel(news_channel("g1"))
    'g1'
    """
    return channel[len(PREFIX) + 1 : -len("}:log")]


def answer_key(scope: str, name: str) -> str:
    """Return the key of the answer to a request with an idempotency key, by the key's hash."""
    return f"{PREFIX}{{{scope}}}:idem:{name}"


def task_key(scope: str, kind: str, task_id: str) -> str:
    """Return the key of one task's document."""
    return f"{task_key_prefix(scope, kind)}{task_id}"


def task_key_prefix(scope: str, kind: str) -> str:
    """Return what the keys of all tasks of a kind in a scope begin with."""
    return f"{PREFIX}{{{scope}}}:task:{kind}:"


def task_counter_key(scope: str, kind: str) -> str:
    """Return the key of the count of tasks of a kind in a scope."""
    return f"{PREFIX}{{{scope}}}:tasks:{kind}"


def app_games_key(app: str) -> str:
    """Return the key of the list of an app's games."""
    return f"{PREFIX}app:{{{app}}}:games"


def app_webhook_key(app: str) -> str:
    """Return the key of an app's webhook."""
    return f"{PREFIX}app:{{{app}}}:webhook"


def announced_key(game_id: str) -> str:
    """Return the key of how far others were told of a game."""
    return f"{PREFIX}{{{game_id}}}:announced"


def waiting_key(what: str) -> str:
    """Return the key of the games that wait for something."""
    return f"{PREFIX}waiting:{what}"


def status_key(status: str) -> str:
    """Return the key of the games of a status, which are counted for operators."""
    return f"{PREFIX}games:{status}"


def agenda_key(agenda: str) -> str:
    """Return the key of what is to be looked at, by when."""
    return f"{PREFIX}agenda:{agenda}"


def jobs_key(account: str) -> str:
    """Return the key of the jobs that count to the quota of an app's key, by its first digits."""
    return f"{PREFIX}jobs:{account}"


def app_key_key(key_hash: str) -> str:
    """Return the key of an app's key, by its hash."""
    return f"{PREFIX}appkey:{key_hash}"


def task_number(kind: str, task_id: str) -> int | None:
    """Return which task of its kind `task_id` names, from 1, or None for text that is no such id.

    >>> task_number("hint", "h12"), task_number("hint", "m1"), task_number("hint", "h012")
    (12, None, None)
    """
    digits = task_id[1:]
    if task_id[:1] != kind[0] or not digits.isascii() or not digits.isdigit():
        return None
    return None if digits[0] == "0" or len(digits) > 18 else int(digits)


def task_ids(kind: str, count: int) -> list[str]:
    """Return the ids of the last few of `count` tasks, the newest first.

    >>> task_ids("hint", 2)
    ['h2', 'h1']
    """
    return [f"{kind[0]}{number}" for number in range(count, max(count - LOOK_BACK, 0), -1)]
