"""Sentences that speak to a model instead of a reader: a text that gives orders is data here, but somebody should know.

Heuristics in English, Russian and Czech. An article *about* assistants mentions them in the third person ("the
assistant cites its sources", "write a system prompt"); what is flagged is an order, or a role given to "you". Code is
searched too, because there such a text hides well; comments reach no model."""

from __future__ import annotations

import re
from collections.abc import Iterator

_EARLIER = (
    r"(?:(?:all|any|the|your|these|of|every|previous|prior|above|earlier|preceding|foregoing|other|system)\s+){1,5}"
)
_PATTERNS = (
    # English
    rf"\b(?:ignore|disregard|forget|override|bypass)\s+{_EARLIER}(?:instructions?|prompts?|rules?|directions?|messages?|context|text)\b",
    r"\b(?:ignore|disregard|forget)\s+(?:everything|anything|all|what)\s+(?:that\s+)?(?:(?:was|is|you\s+were)\s+)?"
    r"(?:above|before|so\s+far|told|said|written\s+above)\b",
    r"\bignore\s+the\s+(?:above|foregoing|preceding)\b",
    r"(?:^|[.!?:>\-*]\s*)you\s+are\s+(?:now\s+)?(?:an?|the)\s+(?:\w+[\s-]){0,3}"
    r"(?:ai|llm|assistant|chatbot|language\s+model|bot)\b(?!\s+(?:admin|owner|user|developer|author))",
    r"\b(?:act|behave|respond|pretend|roleplay)\s+(?:as\s+if\s+you\s+(?:were|are)|as|to\s+be)\s+(?:an?|the)\s+(?:\w+\s+){0,2}"
    r"(?:ai|llm|assistant|chatbot|language\s+model|bot|dan)\b",
    r"^[\s>*_#-]*(?:system|assistant|ai|chatbot)[\s*_]*:[\s*_]*(?:ignore|disregard|forget|say|tell|answer|reply|respond|you|do|don['’]t"
    r"|never|always|from\s+now)\b",
    r"</?(?:system|assistant|instructions?|human)>|\[/?inst\]|<\|(?:im_start|im_end|system|endoftext)\|>",
    r"\b(?:do\s+not|don['’]t|never)\s+(?:tell|inform|mention\s+(?:this|it)\s+to|reveal\s+(?:this|it)\s+to|show\s+(?:this|it)\s+to)\s+"
    r"(?:the\s+)?(?:user|visitor|human|reader)s?\s*(?:about|that|this|of|anything|[.,!;]|$)",
    r"\b(?:reveal|print|repeat|output|show|leak)\s+(?:me\s+)?(?:your|the)\s+(?:(?:hidden|full|entire|secret|initial)\s+)*"
    r"(?:system\s+)(?:prompt|message|instructions)\b",
    r"\bfrom\s+now\s+on\b[^.\n]{0,40}\b(?:you\s+(?:are|will|must)|answer|respond|reply)\b[^.\n]{0,60}\b(?:as|only|always|with)\b",
    r"\b(?:ai|llm|language)\s+(?:models?|assistants?|agents?)\s+(?:reading|processing|parsing|summari[sz]ing)\s+this\b",
    r"\b(?:when|if)\s+(?:you\s+are\s+)?(?:asked|a\s+(?:user|visitor|customer)\s+asks)\b[^.\n]{0,80}\b(?:you\s+must|always|tell\s+(?:them|users?)"
    r"|say\s+that)\b",
    rf"\b(?:do\s+not|don['’]t|never)\s+(?:follow|obey)\s+(?:{_EARLIER}(?:instructions?|prompts?|rules?)\b"
    r"|the\s+(?:instructions?|rules?)\s+(?:above|before|you\s+were\s+given))",
    r"(?:^|[.!?:>\-*]\s*)(?:you\s+(?:must|should|will)\s+)?(?:answer|respond|reply)\s+(?:only|exclusively)\s+(?:in|with|as)\b",
    r"(?:^|[.!?:>\-*]\s*)(?:always\s+)?tell\s+(?:all\s+|the\s+|every\s+)?(?:users?|visitors?)\s+(?:to|that)\b",
    # Russian
    r"(?:^|[.!?:>\-*]\s*)(?:всегда\s+)?отвечай(?:те)?\s+(?:только|исключительно)\b",
    r"\b(?:игнорируй|проигнорируй|забудь|не\s+учитывай|отбрось)(?:те)?\s+(?:\w+\s+){0,3}(?:инструкци|указани|правил|промпт|сообщени|команд"
    r"|текст|сказанно)\w*",
    r"\b(?:игнорируй|проигнорируй|забудь)(?:те)?\s+(?:вс[её]|то),?\s+(?:что\s+)?(?:\w+\s+){0,2}(?:выше|ранее|раньше|до\s+этого|написано)",
    r"(?:^|[.!?:>\-*]\s*)(?:ты|вы)\s*(?:теперь\s*)?[—–-]?\s*(?:теперь\s+)?(?:\w+\s+){0,2}(?:ассистент|помощник|чат-?бот|бот|ии|нейросеть"
    r"|языковая\s+модель)\b",
    r"\bне\s+(?:говори|сообщай|рассказывай|показывай|раскрывай)(?:те)?\s+(?:об\s+этом\s+|это\s+|этого\s+)?"
    r"(?:пользовател|посетител|клиент|читател)\w+",
    r"\b(?:выведи|покажи|повтори|раскрой)(?:те)?\s+(?:\w+\s+){0,2}системн\w+\s+(?:промпт|сообщение|инструкци)\w*",
    r"^[\s>*_#-]*(?:система|ассистент|помощник|бот)[\s*_]*:[\s*_]*(?:игнорируй|забудь|скажи|ответь|отвечай|ты|не|всегда|никогда)",
    # Czech
    r"(?:^|[.!?:>\-*]\s*)(?:vždy\s+)?odpovídej(?:te)?\s+(?:pouze|jen|jenom|výhradně)\b",
    r"\b(?:ignoruj|zapomeň|přehlížej|nedbej|neber\s+ohled)(?:te)?\s+(?:na\s+)?(?:\w+\s+){0,3}(?:instrukc|pokyn|pravid|prompt|příkaz|zpráv|text)\w*",
    r"\b(?:ignoruj|zapomeň)(?:te)?\s+(?:na\s+)?(?:vše|všechno|to),?\s+(?:co\s+)?(?:\w+\s+){0,3}(?:výše|předtím|dříve|doposud|nad\s+tím)",
    r"(?:^|[.!?:>\-*]\s*)(?:teď\s+|nyní\s+)?(?:jsi|jste)\s+(?:teď\s+|nyní\s+)?(?:\w+\s+){0,2}(?:asistent|chatbot|bot|umělá\s+inteligence|ai"
    r"|jazykový\s+model)\b",
    r"\b(?:neříkej|nesděluj|neprozrazuj|neukazuj)(?:te)?\s+(?:to\s+|o\s+tom\s+)?(?:uživatel|návštěvník|zákazník|čtenář)\w*",
    r"\b(?:vypiš|ukaž|zopakuj|prozraď)(?:te)?\s+(?:\w+\s+){0,2}systémov\w+\s+(?:prompt|zpráv|pokyn|instrukc)\w*",
    r"^[\s>*_#-]*(?:systém|asistent|bot)[\s*_]*:[\s*_]*(?:ignoruj|zapomeň|řekni|odpověz|odpovídej|jsi|ne|vždy|nikdy)",
)  # fmt: skip
_ORDER = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.IGNORECASE)
_LONGEST_LINE = 20_000


def instructions(body: str) -> Iterator[tuple[str, int]]:
    """Each suspicious passage of text with its line in the body, from 1; at most one a line."""
    for number, line in enumerate(body.split("\n"), 1):
        matches = _ORDER.finditer(line[:_LONGEST_LINE])
        if match := next((match for match in matches if not _is_mentioned(line, match)), None):
            yield " ".join(match[0].split())[:120], number


def _is_mentioned(line: str, match: re.Match[str]) -> bool:
    """Quoted in the middle of a sentence, as a text about such orders does."""
    before = line[: match.start()].rstrip()
    return before.endswith(tuple('"“„«‘`')) and len(before.split()) > 2
