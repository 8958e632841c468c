"""What servers ask of the host."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest
from conftest import hostile_config, odd

import toolnexus
from toolnexus import Answer, Request


async def ask(wait_for: toolnexus._types.WaitFor, behaviour: str = "asks-elicitation") -> str:
    async with await toolnexus.load_mcp(hostile_config(behaviour, "--era", "legacy"), wait_for) as source:
        return str((await odd(source).execute()).output)


async def test_a_coroutine_answers_in_the_loop() -> None:
    asked: list[Request] = []

    async def wait_for(request: Request) -> Answer:
        asked.append(request)
        assert threading.current_thread() is threading.main_thread()
        return Answer(request.id, True, {"name": "Ada", "confirmed": True})

    assert "accept" in await ask(wait_for)
    assert asked[0].kind == "input"
    assert asked[0].server == "x"
    assert asked[0].prompt
    assert asked[0].data is not None
    assert asked[0].data["schema"]["properties"]


async def test_a_plain_function_answers_in_a_thread() -> None:
    def wait_for(request: Request) -> Answer:
        assert threading.current_thread() is not threading.main_thread()
        return Answer.decline()

    assert "decline" in await ask(wait_for)


async def test_a_url_is_an_authorization() -> None:
    asked: list[Request] = []

    async def wait_for(request: Request) -> Answer:
        asked.append(request)
        return Answer(request.id, True)

    assert "accept" in await ask(wait_for, "asks-elicitation-url")
    assert asked[0].kind == "authorization"
    assert asked[0].url


async def test_bad_answers_cancel(caplog: pytest.LogCaptureFixture) -> None:
    async def wrong_type(request: Request) -> Answer:
        return 7  # type: ignore[return-value]

    async def wrong_data(request: Request) -> Answer:
        return Answer.accept({"confirmed": "perhaps"})

    async def fails(request: Request) -> Answer:
        raise RuntimeError("the dialog broke")

    with caplog.at_level(logging.ERROR, "toolnexus"):
        for wait_for, said in ((wrong_type, "must return an Answer"), (wrong_data, "does not fit"), (fails, "dialog broke")):
            caplog.clear()
            assert "cancel" in await ask(wait_for)
            assert said in caplog.text


async def test_a_cancelled_call_cancels_its_question() -> None:
    asked, ended = asyncio.Event(), asyncio.Event()

    async def wait_for(request: Request) -> Answer:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return Answer(request.id, True)

    call = asyncio.create_task(ask(wait_for))
    await asked.wait()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    await asyncio.wait_for(ended.wait(), 60)
