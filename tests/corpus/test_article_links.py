from __future__ import annotations

from pathlib import Path

import pytest
from folders import article, front, write

from refdesk.corpus.images import images_of, read_image
from refdesk.corpus.links import ArticleIndex, article_link
from refdesk.corpus.sync import read_corpus

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write(
        tmp_path / "corpus",
        {
            "start/one.md": '![a](../img/a.png) ![b](<../img/b c.PNG> "t") [c](c.svg)\n\n'
            "![e](e&amp;f\\_g.png) ![d][r]\n\n[r]: /img/d.jpg",
            "billing/refunds.md": front(id="refund-window", redirect_from="[refunds-old]") + "x",
            "billing/index.md": front(id="billing", url="https://help.test/billing") + "x",
            "with space.md": "x",
            "img/a.png": PNG,
            "img/b c.PNG": PNG,
            "img/secret.png": PNG,
            "start/c.svg": b"<svg/>",
        },
    )


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("../billing/refunds.md#part", "refund-window"),
        ("/billing/refunds.md", "refund-window"),
        ("../billing/refunds", "refund-window"),
        ("../billing/", "billing"),
        ("../billing", "billing"),
        ("/articles/refund-window", "refund-window"),
        ("/articles/refunds-old?x#y", "refund-window"),
        ("refund-window", "refund-window"),
        ("https://help.test/billing", "billing"),
        ("../with%20space.md", "with-space"),
        ("./one.md", "start-one"),
        ("../../corpus/billing/refunds.md", None),
        ("//billing/refunds.md", None),
        ("https://evil.test/billing/refunds.md", None),
        ("..\\billing\\refunds.md", None),
        ("/articles/refund-windo", None),
        ("gone.md", None),
        ("#part", None),
        ("", None),
    ],
)
def test_where_a_link_leads(corpus: Path, target: str, found: str | None):
    index = ArticleIndex(read_corpus(corpus).articles)
    linked = article_link(target, "start/one.md", index)
    assert (linked.id if linked else None) == found


def test_pictures_of_an_article(corpus: Path):
    found = article(read_corpus(corpus), "start-one")
    assert images_of(found) == {"img/a.png", "img/b c.PNG", "start/c.svg", "img/d.jpg", "start/e&f_g.png"}


def test_pictures_come_from_the_folder_only(corpus: Path, tmp_path: Path):
    (tmp_path / "outside.png").write_bytes(PNG)
    (corpus / "img" / "link.png").symlink_to(tmp_path / "outside.png")
    (corpus / "img" / "inner.png").symlink_to("a.png")
    (corpus / ".hidden").mkdir()
    (corpus / ".hidden" / "x.png").write_bytes(PNG)
    image = read_image(corpus, "img/a.png")
    assert image is not None
    assert (image.data, image.media_type) == (PNG, "image/png")
    assert read_image(corpus, "img/b c.PNG") is not None
    assert read_image(corpus, "img/inner.png") is not None
    for path in (
        "img/link.png", "../outside.png", "img/../../outside.png", "/etc/passwd", "img/none.png", "start/one.md",
        "help-center.toml", ".hidden/x.png", "img", "", "img/a.png\0.png", "file:///etc/x.png", "img//a.png",
        "img\\a.png", "img/%2e%2e/a.png",
    ):  # fmt: skip
        assert read_image(corpus, path) is None
