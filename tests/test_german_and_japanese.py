"""Articles and questions in languages that the built-in off-topic questions do not speak: German, and Japanese, which
puts no spaces between words. Found and let through by words alone, and with vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refdesk.cli import main

GERMAN = {
    "rechnung": ("Rechnungen herunterladen", "Öffnen Sie Abrechnung. Jede Rechnung liegt dort als PDF bereit."),
    "passwort": ("Passwort zurücksetzen", "Wählen Sie auf der Anmeldeseite den Link. Die E-Mail gilt eine Stunde."),
    "mitglieder": ("Teammitglieder einladen", "Administratoren laden neue Personen über die Einstellungen ein."),
    "sicherung": ("Sicherungskopien", "Jede Nacht wird eine Kopie aller Daten angelegt und dreißig Tage aufbewahrt."),
    "kuendigung": ("Tarif kündigen", "Eine Kündigung wird zum Ende des bezahlten Zeitraums wirksam."),
}
JAPANESE = {
    "seikyu": ("請求書をダウンロードする", "「お支払い」を開いて月を選びます。請求書はPDFで保存できます。"),
    "pasuwado": ("パスワードを再設定する", "ログイン画面の下のリンクを選びます。メールの有効期限は一時間です。"),
    "menba": ("メンバーを招待する", "管理者はワークスペースの設定から新しい人を招待できます。"),
    "bakkuappu": ("バックアップ", "毎晩すべてのデータの写しを作り、三十日間保存します。"),
    "kaiyaku": ("プランを解約する", "解約は支払い済みの期間の終わりに有効になります。"),
}
QUESTIONS = {
    "Wo finde ich die Rechnung vom letzten Monat?": "rechnung",
    "Ich habe mein Passwort vergessen": "passwort",
    "Wie lade ich ein neues Mitglied in das Team ein?": "mitglieder",
    "Wie lange werden Kopien der Daten aufbewahrt?": "sicherung",
    "Wann wird meine Kündigung wirksam?": "kuendigung",
    "先月の請求書はどこにありますか": "seikyu",
    "パスワードを忘れました": "pasuwado",
    "新しいメンバーをチームに招待したい": "menba",
    "データのバックアップは何日保存されますか": "bakkuappu",
    "解約はいつ有効になりますか": "kaiyaku",
}
OFF_TOPIC = ["Wie hoch ist der Eiffelturm in Paris?", "富士山の高さはどのくらいですか"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "help-center.toml").write_text('name = "Hilfe"\nlanguages = ["de", "ja"]\n', "utf-8")
    for language, articles in (("de", GERMAN), ("ja", JAPANESE)):
        for name, (title, body) in articles.items():
            text = f"---\nid: {name}\ntitle: {title}\nlanguage: {language}\n---\n\n{body}\n"
            (corpus / f"{name}.md").write_text(text, "utf-8")
    lines: list[dict[str, Any]] = [{"question": text, "articles": [name]} for text, name in QUESTIONS.items()]
    lines += [{"question": text, "articles": []} for text in OFF_TOPIC]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return tmp_path


@pytest.mark.parametrize("dense", ["off", "on"])
def test_german_and_japanese_are_found_and_judged(
    folder: Path, dense: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REFDESK_DENSE", dense)
    where = ["--corpus", str(folder / "corpus"), "--data", str(folder / "data")]
    assert main(["eval", str(folder / "questions.jsonl"), *where, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["misses"] == []
    assert found["recall"]["1"] >= 0.9
    assert found["answered"] >= 0.9
    assert found["refused"]["all"] == 1.0
