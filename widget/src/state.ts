// What the view shows: the questions and their answers so far, and what lies over them.

import type { Failure } from "./failures.ts";
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
