#!/usr/bin/env python3
"""When the first words of a model are shown, beside `curl -N` of the same server.

    tests/bench/first_token.py target/release/rye [DELAY_MS]

A server on this machine thinks so long (500 ms, as a fast hosted model does), streams one word and,
a while later, the rest. Both programs run in turn, each on a terminal of its own. The first figure is
the time from the start of the program until the word is on the terminal; the second one the time from
the moment at which the server sent it. Prints medians in milliseconds, and their ratios.
"""
import http.server
import json
import os
import pty
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROUNDS, WORD = 15, 'Firstword'
DIRECTIVE = '''# A thread

```xml
<directive name="go" version="1.0.0">
<metadata><description>d</description><category>acme</category><author>a</author>
<model provider="acme/model"/><limits turns="3"/></metadata>
</directive>
```

Do it.
'''


def chunk(delta):
    return f'data: {json.dumps({"choices": [{"index": 0, "delta": delta}]})}\n\n'.encode()


class Model(http.server.BaseHTTPRequestHandler):
    delay, sent = 0.5, 0.0

    def do_POST(self):
        self.rfile.read(int(self.headers['content-length']))
        time.sleep(Model.delay)
        self.send_response(200)
        self.send_header('content-type', 'text/event-stream')
        self.end_headers()
        Model.sent = time.perf_counter()
        self.wfile.write(chunk({'content': WORD}))
        self.wfile.flush()
        time.sleep(0.2)
        self.wfile.write(chunk({'content': ' and the rest.'}) + b'data: [DONE]\n\n')

    def log_message(self, *_):
        pass


def shown(command, cwd, env):
    """Seconds until the word is on the terminal: from the start, and from when it was sent."""
    master, slave = pty.openpty()
    began = time.perf_counter()
    child = subprocess.Popen(command, cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave,
                             start_new_session=True)
    os.close(slave)
    text, at = b'', None
    while True:
        if not select.select([master], [], [], 30)[0]:
            sys.exit(f'nothing came of {command}: {text}')
        try:
            piece = os.read(master, 65536)
        except OSError:
            piece = b''
        if not piece:
            break
        text += piece
        if at is None and WORD.encode() in text:
            at = time.perf_counter()
    os.close(master)
    if child.wait() or at is None:
        sys.exit(f'{command} failed: {text.decode(errors="replace")}')
    return at - began, at - Model.sent


def main():
    rye = os.path.abspath(sys.argv[1])
    Model.delay = int(sys.argv[2]) / 1000 if len(sys.argv) > 2 else 0.5
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f'http://127.0.0.1:{server.server_port}/v1'
    top = tempfile.mkdtemp()
    os.chmod(top, 0o755)
    project, home = f'{top}/project', f'{top}/home'
    block = {'kind': 'openai_chat', 'base_url': url, 'models': {'general': 'm'},
             'prices': {'m': {'input': 0, 'output': 0}}}
    env = {'HOME': home, 'PATH': os.environ['PATH'], 'LANG': 'C.UTF-8', 'TERM': 'xterm'}
    for folder in (project, home):
        os.mkdir(folder)
    subprocess.run([rye, 'init'], cwd=project, env=env, check=True, stdout=subprocess.DEVNULL)
    for path, text in (
            (f'{home}/.ai/tools/acme/model.yaml',
             'version: "1.0.0"\ntool_type: provider\ncategory: acme\ndescription: d\n'
             f'provider: {json.dumps(block)}\n'),
            (f'{project}/.ai/directives/acme/go.md', DIRECTIVE)):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as file:
            file.write(text)
    for words in (['sign', 'tool:acme/model', '--space', 'user'],
                  ['sign', 'directive:acme/go', '--space', 'project']):
        subprocess.run([rye, *words], cwd=project, env=env, check=True, stdout=subprocess.DEVNULL)
    asked = json.dumps({'model': 'm', 'stream': True, 'messages': [{'role': 'user', 'content': 'x'}]})
    rows = {
        'curl -N': ['curl', '-sN', '-H', 'content-type: application/json', '-d', asked,
                    f'{url}/chat/completions'],
        'rye': [rye, 'execute', 'directive:acme/go', '--thread', 'fork'],
    }
    took = {name: [] for name in rows}
    for _ in range(ROUNDS):
        for name, command in rows.items():
            took[name].append(shown(command, project, env))
    shutil.rmtree(top)
    medians = {name: [statistics.median(of) * 1000 for of in zip(*all)] for name, all in took.items()}
    print(f'{"":10} from the start   from the sending')
    for name, (start, sending) in medians.items():
        print(f'{name:10} {start:11.1f} ms {sending:15.1f} ms')
    ratio = [mine / theirs for mine, theirs in zip(medians['rye'], medians['curl -N'])]
    print(f'{"rye/curl":10} {ratio[0]:14.2f} {ratio[1]:18.2f}')


main()
