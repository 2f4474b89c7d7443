// Which addresses a link may lead to. Everything else is shown as text.

const HIDDEN = /[\u0000-\u0020\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]/;

/** http, https or mailto, absolute; what starts with a single / is resolved against the server. Null for all else. */
export function safeUrl(href: string, server: string): string | null {
  if (HIDDEN.test(href.replace(/ /g, ""))) return null;
  const relative = /^\/(?![/\\])/.test(href);
  if (!relative && !/^(https?:\/\/|mailto:)/i.test(href)) return null;
  try {
    const url = new URL(href, relative ? server : undefined);
    if (url.username || url.password) return null;
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}
