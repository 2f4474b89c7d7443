// The text of an answer that is still arriving, cut and completed so that no half of a mark is ever seen:
// what is undecided at the end is held back, what is open is closed. The finished answer is never healed.

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
/** Marks at the start of a line: quote signs and list markers, in any nesting. */
const PREFIX = /^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t])))*[ \t]*(?:#{1,6}[ \t]+)?/;
/** A line of nothing but marks may yet become a list, a rule, a heading, a fence or a table. */
const UNDECIDED = /^[ \t>]*(?:[-*+_=~`#|:. \t]+|\d{1,9}[.)]?)?[ \t]*[*_~`]*$/;
/** A bracket that is not closed after so many characters is no link. */
const LONGEST_LABEL = 300;
const LONGEST_TARGET = 2100;

export function heal(text: string): string {
  const lines = text.split("\n");
  const last = lines.length - 1;
  if (openFence(lines.slice(0, last)) >= 0) {
    // inside code nothing is a mark, but a last line of fence characters may be the closing fence
    return (/^[ \t]*[`~]+[ \t]*$/.test(lines[last]!) ? lines.slice(0, last) : lines).join("\n");
  }
  // the word behind an opening fence may be incomplete
  if (openFence(lines) >= 0) lines.pop();
  else if (UNDECIDED.test(lines[last]!)) lines.pop();
  holdTable(lines);
  if (!lines.length) return "";
  const start = inlineStart(lines);
  const head = lines.slice(0, start);
  const prefix = PREFIX.exec(lines[start]!)![0];
  const body = [lines[start]!.slice(prefix.length), ...lines.slice(start + 1)].join("\n");
  const healed = healInline(body);
  if (!healed.trim()) return head.join("\n");
  return [...head, prefix + healed].join("\n");
}

/** The line of the fence that is open at the end, or -1. A fence may stand inside a list item. */
function openFence(lines: string[]): number {
  let open = -1;
  let mark = "";
  lines.forEach((line, number) => {
    const match = FENCE.exec(line.replace(/^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?=`{3}|~{3})/, "").trimStart());
    if (!match) return;
    const [, run, rest] = match as unknown as [string, string, string];
    if (open < 0) {
      if (run[0] === "`" && rest.includes("`")) return;
      open = number;
      mark = run;
    } else if (run[0] === mark[0] && run.length >= mark.length && !rest.trim()) {
      open = -1;
    }
  });
  return open;
}

/** A table appears with its delimiter row, and grows by whole rows. */
function holdTable(lines: string[]): void {
  let first = lines.length;
  while (first > 0 && /^[ \t]*\|/.test(lines[first - 1]!)) first--;
  if (first === lines.length) return;
  const delimiter = lines[first + 1];
  const complete = lines.length - first > 2 && delimiter !== undefined && /^[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|?)+$/.test(delimiter);
  lines.length = complete ? lines.length - 1 : first;
}

/** The first line of the paragraph, item or heading that the last line belongs to. */
function inlineStart(lines: string[]): number {
  let start = lines.length - 1;
  while (start > 0 && lines[start]!.trim() && PREFIX.exec(lines[start]!)![0].trim() === "" && lines[start - 1]!.trim()) {
    if (/^ {0,3}#{1,6}[ \t]/.test(lines[start - 1]!)) break;
    start--;
  }
  return start;
}

interface Opener {
  run: string;
  at: number;
}

function healInline(text: string): string {
  const open: Opener[] = [];
  let at = 0;
  while (at < text.length) {
    const char = text[at]!;
    if (char === "\\") {
      if (at + 1 === text.length) return close(text.slice(0, at), open);
      at += 2;
    } else if (char === "`") {
      const run = runAt(text, at);
      const end = closingTicks(text, at + run.length, run.length);
      if (end < 0) return closeCode(text, at, run, open);
      at = end;
    } else if (char === "[" || (char === "!" && text[at + 1] === "[")) {
      const end = linkEnd(text, at);
      if (end < 0) return close(text.slice(0, at), open);
      at = end;
    } else if (char === "<" && /^<[a-z/!?]/i.test(text.slice(at, at + 2) + "x")) {
      const end = text.indexOf(">", at);
      if (end < 0 && text.length - at < LONGEST_LABEL && !/\n/.test(text.slice(at)) && /^<(?:[a-z/!?]|$)/i.test(text.slice(at))) {
        return close(text.slice(0, at), open);
      }
      at = end < 0 ? at + 1 : end + 1;
    } else if (char === "*" || char === "_" || char === "~") {
      const run = runAt(text, at);
      if (at + run.length === text.length) return close(text.slice(0, at), open);
      delimiter(text, at, run, open);
      at += run.length;
    } else {
      at++;
    }
  }
  return close(text, open);
}

function runAt(text: string, at: number): string {
  let end = at;
  while (text[end] === text[at]) end++;
  return text.slice(at, end);
}

function closingTicks(text: string, from: number, length: number): number {
  let at = text.indexOf("`", from);
  while (at >= 0) {
    const run = runAt(text, at);
    if (run.length === length) return at + length;
    at = text.indexOf("`", at + run.length);
  }
  return -1;
}

function closeCode(text: string, at: number, run: string, open: Opener[]): string {
  const code = text.slice(at + run.length).replace(/`+$/, "");
  if (!code.trim()) return close(text.slice(0, at), open);
  return text.slice(0, at) + run + code + run + marks(open);
}

/** Behind a complete link, or behind the bracket of what is none; -1 while it is undecided. */
function linkEnd(text: string, at: number): number {
  const image = text[at] === "!" ? 1 : 0;
  const label = matching(text, at + image, "[", "]", LONGEST_LABEL);
  if (label < 0) return text.length - at > LONGEST_LABEL || /\n[ \t]*\n/.test(text.slice(at)) ? at + 1 + image : -1;
  if (label === text.length) return -1;
  if (text[label] !== "(") return image ? label : at + 1;
  const end = matching(text, label, "(", ")", LONGEST_TARGET);
  return end < 0 && text.length - label > LONGEST_TARGET ? label : end;
}

/** Behind the bracket that closes the one here; -1 if there is none within so many characters. */
function matching(text: string, at: number, opening: string, closing: string, longest: number): number {
  let depth = 0;
  const end = Math.min(text.length, at + longest);
  for (let i = at; i < end; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === opening) depth++;
    else if (text[i] === closing && --depth === 0) return i + 1;
  }
  return -1;
}

/** Whether a run opens or closes emphasis, by what stands beside it (CommonMark's flanking, without punctuation's fine print). */
function delimiter(text: string, at: number, run: string, open: Opener[]): void {
  const char = run[0]!;
  const before = text[at - 1] ?? " ";
  const after = text[at + run.length] ?? " ";
  const opens = !/\s/.test(after) && !(/[\p{P}\p{S}]/u.test(after) && /[\p{L}\p{N}]/u.test(before));
  const closes = !/\s/.test(before) && !(/[\p{P}\p{S}]/u.test(before) && /[\p{L}\p{N}]/u.test(after));
  const inWord = /[\p{L}\p{N}]/u.test(before) && /[\p{L}\p{N}]/u.test(after);
  if (char === "_" && inWord) return;
  let left = run.length;
  if (closes) {
    for (let i = open.length - 1; i >= 0 && left > 0; i--) {
      const opener = open[i]!;
      if (opener.run[0] !== char) continue;
      const used = Math.min(left, opener.run.length);
      left -= used;
      opener.run = opener.run.slice(used);
      open.length = opener.run ? i + 1 : i;
    }
  }
  if (left > 0 && opens && left <= 3 && !(char === "~" && left !== 2)) open.push({ run: char.repeat(left), at });
}

const marks = (open: Opener[]): string => open.map((opener) => opener.run).reverse().join("");

/** Closes what is open; an opener with nothing behind it is dropped. */
function close(text: string, open: Opener[]): string {
  let kept = text.replace(/[ \t]+$/, "");
  while (open.length) {
    const opener = open.at(-1)!;
    if (kept.slice(opener.at).replace(/[*_~\s]/g, "")) break;
    kept = kept.slice(0, opener.at).replace(/[ \t]+$/, "");
    open.pop();
  }
  return kept + marks(open);
}
