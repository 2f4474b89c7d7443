"""`refdesk eval --answer` and `--builtin`: the whole loop, with a scripted model and without one."""

from __future__ import annotations

import io

import pytest

from evaluation_parts import orchard, silent
from fake_model import Reply, call
from refdesk.domain.conversation import Usage
from refdesk.errors import SettingError
from refdesk.evaluation import scenarios
from refdesk.evaluation.answers import answer, answer_figures
from refdesk.evaluation.prices import Price, price_of, read_price
from refdesk.evaluation.questions import Question
from refdesk.evaluation.report import print_answers
from refdesk.terminal import Terminal

QUOTE = "Apple trees want sun and are pruned in late winter."


def answers(text: str, *claims: dict, outcome: str = "answered", **more) -> Reply:
    given = {"outcome": outcome, "claims": list(claims), "conflicts": [], "missing_information": [], "answer": text}
    return call("answer", {**given, **more})


def claim(quote: str = QUOTE, source: str = "apples") -> dict:
    return {"text": "Apple trees are pruned in late winter.", "kind": "fact", "source_id": source, "quote": quote}


async def figures_of(tmp_path, question: Question, *replies: Reply):
    async with orchard(tmp_path, replies=replies) as parts:
        return answer_figures(await answer([question], parts, silent), Price(1, 10))


APPLES = Question("When are apple trees pruned?", ("apples",))
PRUNED = answers("In late winter ([Growing apples](doc:apples)).", claim())


async def test_a_sourced_answer_counts_in_full(tmp_path):
    found = await figures_of(tmp_path, APPLES, PRUNED)
    assert (found.sourced, found.citation_precision, found.citation_recall, found.quotes_verified) == (1, 1, 1, 1)
    assert found.wrong_refusals == {"all": 0, "gate": 0, "model": 0}
    assert found.model_calls == 1
    assert found.tokens == {"input": 10, "output": 5, "cache_read": 0, "cache_write": 0}
    assert found.cost_usd == pytest.approx((10 + 50) / 1e6)
    assert found.faults == ()


async def test_precision_and_recall_are_of_articles(tmp_path):
    question = Question(APPLES.text, ("apples", "plums"))
    both = answers("In [winter](doc:apples), see [pears](doc:pears).", claim())
    opened = call("get_document", {"id": "pears"})
    found = await figures_of(tmp_path, question, opened, both)
    assert (found.citation_precision, found.citation_recall) == (0.5, 0.5)


async def test_quotes_that_are_not_there_are_counted(tmp_path):
    invented = answers("In [winter](doc:apples).", claim(), claim("Apple trees are never pruned at all."))
    found = await figures_of(tmp_path, APPLES, invented)
    assert found.quotes_verified == 0.5


async def test_wrong_refusals_say_who_refused(tmp_path):
    silent_model = answers("Nothing on that.", outcome="insufficient")
    by_model = await figures_of(tmp_path / "1", APPLES, silent_model)
    assert by_model.wrong_refusals == {"all": 1, "gate": 0, "model": 1}
    assert [(fault.status, fault.reason) for fault in by_model.faults] == [("insufficient", "model_insufficient")]
    far = Question("How many moons orbit distant Jupiter nowadays?", ("apples",))
    by_gate = await figures_of(tmp_path / "2", far, PRUNED)
    assert by_gate.wrong_refusals == {"all": 1, "gate": 1, "model": 0}
    assert by_gate.model_calls == 0


async def test_an_unanswerable_question_that_is_answered_is_a_fault(tmp_path):
    found = await figures_of(tmp_path, Question(APPLES.text, tag="near"), PRUNED)
    assert found.refused == {"all": 0, "near": 0}
    assert [fault.sources for fault in found.faults] == [("apples",)]
    assert found.sourced is None


async def test_a_model_that_fails_is_named(tmp_path):
    broken = Reply(PRUNED.blocks, breaks="overloaded")
    found = await figures_of(tmp_path, APPLES, broken)
    assert found.failures == {"overloaded": 1}
    assert found.sourced == 0
    out = io.StringIO()
    print_answers(found, Terminal(out, io.StringIO()))
    assert "overloaded" in out.getvalue()


async def test_every_question_is_asked_with_its_own_roles(tmp_path):
    partner = Question("What do wholesale crates cost?", ("prices",), roles=frozenset({"public", "partner"}))
    quote = {**claim("Wholesale crates cost nine crowns.", "prices"), "text": "A crate costs nine crowns."}
    reply = answers("Nine crowns ([Wholesale](doc:prices)).", quote)
    async with orchard(tmp_path, replies=[reply]) as parts:
        questions = [partner, Question(partner.text), partner]
        shown = [one.sources for one in await answer(questions, parts, silent)]
    assert shown == [("prices",), (), ("prices",)]


# --- prices ---


def test_prices_are_found_by_name_and_overruled_by_hand():
    assert price_of("claude-haiku-4-5-20251001") == price_of("claude-haiku-4-5") == Price(1, 5)
    assert price_of("somebody-else-7") is None
    assert read_price("0.1/2") == Price(0.1, 2)
    usage = Usage(input_tokens=1000, output_tokens=100, cache_read_tokens=10_000, cache_write_tokens=400)
    assert Price(1, 10).cost(usage) == pytest.approx((1000 + 1000 + 500 + 1000) / 1e6)


@pytest.mark.parametrize("text", ["", "1", "1/2/3", "a/b", "-1/2", "nan/1", "inf/1"])
def test_what_is_no_price_is_refused(text):
    with pytest.raises(SettingError, match="--price"):
        read_price(text)


# --- the built-in scenarios ---


async def played(tmp_path, *replies: Reply):
    scenarios.write_corpus(tmp_path / "corpus")
    async with orchard(tmp_path, tmp_path / "corpus", replies) as parts:
        return await scenarios.play(parts, Terminal(io.StringIO(), io.StringIO()))


async def test_the_scenarios_pass_without_a_model(tmp_path):
    assert [outcome for outcome in await played(tmp_path) if not outcome.passed] == []


async def test_a_model_that_states_nothing_fails_them(tmp_path):
    outcomes = await played(tmp_path, answers("It is so."))
    assert [outcome.scenario for outcome in outcomes if outcome.passed] == ["an absent fact"]


async def test_a_model_that_answers_well_passes(tmp_path):
    def fact(source: str, quote: str) -> dict:
        return {"text": quote, "kind": "fact", "source_id": source, "quote": quote}

    def linked(source: str, quote: str) -> Reply:
        return answers(f"{quote} ([more](doc:{source}))", fact(source, quote))

    sides = [
        {"source_id": "refunds", "quote": "A refund can be requested within 14 days after the purchase."},
        {"source_id": "orders", "quote": "A refund can be requested within 30 days after the\npurchase."},
    ]
    conflict = [{"topic": "Refunds", "positions": sides, "criterion": "date"}]
    outcomes = await played(
        tmp_path,
        linked("exports", "The finished export is\nkept for 45 days"),
        answers(
            "14 or 30 days: [one](doc:refunds), [other](doc:orders).",
            fact("refunds", sides[0]["quote"]),
            conflicts=conflict,
        ),
        linked("uploads", "A single picture may have up to 200 MB."),
        linked("uploads", "A single picture may have up to 350 MB."),
    )
    assert [outcome for outcome in outcomes if not outcome.passed] == []
