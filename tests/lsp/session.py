"""Drives `rye lsp` with a client that is not ours: pygls with the types of lsprotocol.

    python tests/lsp/session.py target/debug/rye

Whatever the server says is read into the types of the protocol, so a message of another shape fails.
"""

import asyncio
import os
import pathlib
import subprocess
import sys
import tempfile

from lsprotocol import types
from pygls.lsp.client import LanguageClient

TOOL = '''#!/bin/bash
# /// rye
# version = "1.0.0"
# tool_type = "tool"
# executor_id = "rye/core/runtimes/shell/script"
# category = "acme"
# description = "Says \N{GRINNING FACE} hello"
# ///
echo hello
'''


class Editor(LanguageClient):
    """Keeps what it is told, and answers questions as it was told to."""

    def __init__(self):
        super().__init__("editor", "1")
        self.said = asyncio.Queue()
        self.questions = []
        self.told = asyncio.Queue()
        self.watched = asyncio.Event()
        self.shown = []
        self.answer = None

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(params: types.PublishDiagnosticsParams):
            self.said.put_nowait(params)

        @self.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
        def _(params: types.ShowMessageRequestParams):
            self.questions.append(params)
            return next((a for a in params.actions if a.title == self.answer), None)

        @self.feature(types.WINDOW_SHOW_DOCUMENT)
        def _(params: types.ShowDocumentParams):
            self.shown.append(pathlib.Path(params.uri.removeprefix("file://")).read_text())
            return types.ShowDocumentResult(success=True)

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def _(params: types.ShowMessageParams):
            self.told.put_nowait(params)

        @self.feature(types.CLIENT_REGISTER_CAPABILITY)
        def _(params: types.RegistrationParams):
            assert params.registrations[0].method == "workspace/didChangeWatchedFiles"
            self.watched.set()

    async def next(self, queue):
        return await asyncio.wait_for(queue.get(), 60)


def capabilities():
    action = types.CodeActionLiteralSupportOptions if hasattr(
        types, "CodeActionLiteralSupportOptions") else types.ClientCodeActionLiteralOptions
    kinds = types.ClientCodeActionKindOptions(value_set=[types.CodeActionKind.QuickFix])
    return types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(
            code_action=types.CodeActionClientCapabilities(
                code_action_literal_support=action(code_action_kind=kinds))),
        window=types.WindowClientCapabilities(
            show_document=types.ShowDocumentClientCapabilities(support=True)),
        workspace=types.WorkspaceClientCapabilities(
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
                dynamic_registration=True)),
    )


async def drive(rye, project, env):
    path = project / ".ai/tools/acme/hello.sh"
    path.parent.mkdir(parents=True)
    path.write_text(TOOL)
    uri = path.as_uri()
    document = types.TextDocumentIdentifier(uri=uri)

    editor = Editor()
    await editor.start_io(rye, "lsp", cwd=project, env=env)
    hello = await editor.initialize_async(
        types.InitializeParams(capabilities=capabilities(), process_id=os.getpid(), root_uri=project.as_uri()))
    assert hello.server_info.name == "rye", hello
    assert hello.capabilities.position_encoding == types.PositionEncodingKind.Utf16, hello
    editor.initialized(types.InitializedParams())
    await asyncio.wait_for(editor.watched.wait(), 60)

    item = types.TextDocumentItem(uri=uri, language_id="shellscript", version=1, text=TOOL)
    editor.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
    said = await editor.next(editor.said)
    assert (said.uri, said.version) == (uri, 1), said
    assert [d.code for d in said.diagnostics] == ["verify.unsigned"], said

    # A change of a part, behind a letter that is two units.
    line = TOOL.splitlines()[6]
    column = line.index("hello") + 1
    place = types.Range(start=types.Position(6, column), end=types.Position(6, column + 5))
    change = types.TextDocumentContentChangePartial(range=place, text="good \u200bday")
    version = types.VersionedTextDocumentIdentifier(uri=uri, version=2)
    editor.text_document_did_change(
        types.DidChangeTextDocumentParams(text_document=version, content_changes=[change]))
    said = await editor.next(editor.said)
    hidden = next(d for d in said.diagnostics if d.code == "parse.invisible_text")
    assert hidden.range.start == types.Position(6, column + 5), hidden
    assert "U+200B" in hidden.message, hidden

    # An executor that is not there: the edit that mends it, applied, mends it.
    wrong = TOOL.replace("shell/script", "shell/scirpt")
    whole = types.TextDocumentContentChangeWholeDocument(text=wrong)
    version = types.VersionedTextDocumentIdentifier(uri=uri, version=3)
    editor.text_document_did_change(
        types.DidChangeTextDocumentParams(text_document=version, content_changes=[whole]))
    said = await editor.next(editor.said)
    missing = next(d for d in said.diagnostics if d.code == "chain.executor_not_found")
    actions = await editor.text_document_code_action_async(types.CodeActionParams(
        text_document=document, range=missing.range,
        context=types.CodeActionContext(diagnostics=[missing])))
    edit = next(a for a in actions if a.is_preferred).edit.changes[uri][0]
    assert (edit.range, edit.new_text) == (missing.range, "rye/core/runtimes/shell/script"), edit
    change = types.TextDocumentContentChangePartial(range=edit.range, text=edit.new_text)
    version = types.VersionedTextDocumentIdentifier(uri=uri, version=4)
    editor.text_document_did_change(
        types.DidChangeTextDocumentParams(text_document=version, content_changes=[change]))
    said = await editor.next(editor.said)
    assert [d.code for d in said.diagnostics] == ["verify.unsigned"], said

    items = await editor.text_document_completion_async(types.CompletionParams(
        text_document=document, position=types.Position(4, len("# executor_id = \"rye/"))))
    assert "rye/core/runtimes/shell/script" in [item.label for item in items], items

    hover = await editor.text_document_hover_async(
        types.HoverParams(text_document=document, position=types.Position(4, 2)))
    assert "2. `tool:rye/core/runtimes/shell/script` · system · verified" in hover.contents.value, hover

    # Signing: no, then yes.
    # lsprotocol takes an action that holds a command for the command, so the server's own list names it.
    offered = await editor.text_document_code_action_async(types.CodeActionParams(
        text_document=document, range=types.Range(types.Position(1, 0), types.Position(1, 0)),
        context=types.CodeActionContext(diagnostics=[])))
    assert "Sign `tool:acme/hello` …" in [action.title for action in offered], offered
    assert "rye.sign" in hello.capabilities.execute_command_provider.commands, hello
    command = types.ExecuteCommandParams(command="rye.sign", arguments=[uri])
    for answer in ("Cancel", "Sign"):
        editor.answer = answer
        before = len(editor.questions)
        await editor.workspace_execute_command_async(command)
        while len(editor.questions) == before:
            await asyncio.sleep(0.01)
        assert "+echo hello\n" in editor.shown[-1], editor.shown
        if answer == "Cancel":
            # A round trip, so that whatever the answer led to has happened.
            await editor.text_document_hover_async(
                types.HoverParams(text_document=document, position=types.Position(0, 0)))
            assert path.read_text() == TOOL, "signed although the answer was no"
    told = await editor.next(editor.told)
    assert told.message == "signed `tool:acme/hello`", told
    subprocess.run([rye, "verify", "tool:acme/hello"], cwd=project, env=env, check=True, stdout=subprocess.DEVNULL)

    await editor.shutdown_async(None)
    editor.exit(None)
    status = await asyncio.wait_for(editor._server.wait(), 60)
    assert status == 0, status
    await editor.stop()


def main():
    rye = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        home, project = pathlib.Path(folder, "home"), pathlib.Path(folder, "project")
        home.mkdir()
        project.mkdir()
        env = {"HOME": str(home), "PATH": os.environ["PATH"]}
        subprocess.run([rye, "init"], cwd=project, env=env, check=True, stdout=subprocess.DEVNULL)
        asyncio.run(drive(rye, project.resolve(), env))
    print("an editor that is not ours and `rye lsp` understand each other")


if __name__ == "__main__":
    main()
