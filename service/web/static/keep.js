/** What the browser keeps for the reader: settings, and the tokens of the games' seats. */

const PREFIX = "persian-rummy:";

/** @returns {any} what was kept under `name`, or null */
export function kept(name, otherwise = null) {
  try {
    const text = localStorage.getItem(PREFIX + name) ?? sessionStorage.getItem(PREFIX + name);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

/** Keep `value` under `name`; null forgets it. */
export function keep(name, value) {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing still plays; only a reload forgets the seat.
  }
}

/** Keep `value` only as long as this tab is open. */
export function keepForNow(name, value) {
  try {
    sessionStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // As above.
  }
}

const MOST_GAMES = 12;

/** The games that this browser has seats in, the latest first: `{id, seat, name, at}`. */
export const games = () => kept("games", []);

/** Keep a seat's token, and the game among the latest. */
export function keepSeat(id, seat, token, name) {
  keep(`seat:${id}:${seat}`, token);
  const others = games().filter((game) => game.id !== id || game.seat !== seat);
  for (const old of others.slice(MOST_GAMES - 1)) keep(`seat:${old.id}:${old.seat}`, null);
  keep("games", [{ id, seat, name, at: Date.now() }, ...others].slice(0, MOST_GAMES));
}

/** Forget a seat: its game is gone or its token is no longer good. */
export function forgetSeat(id, seat) {
  keep(`seat:${id}:${seat}`, null);
  keep("games", games().filter((game) => game.id !== id || game.seat !== seat));
}

export const tokenOf = (id, seat) => kept(`seat:${id}:${seat}`);
