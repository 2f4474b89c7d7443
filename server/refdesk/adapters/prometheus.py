"""Figures in Prometheus's text format, with those of the process itself (CPU, memory, open files, start time).

Imported at the first scrape: counting needs nothing of it, and a start has no time for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from refdesk.domain.measures import SECONDS, Figure, Latencies

PREFIX = "refdesk_"
MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class Collected(Collector):
    """What was collected for one scrape."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def exposition(figures: Sequence[Figure], latencies: Mapping[str, Latencies]) -> tuple[bytes, str]:
    """The text of one scrape, and its media type. `latencies` by phase of a turn."""
    registry = CollectorRegistry(auto_describe=False)
    ProcessCollector(registry=registry)
    registry.register(Collected([*families(figures), histogram(latencies)]))
    return generate_latest(registry), MEDIA_TYPE


def families(figures: Sequence[Figure]) -> Iterator[Metric]:
    for figure in figures:
        kind = CounterMetricFamily if figure.counts else GaugeMetricFamily
        family = kind(PREFIX + figure.name, figure.help, labels=figure.labels)
        for sample in figure.samples:
            family.add_metric(sample.labels, sample.value)
        yield family


def histogram(latencies: Mapping[str, Latencies]) -> Metric:
    family = HistogramMetricFamily(
        f"{PREFIX}turn_seconds", "How long turns and their phases took, in seconds.", labels=["phase"]
    )
    bounds = [*(str(seconds) for seconds in SECONDS), "+Inf"]
    for phase, measured in latencies.items():
        buckets = list(zip(bounds, map(float, accumulate(measured.counts)), strict=True))
        family.add_metric([phase], buckets=buckets, sum_value=measured.sum)
    return family
