"""Pictures of articles: only image files, only from inside the corpus folder, only those that an article shows.

The last point is about access: a picture belongs to the articles that show it, so whoever may not read any of them
must not get it by guessing its path."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import msgspec

from refdesk.corpus.files import corpus_root, inside, read_bytes
from refdesk.corpus.links import corpus_path, written_targets
from refdesk.domain.articles import Article
from refdesk.errors import CorpusError

MAX_IMAGE_BYTES = 10 * 1024 * 1024
MEDIA_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".svg": "image/svg+xml",
}
IMAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "X-Content-Type-Options": "nosniff",
}
"""To be sent with every picture. An SVG opened by itself is a page: without a sandbox its scripts would run as ours."""


class Image(msgspec.Struct, frozen=True):
    data: bytes
    media_type: str


def image_path(target: str, from_path: str) -> str | None:
    """A target written in an article as a path from the corpus folder, if it can be a picture of the corpus."""
    path = corpus_path(target, from_path)
    if path is None or PurePosixPath(path).suffix.lower() not in MEDIA_TYPES:
        return None
    return None if any(part.startswith(".") for part in path.split("/")) else path


def images_of(article: Article) -> frozenset[str]:
    """Paths from the corpus folder of the pictures that the article shows or links to."""
    targets = (image_path(target, article.path) for target, _ in written_targets(article.body))
    return frozenset(path for path in targets if path)


def read_image(folder: Path, path: str) -> Image | None:
    """`path` as from `images_of`. None for what does not exist, is no image, too large or outside the folder."""
    if image_path(path, "") != path:
        return None
    try:
        real = inside(corpus_root(folder), path)
        return Image(read_bytes(real, MAX_IMAGE_BYTES).data, MEDIA_TYPES[PurePosixPath(path).suffix.lower()])
    except CorpusError:
        return None
