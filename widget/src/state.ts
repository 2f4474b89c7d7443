// What the view shows: the questions and their answers so far, and what lies over them.

import type { Failure } from "./failures.ts";
import { newKey } from "./session.ts";
import type { Article, Step, Turn } from "./wire.ts";

export interface Message {
  key: string;
  turn: Turn;
  steps: Step[];
  phase: "waiting" | "answering" | "reconnecting" | "ended";
  failure: Failure | null;
  lastEvent: string;
  /** Whether this page saw it end: only then is it announced. */
  fresh: boolean;
}

export interface Reading {
  id: string;
  quotes: string[];
  section: string;
  article: Article | null;
  missing: boolean;
  from: Element | null;
}

export interface State {
  open: boolean;
  messages: Message[];
  view: "chat" | "history";
  reading: Reading | null;
  unread: boolean;
  online: boolean;
}

export function newMessage(turn: Partial<Turn> & { question: string }): Message {
  const full: Turn = { id: "", conversation_id: "", status: "running", answer: "", ...turn };
  const phase = full.status === "running" ? "waiting" : "ended";
  return { key: newKey(), turn: full, steps: [], phase, failure: null, lastEvent: "", fresh: false };
}
