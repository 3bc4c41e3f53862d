/**
 * The door to the API. Everything that the page knows comes through here and is noted, so that the
 * drawer can show it: the page doubles as a tutorial of the API.
 */

import { lang } from "./i18n.js";
import { kept, keepForNow } from "./keep.js";

const MOST_CALLS = 150;

/** A refusal: the problem document (RFC 9457) that the service answered. */
export class Problem extends Error {
  constructor(body, status) {
    super(body?.detail ?? `status ${status}`);
    this.body = body ?? {};
    this.status = status;
    this.slug = String(this.body.type ?? "").split("/").pop();
    this.rule = this.body.rule ?? null;
  }
}

/** The service cannot be reached, or a part of it is away: worth another try. */
export class Away extends Error {}

/** Calls as noted, oldest first; `onCall` hears of each change. */
export const calls = [];
const listeners = new Set();
export const onCall = (listener) => listeners.add(listener);
let nextCall = 1;

function note(call) {
  calls.push(call);
  if (calls.length > MOST_CALLS) calls.shift();
  tell(call);
}
const tell = (call) => listeners.forEach((listener) => listener(call));

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The call as a line for a shell; the token stands as $TOKEN. English is what curl gets anyway. */
export function curlOf(call) {
  const parts = ["curl"];
  if (call.isStream) parts.push("-N");
  if (call.method !== "GET") parts.push("-X", call.method);
  parts.push(quoted(location.origin + call.path));
  for (const [name, value] of Object.entries(call.headers)) {
    if (name === "Accept-Language" && value === "en") continue;
    if (name === "Authorization") parts.push('-H "Authorization: Bearer $TOKEN"');
    else parts.push("-H", quoted(`${name}: ${value}`));
  }
  if (call.body !== undefined) parts.push("-d", quoted(JSON.stringify(call.body)));
  return parts.join(" ");
}

/** One who calls: a seat by its token, or the app by its key if there is one. */
export class Client {
  /** @param {string | null} token */
  constructor(token = null) {
    this.token = token;
  }

  /** The app: it creates games. Its key is only needed where the service asks for one. */
  static app() {
    return new Client(kept("app-key"));
  }

  static keepAppKey(key) {
    keepForNow("app-key", key || null);
  }

  #headers(more, body) {
    // What people read comes in the page's language, which need not be the browser's.
    const headers = { "Accept-Language": lang() };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    return Object.assign(headers, more);
  }

  /**
   * Call the API; returns the answer's JSON, or its text. Throws Problem or Away.
   * @param {string} method
   * @param {string} path
   * @param {{body?: any, headers?: Record<string, string>, signal?: AbortSignal, isPoll?: boolean}} [options]
   */
  async call(method, path, { body, headers = {}, signal, isPoll = false } = {}) {
    const call = { id: nextCall++, method, path, headers: this.#headers(headers, body), body, isPoll, at: new Date() };
    note(call);
    const start = performance.now();
    try {
      const answer = await fetch(path, {
        method,
        headers: call.headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        signal,
        cache: "no-store",
      });
      const text = await answer.text();
      Object.assign(call, { status: answer.status, ms: performance.now() - start, text });
      const isJson = (answer.headers.get("Content-Type") ?? "").includes("json");
      const found = text && isJson ? JSON.parse(text) : null;
      if (answer.ok) return isJson ? found : text || null;
      const isLate = answer.status === 503 || answer.status === 502 || answer.status === 429;
      if (isLate && method === "GET") throw new Away(found?.detail ?? String(answer.status));
      throw new Problem(found, answer.status);
    } catch (error) {
      if (call.status === undefined) {
        call.status = signal?.aborted ? "aborted" : "away";
        call.ms = performance.now() - start;
      }
      if (error instanceof Problem || error instanceof Away || error.name === "AbortError") throw error;
      throw new Away(error.message);
    } finally {
      tell(call);
    }
  }

  get(path, options) {
    return this.call("GET", path, options);
  }

  post(path, body, options) {
    return this.call("POST", path, { body, ...options });
  }

  /** Post what is to be done once, however often it is sent. */
  once(path, body, headers = {}) {
    const key = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
    return this.post(path, body, { headers: { ...headers, "Idempotency-Key": key } });
  }

  /**
   * Follow a stream of server-sent events. Calls `onEvent({event, id, data})` for each, and returns
   * when the stream ends. Throws Problem or Away.
   */
  async stream(path, { lastId = null, signal, onOpen, onEvent }) {
    const more = { Accept: "text/event-stream" };
    if (lastId !== null) more["Last-Event-ID"] = String(lastId);
    const call = {
      id: nextCall++, method: "GET", path, headers: this.#headers(more), isStream: true, at: new Date(), text: "",
    };
    note(call);
    const start = performance.now();
    try {
      const answer = await fetch(path, { headers: call.headers, signal, cache: "no-store" });
      Object.assign(call, { status: answer.status, ms: performance.now() - start });
      if (!answer.ok || !(answer.headers.get("Content-Type") ?? "").includes("event-stream")) {
        const body = await answer.json().catch(() => null);
        call.text = JSON.stringify(body);
        if (answer.status >= 500 || answer.status === 429) throw new Away(String(answer.status));
        throw new Problem(body, answer.status);
      }
      tell(call);
      onOpen?.();
      await readEvents(answer.body, (event) => {
        call.text = `${call.text}${event.event} ${event.id ?? ""}\n`.slice(-4000);
        onEvent(event);
        tell(call);
      });
    } catch (error) {
      if (error instanceof Problem || error instanceof Away || error.name === "AbortError") throw error;
      throw new Away(error.message);
    } finally {
      call.status ??= signal?.aborted ? "aborted" : "away";
      tell(call);
    }
  }
}

/** Read server-sent events from a body as the HTML standard says. */
async function readEvents(body, onEvent) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let event = { event: "message", data: [] };
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split(/\r\n|\n|\r/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (event.data.length) onEvent({ ...event, data: JSON.parse(event.data.join("\n")) });
        event = { event: "message", data: [], id: event.id };
        continue;
      }
      const [, field, text] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
      if (field === "data") event.data.push(text);
      else if (field === "event" || field === "id") event[field] = text;
    }
  }
}

let paths = null;

/** Tell whether this service has a route, by its own document: `/games/{game_id}/rematch`. */
export async function offers(path) {
  try {
    paths ??= new Client().get("/openapi.json").then((document) => Object.keys(document.paths));
    const wanted = path.replace(/\{\w+\}/g, "{}");
    return (await paths).some((known) => known.replace(/\{\w+\}/g, "{}") === wanted);
  } catch {
    paths = null;
    return false;
  }
}
