// The JSON API over fetch: one class per failure a visitor can be told about, and never a cookie.

import { readEvents, type ServerEvent } from "./sse.ts";
import type { Article, Rating, ServerSettings, Turn } from "./wire.ts";

/** The server answered, and said no. `retryAfter` is in seconds, 0 if it did not say. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly retryAfter: number,
  ) {
    super(detail);
  }
}

const SILENCE = 35_000;
/** Milliseconds without a byte after which a stream counts as cut; the server sends a comment every 15 s. */

export interface Question {
  question: string;
  conversation_id: string | null;
  locale: string | null;
  page: { url: string; title: string };
}

/** Retry-After as seconds; it may also be a date. */
export function retrySeconds(value: string | null): number {
  if (!value) return 0;
  const seconds = /^\d+$/.test(value.trim()) ? Number(value) : Math.ceil((Date.parse(value) - Date.now()) / 1000);
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 3600) : 0;
}

export class Client {
  constructor(readonly server: string) {}

  settings(language: string): Promise<ServerSettings> {
    return this.json(`/v1/widget/settings?language=${encodeURIComponent(language)}`);
  }

  async openSession(identity?: string): Promise<string> {
    const { token } = await this.json<{ token: string }>("/v1/session", "POST", undefined, identity ? { identity } : {});
    return token;
  }

  conversation(id: string, token: string): Promise<{ id: string; turns: Turn[] }> {
    return this.json(`/v1/conversations/${encodeURIComponent(id)}`, "GET", token);
  }

  erase(id: string, token: string): Promise<Response> {
    return this.send(`/v1/conversations/${encodeURIComponent(id)}`, "DELETE", token);
  }

  article(id: string, token?: string): Promise<Article> {
    return this.json(`/v1/articles/${encodeURIComponent(id)}`, "GET", token);
  }

  stop(turn: string, token: string): Promise<Turn> {
    return this.json(`/v1/turns/${encodeURIComponent(turn)}/stop`, "POST", token);
  }

  rate(turn: string, token: string, rating: Rating, comment: string): Promise<unknown> {
    return this.json(`/v1/turns/${encodeURIComponent(turn)}/feedback`, "PUT", token, { rating, comment });
  }

  ask(question: Question, token: string, key: string, signal: AbortSignal): AsyncGenerator<ServerEvent> {
    return this.events("/v1/ask", "POST", token, signal, question, { "Idempotency-Key": key });
  }

  follow(turn: string, token: string, after: string, signal: AbortSignal): AsyncGenerator<ServerEvent> {
    const path = `/v1/turns/${encodeURIComponent(turn)}/events`;
    return this.events(path, "GET", token, signal, undefined, after ? { "Last-Event-ID": after } : {});
  }

  private async *events(
    path: string,
    method: string,
    token: string,
    signal: AbortSignal,
    body?: unknown,
    headers: Record<string, string> = {},
  ): AsyncGenerator<ServerEvent> {
    const cut = new AbortController();
    const abort = () => cut.abort();
    let timer = setTimeout(abort, SILENCE);
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(abort, SILENCE);
    };
    signal.addEventListener("abort", abort);
    try {
      const accept = { Accept: "text/event-stream", ...headers };
      const response = await this.send(path, method, token, body, accept, cut.signal);
      if (response.body) yield* readEvents(response.body, alive);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
  }

  private async json<T>(path: string, method = "GET", token?: string, body?: unknown): Promise<T> {
    return (await (await this.send(path, method, token, body)).json()) as T;
  }

  private async send(
    path: string,
    method: string,
    token?: string,
    body?: unknown,
    more: Record<string, string> = {},
    signal?: AbortSignal,
  ): Promise<Response> {
    const headers: Record<string, string> = { Accept: "application/json", ...more };
    if (token) headers["Authorization"] = `Bearer ${token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const response = await fetch(this.server + path, {
      method,
      headers,
      credentials: "omit",
      cache: "no-store",
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
    if (response.ok) return response;
    const problem = (await response.json().catch(() => ({}))) as { code?: string; detail?: string };
    const { code = "", detail = "" } = problem;
    throw new Refused(response.status, code, detail, retrySeconds(response.headers.get("Retry-After")));
  }
}
