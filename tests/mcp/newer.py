"""Drives `rye mcp` with the official Python client of the second major version, which asks first which
revision the server speaks.

    python tests/mcp/newer.py target/debug/rye
"""

import asyncio
import sys

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ElicitResult

from fixture import project


async def drive(client, path):
    """A whole session of either revision."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert {"rye_execute", "echo", "test_simple_text"} <= set(tools), tools
    result = await client.call_tool("echo", {"text": "hi"})
    assert result.structured_content == {"text": "hi"}, result
    arguments = {"item_id": "tool:nowhere", "project_path": path}
    result = await client.call_tool("rye_execute", arguments)
    assert result.is_error and result.structured_content["code"] == "resolve.not_found", result
    prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "one", "arg2": "two"})
    assert "arg1='one', arg2='two'" in prompt.messages[0].content.text, prompt
    page = await client.list_resources()
    assert str(page.resources[0].uri) == "rye://knowledge/note", page.resources[0]
    read = await client.read_resource("rye://knowledge/note")
    assert read.contents[0].text.endswith("A note.\n"), read
    try:
        await client.read_resource("rye://knowledge/nowhere")
    except MCPError:
        return
    raise AssertionError("a page that is not there was read")


async def decide(client, said):
    """A person at the client decides what a tool asks, in either revision."""
    for action, is_error in (("accept", False), ("decline", True)):
        said.append(action)
        result = await client.call_tool("asks", {"amount": 5})
        assert result.is_error == is_error and not said, result
        if action == "accept":
            assert result.content[0].text == "paid", result
        else:
            assert result.structured_content["code"] == "pending.rejected", result


async def main(rye):
    """Both revisions: what the client takes by itself, and what older ones speak."""
    with project(rye) as of:
        args = ["mcp", "--expose", "tool:*"]
        server = StdioServerParameters(command=str(of.rye), args=args, cwd=str(of.path), env=of.env)
        for mode, revision in (("auto", "2026-07-28"), ("legacy", "2025-11-25")):
            async with Client(stdio_client(server), mode=mode) as client:
                assert client.protocol_version == revision, (mode, client.protocol_version)
                await drive(client, str(of.path))
            print(f"{mode}: a whole session of {revision}")
        said = []

        async def person(_, question):
            assert "tool:asks" in question.message and "Pay?" in question.message, question
            return ElicitResult(action=said.pop(), content={})

        server.args.append("--approve-by-elicitation")
        for mode in ("auto", "legacy"):
            async with Client(stdio_client(server), mode=mode, elicitation_callback=person) as client:
                await decide(client, said)
            print(f"{mode}: a person at the client decided what a tool asks")


asyncio.run(asyncio.wait_for(main(sys.argv[1]), 300))
