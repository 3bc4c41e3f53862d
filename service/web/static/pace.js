/** Show events one after the other at a pace that people can follow. */

import { applyEvent, dealStart } from "./deal.js";

/** Milliseconds before an event is shown, by the reader's choice. */
export const PACES = { off: 0, fast: 350, normal: 900, slow: 1700 };
/** People have had their time to think already. */
const PERSON_MS = 120;

export class Show {
  /**
   * @param {import("./live.js").Feed} feed
   * @param {any} game what is shown first
   * @param {{pace: () => number, onShow: (game: any, event: any | null) => void,
   *   onDealOver: (game: any, event: any) => Promise<void>, onQueue: () => void, onFault: (error: Error) => void}} stage
   */
  constructor(feed, game, stage) {
    this.feed = feed;
    this.stage = stage;
    /** What is shown now. */
    this.game = game;
    /** All events since this page knows the game. */
    this.log = [];
    this.queue = [];
    this.isBusy = false;
    this.hurries = false;
  }

  /** Tell whether all that happened is shown. */
  get isSettled() {
    return !this.isBusy && this.queue.length === 0 && this.game.version === this.feed.game.version;
  }

  push(events) {
    const last = this.log.at(-1)?.version ?? this.game.version;
    const fresh = events.filter((event) => event.version > last);
    this.log.push(...fresh);
    this.queue.push(...fresh);
    this.run();
    this.stage.onQueue();
  }

  /** Show the rest at once. */
  hurry() {
    this.hurries = true;
    this.wake?.();
  }

  async run() {
    if (this.isBusy) return;
    this.isBusy = true;
    try {
      while (this.queue.length || this.game.version !== this.feed.game.version) {
        if (!this.queue.length) await this.#catchUp();
        while (this.queue.length) await this.#next();
      }
    } catch (error) {
      this.stage.onFault(error);
    } finally {
      this.isBusy = false;
      this.hurries = false;
    }
    if (this.isSettled) this.#put(this.feed.game, null);
  }

  async #catchUp() {
    const latest = await this.feed.sync();
    if (!this.queue.length && latest.version > this.game.version) this.#put(latest, null);
    else if (!this.queue.length) this.game = latest;
  }

  async #next() {
    const [event] = this.queue;
    await this.#wait(event);
    this.queue.shift();
    if (event.version <= this.game.version) return;
    if (event.type === "played" && event.deal !== this.game.deal?.number) await this.#beginDeal();
    if (event.version <= this.game.version) return;
    const isDealOver = Boolean(event.deal_score);
    const latest = this.feed.game;
    const isLatest = latest.version === event.version && (!isDealOver || latest.status === "finished");
    this.#put(isLatest ? latest : applyEvent(this.game, event), event);
    if (isDealOver && this.game.deal_scores.length < this.game.deals) {
      if (!this.hurries) await this.stage.onDealOver(this.game, event);
      await this.#beginDeal();
    }
  }

  /** Show the deal in hand from its beginning, or as it is where that is not known. */
  async #beginDeal() {
    const { game } = this.feed;
    const isThere = game.version >= this.game.version && game.deal && game.deal.number !== this.game.deal?.number;
    const latest = isThere ? game : await this.feed.sync();
    const known = this.log.filter((event) => event.version <= latest.version);
    this.#put(dealStart(latest, known) ?? latest, null);
  }

  #put(game, event) {
    this.game = game;
    this.stage.onShow(game, event);
  }

  #wait(event) {
    const isOwn = event.seat !== null && event.seat === this.game.viewer && event.by === "human";
    const pace = this.stage.pace();
    const ms = isOwn || this.hurries || event.type !== "played" ? 0 : event.by === "human" ? Math.min(PERSON_MS, pace) : pace;
    if (ms === 0) return undefined;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
