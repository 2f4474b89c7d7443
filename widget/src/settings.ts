// The page's settings, from three places; the server's own texts come below them and are merged in the panel.

import type { Strings } from "./strings.ts";
import type { Contact } from "./wire.ts";

export interface Settings {
  /** Where the help centre is; by default where the script came from. */
  server?: string;
  language?: string;
  theme?: "auto" | "light" | "dark";
  position?: "end" | "start";
  /** Keeps the state of several widgets on one page apart. */
  name?: string;
  title?: string;
  greeting?: string;
  starters?: string[];
  /** How the line that says this is an AI is worded; it cannot be removed. */
  disclosure?: string;
  notice?: string;
  contact?: Contact;
  strings?: Partial<Strings>;
  /** A token that the site's own backend signed for the visitor. */
  identity?: string | null;
  context?: { url?: string; title?: string };
  launcher?: boolean;
  autoboot?: boolean;
}

const TEXTS = ["server", "language", "name", "title", "greeting", "disclosure", "notice"] as const;

/** `data-*` of the script tag, or the attributes of a `<refdesk-chat>` element. */
export function fromAttributes(read: (name: string) => string | null | undefined): Settings {
  const settings: Settings = {};
  for (const name of TEXTS) {
    const value = read(name)?.trim();
    if (value) settings[name] = value;
  }
  const theme = read("theme");
  if (theme === "light" || theme === "dark" || theme === "auto") settings.theme = theme;
  const position = read("position");
  if (position === "start" || position === "end") settings.position = position;
  const starters = read("starters");
  if (starters) settings.starters = starters.split("|").map((text) => text.trim()).filter(Boolean);
  if (read("launcher") === "false") settings.launcher = false;
  if (read("autoboot") === "false") settings.autoboot = false;
  const contact = { url: read("contact-url") ?? "", mail: read("contact-mail") ?? "", callback: read("contact-callback") ?? "" };
  if (contact.url || contact.mail || contact.callback) settings.contact = contact;
  return settings;
}

/** Later ones win; what is undefined does not count. */
export function merge(...layers: (Settings | undefined)[]): Settings {
  const given = layers.flatMap((layer) => Object.entries(layer ?? {}).filter(([, value]) => value !== undefined));
  return Object.fromEntries(given) as Settings;
}

export function languageOf(settings: Settings): string {
  const { language } = settings;
  if (language && language !== "auto") return language;
  return document.documentElement.lang || navigator.language || "en";
}
