"""A subscription: order, the limit, the wake-up of its reader, the heartbeat, and both ways to end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from daemons.runtime.subscription import Subscription

PATIENCE_S = 10.0
"""Only a broken subscription is waited for so long."""


def read(subscription: Subscription[str], count: int | None = None, *steps: Callable[[], object]) -> list[str]:
    """The next `count` items, all of a closed one. Each step is taken while the reader waits."""

    async def play() -> list[str]:
        items: list[str] = []

        async def take() -> None:
            async for item in subscription:
                items.append(item)
                if len(items) == count:
                    break

        async with asyncio.timeout(PATIENCE_S):
            reader = asyncio.ensure_future(take())
            for step in steps:
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                step()
            await reader
        return items

    return asyncio.run(play())


def test_items_come_in_the_order_of_their_publication() -> None:
    subscription: Subscription[str] = Subscription()
    assert subscription.publish("a", "b") and subscription.publish("c")
    assert read(subscription, 3) == ["a", "b", "c"]


def test_an_item_wakes_a_reader_that_waits() -> None:
    subscription: Subscription[str] = Subscription()
    assert read(subscription, 2, lambda: subscription.publish("late"), lambda: subscription.publish("later")) == ["late", "later"]


def test_the_end_wakes_a_reader_that_waits() -> None:
    subscription: Subscription[str] = Subscription()
    assert read(subscription, None, subscription.close) == []


def test_as_many_items_as_the_limit_may_wait_and_one_more_closes() -> None:
    subscription: Subscription[str] = Subscription(3)
    assert subscription.publish("a", "b", "c")
    assert not subscription.publish("d")
    assert not subscription.publish("e"), "nothing follows the gap"
    assert read(subscription) == ["a", "b", "c"]


def test_only_unread_items_count_towards_the_limit() -> None:
    subscription: Subscription[str] = Subscription(2)
    for _ in range(3):
        assert subscription.publish("a", "b")
        assert read(subscription, 2) == ["a", "b"]


def test_a_batch_is_cut_at_the_limit() -> None:
    subscription: Subscription[str] = Subscription(2)
    assert not subscription.publish("a", "b", "c")
    assert read(subscription) == ["a", "b"]


@pytest.mark.parametrize(("discard", "rest"), [(False, ["a", "b"]), (True, [])])
def test_unread_items_come_before_the_end_unless_they_are_discarded(discard: bool, rest: list[str]) -> None:
    subscription: Subscription[str] = Subscription()
    subscription.publish("a", "b")
    subscription.close(discard=discard)
    assert not subscription.publish("c")
    assert read(subscription) == rest


def test_a_reader_gets_heartbeats_while_nothing_is_published() -> None:
    subscription = Subscription(heartbeat=(0.001, "here"))
    subscription.publish("a")
    assert read(subscription, 3) == ["a", "here", "here"]


def test_an_item_comes_before_the_heartbeat_is_due() -> None:
    subscription = Subscription(heartbeat=(2 * PATIENCE_S, "here"))
    assert read(subscription, None, lambda: subscription.publish("a"), subscription.close) == ["a"]
