// The operator's way to a person: a link, a mail, or an address that takes the transcript, each only with consent.

import { useState } from "preact/hooks";
import { transcript } from "./copying.ts";
import type { Surroundings } from "./parts.tsx";
import { safeUrl } from "./urls.ts";

/** Mail programs cut longer addresses off. */
const LONGEST_MAIL = 1500;

type Stage = "closed" | "asking" | "sent" | "notSent";

export function Person({ around }: { around: Surroundings }) {
  const { contact, strings, server } = around;
  const [stage, setStage] = useState<Stage>("closed");
  const url = safeUrl(contact.url ?? "", server);
  const callback = safeUrl(contact.callback ?? "", server);
  const mail = contact.mail ? safeUrl(`mailto:${contact.mail}`, server) : null;
  if (!url && !mail && !callback) return null;
  if (stage === "sent") return <p role="status">{strings.sent}</p>;
  if (!mail && !callback) return <OutLink class="plain person" href={url!} text={strings.person} />;
  if (stage === "closed" || stage === "notSent") {
    return (
      <div>
        {stage === "notSent" && <p class="bad" role="status">{strings.notSent}</p>}
        <button type="button" class="plain person" onClick={() => setStage("asking")}>
          {strings.person}
        </button>
      </div>
    );
  }
  const turns = around.chat.state.messages.map((message) => message.turn);
  const text = transcript(turns);
  const send = async () => setStage((await handOver(callback!, turns.at(-1)?.conversation_id ?? "", text)) ? "sent" : "notSent");
  const without = url ?? mail;
  return (
    <div class="box" role="group" aria-label={strings.person}>
      <p>{strings.consent}</p>
      <div class="row">
        {callback ? (
          <button type="button" class="plain" onClick={() => void send()}>
            {strings.consentYes}
          </button>
        ) : (
          <OutLink class="plain" href={`${mail}?body=${encodeURIComponent(text.slice(-LONGEST_MAIL))}`} text={strings.consentMail} />
        )}
        {without && <OutLink class="plain" href={without} text={strings.consentNo} />}
        <button type="button" class="plain" onClick={() => setStage("closed")}>
          {strings.cancel}
        </button>
      </div>
    </div>
  );
}

function OutLink(props: { class: string; href: string; text: string }) {
  const mail = props.href.startsWith("mailto:");
  return (
    <a class={props.class} href={props.href} target={mail ? undefined : "_blank"} rel="noopener noreferrer">
      {props.text}
    </a>
  );
}

async function handOver(address: string, conversation: string, text: string): Promise<boolean> {
  const page = location.origin + location.pathname;
  try {
    const response = await fetch(address, {
      method: "POST",
      credentials: "omit",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ conversation_id: conversation, page, transcript: text }),
    });
    return response.ok;
  } catch {
    return false;
  }
}
