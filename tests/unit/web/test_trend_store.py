"""The store of trends: resolutions, restarts, gaps, a damaged file, a clock that is set, and the size of a year."""

from __future__ import annotations

import asyncio
import logging
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from daemons.web.trends.trend_store import RESOLUTIONS, TrendStore, series_name

NOW = 1_800_000_000.0  # the begin of an hour
MINUTE, HOUR, DAY = 60, 3600, 86_400
ALL_Q = series_name("queue", "all.q")
MAX_BYTES = 200_000_000
"""Of 360 days of 1,000 hosts."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trends.db"


def keep(store: TrendStore, samples: Mapping[float, Sequence[float]], close: bool = True) -> None:
    """Take samples of the queue at these times."""

    async def take() -> None:
        for now, values in samples.items():
            await store.add(now, {ALL_Q: values})
        if close:
            await store.close()

    asyncio.run(take())


def read(store: TrendStore, span_s: float, now: float, series: str = ALL_Q) -> Any:
    return asyncio.run(store.read(series, span_s, now))


def used(store: TrendStore, span_s: float, now: float) -> dict[int, float]:
    """The samples of used slots, by time."""
    trend = read(store, span_s, now)
    return {time: value for time, value in zip(trend.times, trend.values["used"], strict=True) if value is not None}


def test_a_sample_is_read_before_it_is_written_and_after_a_restart(path: Path) -> None:
    store = TrendStore(path)
    keep(store, {NOW: (3, 8), NOW + 70: (4, 8)}, close=False)
    assert used(store, DAY, NOW + 90) == {NOW: 3, NOW + MINUTE: 4}
    asyncio.run(store.close())
    assert used(TrendStore(path), DAY, NOW + 90) == {NOW: 3, NOW + MINUTE: 4}
    trend = read(TrendStore(path), DAY, NOW + 90)
    assert (trend.step_s, trend.values["total"]) == (60, [8, 8])


def test_samples_before_a_restart_stay_in_the_same_hour(path: Path) -> None:
    keep(TrendStore(path), {NOW: (1, 8), NOW + MINUTE: (3, 8)})
    store = TrendStore(path)
    keep(store, {NOW + 2 * MINUTE: (5, 8)})
    assert used(store, DAY, NOW + HOUR) == {NOW: 1, NOW + MINUTE: 3, NOW + 2 * MINUTE: 5}
    assert used(store, 7 * DAY, NOW + HOUR) == {NOW: 3}, "the mean of the ten minutes"


def test_each_span_has_the_means_of_its_resolution(path: Path) -> None:
    store = TrendStore(path)
    keep(store, {NOW + minute * MINUTE: (minute, 100) for minute in range(120)})
    assert used(store, DAY, NOW + 2 * HOUR)[int(NOW) + 61 * MINUTE] == 61
    assert used(store, 7 * DAY, NOW + 2 * HOUR) == {int(NOW) + at * 600: at * 10 + 4.5 for at in range(12)}
    assert used(store, 30 * DAY, NOW + 2 * HOUR) == {NOW: 29.5, NOW + HOUR: 89.5}
    six_hours = int(NOW) // 21_600 * 21_600
    assert used(store, 360 * DAY, NOW + 2 * HOUR) == {six_hours: 59.5}


def test_a_gap_has_no_values_and_begins_no_axis(path: Path) -> None:
    store = TrendStore(path)
    keep(store, {NOW: (1, 8), NOW + 3 * MINUTE: (2, 8)})
    trend = read(store, DAY, NOW + HOUR)
    assert trend.times == [NOW + minute * MINUTE for minute in range(4)]
    assert trend.values["used"] == [1, None, None, 2]
    assert read(store, DAY, NOW + HOUR, series_name("host", "h1")).times == []


def test_a_value_that_is_unknown_is_none_and_not_part_of_a_mean(path: Path) -> None:
    store = TrendStore(path)
    keep(store, {NOW: (float("nan"), 8), NOW + MINUTE: (6, 8)})
    assert read(store, DAY, NOW + HOUR).values["used"] == [None, 6]
    assert read(store, 7 * DAY, NOW + HOUR).values["used"] == [6]


def test_samples_are_written_every_ten_minutes(path: Path) -> None:
    store = TrendStore(path)
    keep(store, {NOW + minute * MINUTE: (minute, 8) for minute in range(10)}, close=False)
    assert used(TrendStore(path), DAY, NOW + HOUR) == {}
    keep(store, {NOW + 10 * MINUTE: (10, 8)}, close=False)
    assert len(used(TrendStore(path), DAY, NOW + HOUR)) == 10


def test_old_samples_make_way(path: Path) -> None:
    store = TrendStore(path)
    keep(store, {NOW + day * DAY: (day, 8) for day in range(0, 500, 5)})
    now = NOW + 495 * DAY
    assert [min(used(store, span * DAY, now)) for span in (1, 7, 30, 360)] == [
        int(now - ago * DAY) // step * step for ago, step in ((0, 60), (5, 600), (25, 3600), (355, 21_600))
    ]
    assert len(used(store, 10_000 * DAY, now)) <= 2 * RESOLUTIONS[-1].chunks


def test_a_damaged_file_is_put_aside_and_begun_anew(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    keep(TrendStore(path), {NOW: (1, 8)})
    path.write_bytes(b"no database" * 1000)
    store = TrendStore(path)
    with caplog.at_level(logging.ERROR):
        keep(store, {NOW + MINUTE: (2, 8)}, close=False)
        asyncio.run(store.save())
    assert used(TrendStore(path), DAY, NOW + HOUR) == {NOW + MINUTE: 2}
    assert path.with_name("trends.db.damaged").read_bytes().startswith(b"no database")
    assert f"{path} is damaged" in caplog.text and "Traceback" not in caplog.text


def test_pages_of_the_file_that_are_lost_are_noticed_while_it_is_in_use(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    hosts = {series_name("host", f"h{number}"): (0.5, 0.5, 1) for number in range(200)}

    async def play() -> None:
        store = TrendStore(path)
        await store.add(NOW, hosts)
        await store.close()
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(bytes(range(256)) * 400)
        await store.add(NOW + HOUR, hosts)
        await store.save()
        await store.save()

    asyncio.run(play())
    assert "is damaged" in caplog.text
    assert read(TrendStore(path), DAY, NOW + 2 * HOUR, series_name("host", "h1")).times == [NOW + HOUR]


def test_a_disk_that_refuses_is_logged_once_and_trends_stay_in_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    store = TrendStore(tmp_path / "file" / "trends.db")
    keep(store, {NOW + minute * MINUTE: (minute, 8) for minute in range(30)})
    assert len(used(store, DAY, NOW + HOUR)) == 30
    assert caplog.text.count("cannot keep trends") == 1


def test_without_a_file_trends_last_for_the_hour(tmp_path: Path) -> None:
    store = TrendStore()
    keep(store, {NOW: (1, 8)})
    assert used(store, DAY, NOW + MINUTE) == {NOW: 1}
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_private(path: Path) -> None:
    keep(TrendStore(path), {NOW: (1, 8)})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("wrong", [NOW + 3650 * DAY, 86_400.0])
def test_a_clock_that_was_wrong_for_a_while_loses_little(path: Path, wrong: float) -> None:
    store = TrendStore(path)
    right = {NOW + hour * HOUR: (hour + 1.0, 8.0) for hour in range(30)}
    keep(store, right, close=False)
    keep(store, {wrong + minute * MINUTE: (99.0, 8.0) for minute in range(5)}, close=False)
    keep(store, {NOW + 30 * HOUR + minute * HOUR: (7.0, 8.0) for minute in range(3)})
    shown = used(store, DAY, NOW + 32 * HOUR)
    assert len(shown) >= 22 and 99 not in shown.values()
    assert len(used(store, 360 * DAY, NOW + 32 * HOUR)) >= 5


def test_samples_of_a_clock_that_was_ahead_for_long_make_way_for_present_ones(path: Path) -> None:
    store = TrendStore(path)
    keep(store, {NOW + 3650 * DAY + hour * HOUR: (99.0, 8.0) for hour in range(40)}, close=False)
    keep(store, {NOW + hour * HOUR: (hour + 1.0, 8.0) for hour in range(3)})
    assert used(TrendStore(path), DAY, NOW + 3 * HOUR) == {NOW: 1, NOW + HOUR: 2, NOW + 2 * HOUR: 3}


def test_a_clock_set_back_within_the_hour_replaces_samples(path: Path) -> None:
    store = TrendStore(path)
    keep(store, {NOW: (1, 8), NOW + 5 * MINUTE: (2, 8), NOW + MINUTE: (3, 8), NOW + 1: (4, 8)})
    assert used(store, DAY, NOW + HOUR) == {NOW: 4, NOW + MINUTE: 3, NOW + 5 * MINUTE: 2}


def test_a_year_of_a_hundred_hosts_takes_a_tenth_of_the_promised_size(path: Path) -> None:
    """A chunk has its size from its first sample on, so one sample for each kept chunk makes the file as large as it becomes."""
    store = TrendStore(path)
    hosts = {series_name("host", f"node{number:04d}.cluster.example.org"): (0.5, 0.25, 8) for number in range(100)}
    spans = sorted({each.chunk_s * ago for each in RESOLUTIONS for ago in range(each.chunks + 1)}, reverse=True)

    async def fill() -> None:
        for ago in spans:
            await store.add(NOW - ago, hosts)
        await store.close()

    asyncio.run(fill())
    size = path.stat().st_size
    assert 4_000_000 < size < MAX_BYTES / 10
    for span in (1, 7, 30, 360):
        assert read(TrendStore(path), span * DAY, NOW, next(iter(hosts))).times
