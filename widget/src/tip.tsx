// What a source says, shown while its chip or link is pointed at or has the focus. Escape takes it away.

import { useLayoutEffect, useRef } from "preact/hooks";
import { words } from "./copying.ts";
import type { Surroundings } from "./parts.tsx";
import { fill, formatDate } from "./strings.ts";
import type { Source } from "./wire.ts";

export interface TipTarget {
  link: HTMLAnchorElement;
  source: Source;
  quotes: string[];
  section: string;
}

const MOST_QUOTES = 3;

export function Tip({ around, target }: { around: Surroundings; target: TipTarget }) {
  const tip = useRef<HTMLDivElement>(null);
  const { strings, language } = around;
  const { source, quotes, section, link } = target;
  useLayoutEffect(() => {
    const box = tip.current!;
    const panel = box.parentElement!.getBoundingClientRect();
    const at = link.getBoundingClientRect();
    // above rather than below: what stands below a chip are buttons
    const above = at.top - panel.top - box.offsetHeight;
    box.style.top = `${above > 4 ? above : at.bottom - panel.top}px`;
    box.style.left = `${Math.max(8, Math.min(at.left - panel.left, panel.width - box.offsetWidth - 12))}px`;
    link.setAttribute("aria-describedby", "refdesk-tip");
    return () => link.removeAttribute("aria-describedby");
  }, [target]);
  return (
    <div class="tip" id="refdesk-tip" role="tooltip" part="tip" ref={tip}>
      <strong dir="auto">{source.title}</strong>
      {section && <p class="small">{fill(strings.section, section)}</p>}
      {quotes.length > 0 && <p class="small">{strings.fromArticle}</p>}
      {quotes.slice(0, MOST_QUOTES).map((quote) => (
        <blockquote key={quote} dir="auto" lang={source.language}>
          {words(quote)}
        </blockquote>
      ))}
      {source.updated_at && <p class="small">{fill(strings.updated, formatDate(source.updated_at, language))}</p>}
    </div>
  );
}
