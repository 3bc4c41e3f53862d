/**
 * Follow a game: every event once and in order, with the newest view. By server-sent events where the
 * service has them, else by long polls; after a break it goes on where it was.
 */

import { Away, Problem } from "./api.js";
import { keepForNow, kept } from "./keep.js";

const POLL_S = 25;
const FIRST_PAUSE_MS = 400;
const LONGEST_PAUSE_MS = 10_000;
const PAGE = 500;
const LONG_STREAM_MS = 3000;

export class Feed {
  /**
   * @param {import("./api.js").Client} client
   * @param {string} id the game's
   * @param {{onEvents: (events: any[]) => void, onState: (state: string, seconds?: number) => void,
   *   onLost: (problem: Problem) => void}} listener
   */
  constructor(client, id, listener) {
    this.client = client;
    this.path = `/games/${id}`;
    this.listener = listener;
    /** The version up to which events were told. */
    this.version = null;
    /** The newest view. */
    this.game = null;
    this.abort = new AbortController();
    this.failures = 0;
  }

  /** Read the game and begin to follow it; events are told from its version on. */
  async start() {
    this.game = await this.client.get(this.path);
    this.version = this.game.version;
    this.#follow();
    return this.game;
  }

  stop() {
    this.abort.abort();
  }

  /** Read the newest view, and tell the events up to it. */
  async sync() {
    await this.#take(await this.client.get(this.path, { signal: this.abort.signal }));
    return this.game;
  }

  /** Take a view that an answer carried. */
  async #take(game) {
    if (this.game === null || game.version >= this.game.version) this.game = game;
    if (game.version > this.version) await this.#readLog();
  }

  /** Note that the page has shown all up to `version` by itself: its own action. */
  played(event, game) {
    if (game.version >= this.game.version) this.game = game;
    if (event.version !== this.version + 1) return false;
    this.version = event.version;
    return true;
  }

  async #readLog() {
    const path = `${this.path}/actions?since=${this.version}&limit=${PAGE}`;
    const { actions } = await this.client.get(path, { signal: this.abort.signal });
    this.#tell(actions);
  }

  #tell(events) {
    const fresh = events.filter((event) => event.version > this.version);
    if (!fresh.length) return;
    this.version = fresh.at(-1).version;
    this.listener.onEvents(fresh);
  }

  async #follow() {
    while (!this.abort.signal.aborted) {
      try {
        if (this.#isOver()) return this.listener.onState("over");
        await (kept("no-events") ? this.#poll() : this.#listen());
      } catch (error) {
        if (this.abort.signal.aborted) return;
        if (error instanceof Problem) return this.listener.onLost(error);
        if (!(error instanceof Away)) throw error;
        await this.#pause();
      }
    }
  }

  #isOver() {
    return ["finished", "abandoned"].includes(this.game.status) && this.version >= this.game.version;
  }

  #alive() {
    this.failures = 0;
    this.listener.onState("live");
  }

  async #poll() {
    if (this.failures === 0) this.listener.onState("live");
    const wait = this.failures ? 0 : POLL_S;
    const game = await this.client.get(`${this.path}?since=${this.version}&wait=${wait}`, {
      signal: this.abort.signal,
      isPoll: true,
    });
    this.#alive();
    await this.#take(game);
  }

  async #listen() {
    const start = performance.now();
    try {
      await this.client.stream(`${this.path}/events`, {
        lastId: this.version,
        signal: this.abort.signal,
        onOpen: () => this.#alive(),
        onEvent: (event) => this.#hear(event),
      });
    } catch (error) {
      // Without that route the same is had by asking again and again.
      if (!(error instanceof Problem) || error.slug !== "not-found") throw error;
      keepForNow("no-events", true);
      return;
    }
    // A service that restarts ends its streams: only if that comes at once is it a fault.
    if (!this.#isOver() && performance.now() - start < LONG_STREAM_MS) await this.#pause();
  }

  #hear({ event, data }) {
    const isNext = event === "action" && data.version <= this.version + 1;
    if (isNext) return this.#tell([data]);
    const reading = event === "action" ? this.sync() : this.#take(data);
    // What it could not read now it reads when the stream goes on.
    return reading.catch(() => {});
  }

  async #pause() {
    this.failures += 1;
    const most = Math.min(FIRST_PAUSE_MS * 2 ** (this.failures - 1), LONGEST_PAUSE_MS);
    const pause = most * (0.75 + Math.random() / 4);
    this.listener.onState("away", Math.ceil(pause / 1000));
    await new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        removeEventListener("online", wake);
        resolve();
      };
      const timer = setTimeout(wake, pause);
      addEventListener("online", wake);
    });
  }
}
