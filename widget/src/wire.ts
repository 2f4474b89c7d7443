// The values of the JSON API that the widget reads. Fields may be missing: an older server must still work.

export interface Source {
  id: string;
  title: string;
  url?: string | null;
  section?: string;
  excerpt?: string;
  language?: string;
  updated_at?: string;
  show?: boolean | null;
}

export interface Claim {
  text: string;
  kind?: string;
  source_id?: string | null;
  location?: string;
  quote?: string | null;
}

export interface Position {
  source_id: string;
  quote: string;
  location?: string;
  updated_at?: string;
}

export interface Conflict {
  topic: string;
  positions: Position[];
  criterion?: string;
}

export interface Evidence {
  source_id: string;
  title: string;
  url?: string | null;
  section?: string;
  quote: string;
}

export interface Suggestion {
  id: string;
  title: string;
  url?: string | null;
}

export type Rating = "up" | "down";
export type Status = "running" | "answered" | "insufficient" | "evidence" | "stopped" | "interrupted" | "failed";

export interface Turn {
  id: string;
  conversation_id: string;
  created_at?: string;
  question: string;
  kind?: string;
  language?: string;
  status: Status;
  truncated?: string | null;
  answer: string;
  sources?: Source[];
  claims?: Claim[];
  conflicts?: Conflict[];
  missing_information?: string[];
  evidence?: Evidence[];
  suggestions?: Suggestion[];
  feedback?: { rating: Rating; comment?: string } | null;
}

export interface Step {
  tool: string;
  input?: Record<string, unknown>;
  articles?: { id: string; title: string; form?: string }[];
}

/** The first event of a turn: it is stored, and can be followed and stopped. */
export interface Accepted {
  turn_id: string;
  conversation_id: string;
  token?: string;
}

export interface Article {
  id: string;
  title: string;
  url?: string | null;
  language?: string;
  updated_at?: string;
  body?: string;
  html?: string;
}

export interface Contact {
  url?: string;
  mail?: string;
  callback?: string;
}

export interface ServerSettings {
  name?: string;
  language?: string;
  greeting?: string;
  starter_questions?: string[];
  disclosure?: string;
  notice?: string;
  contact?: Contact;
}

/** Only an explicit false hides a source: an answer of an older server, or a null, is shown. */
export const isShown = (source: Source): boolean => source.show !== false;

/** The sources line. A refusal shows none, whatever was opened on the way. */
export const shownSources = (turn: Turn): Source[] =>
  turn.status === "insufficient" || turn.status === "evidence" ? [] : (turn.sources ?? []).filter(isShown);
