"""Drives `rye mcp` with the official Python client, over both transports.

    python tests/mcp/session.py target/debug/rye

Every tool is listed and called; whatever comes back is read into the types of the protocol, and what is
structured is held against the schema of its tool.
"""

import asyncio
import sys

import jsonschema
from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import ElicitResult

from fixture import ASKING, SCRIPTS, project

# Finds, describes, runs five at once, hands one result to the next call, and catches what fails.
SNIPPET = """
const found = (await searchTools("list folder", 5)).hits.map(hit => hit.item_id);
const told = await describeTool("rye/file-system/list", "schema");
const folders = [".", ".ai", ".ai/tools", ".ai/knowledge", ".ai/tools"];
const five = await Promise.all(folders.map(path => runTool(told.item_id, {path})));
const chain = await runChain([
    {tool_id: "rye/file-system/glob", args: {pattern: ".ai/tools/echo.*"}},
    {tool_id: "rye/file-system/read", use_previous: true, previous_path: "/paths/0", previous_as: "path"},
]);
let failed;
try { await runTool("rye/file-system/read", {path: "none"}) } catch (error) { failed = error.code }
println("done");
__out = {found, counts: five.map(one => one.entries.length), read: chain.value.content.slice(-4), failed};
"""

OWN = ["rye_execute", "rye_fetch", "rye_search", "rye_describe", "rye_verify", "rye_thread",
       "rye_code", "rye_run_chain", "rye_sign"]
ARGS = ["--expose", "tool:*", "--allow-sign"]


async def own(session, tools, path):
    """The tools of rye itself."""
    async def call(name, is_error=False, **arguments):
        result = await session.call_tool(name, {"project_path": path, **arguments})
        assert result.isError == is_error, result
        jsonschema.validate(result.structuredContent, tools[name].outputSchema)
        return result.structuredContent

    said = await call("rye_execute", item_id="tool:echo", parameters={"text": "hi"})
    assert said["data"] == {"text": "hi"}, said
    said = await call("rye_execute", item_id="tool:echo", dry_run=True, trace=True)
    assert said["status"] == "validation_passed" and said["trace"], said
    said = await call("rye_execute", item_id="tool:nowhere", is_error=True)
    assert said["code"] == "resolve.not_found" and said["help"], said
    said = await call("rye_execute", item_id="tool:echo", project_path="/", is_error=True)
    assert said["code"] == "mcp.outside_roots", said
    said = await call("rye_fetch", item_id="knowledge:note")
    assert said["content"].endswith("A note.\n"), said
    for name in ("rye_search", "rye_fetch"):
        said = await call(name, query="note", kind="knowledge", space="project")
        assert [hit["item_id"] for hit in said["hits"]] == ["knowledge:note"], said
    said = await call("rye_describe", item_id="tool:json_schema_2020_12_tool", level="full")
    assert said["item_id"] == "tool:json_schema_2020_12_tool", said
    said = await call("rye_describe", item_id="tool:nowhere", is_error=True)
    said = await call("rye_verify")
    assert said["status"] == "verified" and said["verified"] > 50, said
    assert said["verified"] == len(said["items"]) + said.get("left_out", 0), said
    code = "println('hi'); const t = await searchTools('echo', 3); __out = t.hits.map(h => h.item_id)"
    said = await call("rye_code", code=code)
    assert "tool:echo" in said["value"] and said["stdout"] == "hi\n", said
    said = await call("rye_code", code=SNIPPET)
    value, calls = said["value"], said["tool_calls"]
    assert "tool:rye/file-system/list" in value["found"] and value["read"] == "cat\n", said
    assert len(value["counts"]) == 5 and all(value["counts"]) and value["counts"][2] == value["counts"][4], said
    assert value["failed"] == "execute.tool_failed" and said["stdout"] == "done\n", said
    assert len(calls) == 10 and said["limits"]["used"]["tool_calls"] == 8, said
    assert [call["tool_id"] for call in calls if call["error"]] == ["rye/file-system/read"], said
    assert all(call["started_ms"] + call["duration_ms"] <= said["duration_ms"] + 1 for call in calls), said
    said = await call("rye_code", code="for (;;) {}", engine_ms=200, is_error=True)
    assert said["error"]["code"] == "code.limit_exceeded", said
    said = await call("rye_run_chain", steps=[{"tool_id": "echo"}])
    assert said["status"] == "pending" and said["pending"]["item_id"] == "tool:echo", said
    said = await call("rye_sign", item_id="knowledge:note")
    assert said["status"] == "confirmation_required", said
    said = await call("rye_sign", item_id="knowledge:note", confirm_digest=said["confirm_digest"])
    assert said["status"] == "signed", said


async def shown(session, logged):
    """Items that are shown as tools."""
    for name in SCRIPTS:
        result = await session.call_tool(name, {"text": "hi"})
        assert result.isError == (name == "test_error_handling"), result
        assert result.content, result
    result = await session.call_tool("json_schema_2020_12_tool", {"name": "x"})
    assert result.structuredContent == {"name": "x"}, result
    result = await session.call_tool("json_schema_2020_12_tool", {"other": "x"})
    assert result.structuredContent["code"] == "plan.invalid_parameters", result
    assert "Tool processing data" in [message.data for message in logged], logged


async def lists(session):
    """Prompts and resources."""
    prompts = {prompt.name: prompt for prompt in (await session.list_prompts()).prompts}
    assert [a.name for a in prompts["test_prompt_with_arguments"].arguments] == ["arg1", "arg2"]
    arguments = {"arg1": "one", "arg2": "two"}
    prompt = await session.get_prompt("test_prompt_with_arguments", arguments)
    assert "arg1='one', arg2='two'" in prompt.messages[0].content.text, prompt
    uris, cursor = [], None
    while True:
        page = await session.list_resources(cursor)
        uris += [str(resource.uri) for resource in page.resources]
        cursor = page.nextCursor
        if cursor is None:
            break
    assert "rye://knowledge/note" in uris and len(uris) == len(set(uris)), uris
    read = await session.read_resource("rye://knowledge/note")
    assert read.contents[0].text.endswith("A note.\n"), read
    try:
        await session.read_resource("rye://knowledge/nowhere")
    except McpError as error:
        assert error.error.code == -32002, error
    else:
        raise AssertionError("a page that is not there was read")


async def drive(streams, path):
    """A whole session."""
    logged = []

    async def keep(message):
        logged.append(message)

    async with ClientSession(streams[0], streams[1], logging_callback=keep) as session:
        hello = await session.initialize()
        assert (hello.protocolVersion, hello.serverInfo.name) == ("2025-11-25", "rye"), hello
        await session.send_ping()
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert {*OWN, *SCRIPTS, *ASKING, "json_schema_2020_12_tool"} == set(tools), tools
        await own(session, tools, path)
        await shown(session, logged)
        await lists(session)


async def decide(streams):
    """A person at the client decides what a tool asks."""
    said = []

    async def person(_, question):
        assert "tool:asks" in question.message and "Pay?" in question.message, question
        return ElicitResult(action=said.pop(), content={})

    async with ClientSession(streams[0], streams[1], elicitation_callback=person) as session:
        await session.initialize()
        for action, is_error in (("accept", False), ("decline", True), ("cancel", False)):
            said.append(action)
            result = await session.call_tool("asks", {"amount": 5})
            assert result.isError == is_error and not said, result
            if action == "accept":
                assert result.content[0].text == "paid", result
            else:
                code = {"decline": "pending.rejected"}.get(action)
                assert result.structuredContent.get("code") == code, result
                assert code or result.structuredContent["status"] == "pending", result


async def main(rye):
    """Both transports."""
    with project(rye) as of:
        path = str(of.path)
        server = StdioServerParameters(command=str(of.rye), args=["mcp", *ARGS], cwd=path, env=of.env)
        async with stdio_client(server) as streams:
            await drive(streams, path)
        print("stdio: every tool was listed and called")
        with of.http(*ARGS) as (url, token):
            headers = {"Authorization": f"Bearer {token}"}
            async with streamablehttp_client(url, headers=headers) as streams:
                await drive(streams, path)
        print("http: every tool was listed and called")
        asks = ["--expose", "tool:*", "--approve-by-elicitation"]
        server.args = ["mcp", *asks]
        async with stdio_client(server) as streams:
            await decide(streams)
        with of.http(*asks) as (url, token):
            headers = {"Authorization": f"Bearer {token}"}
            async with streamablehttp_client(url, headers=headers) as streams:
                await decide(streams)
        print("both: a person at the client decided what a tool asks")


asyncio.run(asyncio.wait_for(main(sys.argv[1]), 300))
