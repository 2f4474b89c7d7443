// What can go wrong with a question, in the words that a visitor can be told, and when another try is worth it.

import { Refused } from "./client.ts";

export type FailureKind = "failed" | "unreachable" | "notAllowed" | "tooMany" | "tooLong";

export interface Failure {
  kind: FailureKind;
  /** Milliseconds since the epoch from which on another try is worth it; 0: at once. */
  retryAt: number;
}

const TRIES = 6;

function kindOf(error: unknown): FailureKind {
  if (!(error instanceof Refused)) return "unreachable";
  if (error.code === "origin_not_allowed" || error.status === 403) return "notAllowed";
  if (error.code === "question_too_long" || error.status === 413) return "tooLong";
  return error.status === 429 || error.status === 409 || (error.status === 503 && error.retryAfter > 0) ? "tooMany" : "failed";
}

/** Waits, but no longer than until the network is back or the visitor stops. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener("online", end);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    window.addEventListener("online", end);
    signal.addEventListener("abort", end);
  });
}

export function failureOf(error: unknown): Failure {
  const wait = error instanceof Refused ? error.retryAfter : 0;
  return { kind: kindOf(error), retryAt: wait ? Date.now() + wait * 1000 : 0 };
}

/** Milliseconds until the next try; null: no try would help. */
export function patience(error: unknown, attempt: number): number | null {
  if (attempt >= TRIES) return null;
  const backoff = Math.min(8000, 400 * 2 ** attempt);
  if (!(error instanceof Refused)) return backoff;
  if (error.status === 409 || error.status === 503) {
    return error.retryAfter > 20 ? null : Math.max(error.retryAfter * 1000, backoff);
  }
  return error.status >= 500 ? backoff : null;
}
