#!/usr/bin/env python3
"""How long `rye thread cancel` takes, from another process, until nothing of the thread is left.

    tests/bench/cancel.py target/release/rye

The thread is in the middle of a tool that ignores SIGTERM, and which left a process behind and started
a thread below; that one waits for a server that sent half of a stream and fell silent. Prints the
median and the longest of the rounds in seconds; the goal is one second. Ends with status 1 where
something goes on running.
"""
import http.server
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROUNDS = 10

DIRECTIVE = '''# A thread

```xml
<directive name="{name}" version="1.0.0">
<metadata><description>d</description><category>acme</category><author>a</author>
<model provider="acme/{name}_model"/><limits turns="3"/>
<permissions>{permissions}</permissions></metadata>
</directive>
```

Do it.
'''
PROVIDER = 'version: "1.0.0"\ntool_type: provider\ncategory: acme\ndescription: d\nprovider: '
STAYS = '''# /// rye
# version = "1.0.0"
# tool_type = "tool"
# executor_id = "rye/core/runtimes/shell/script"
# category = "acme"
# description = "Starts a thread below, leaves a process behind, and stays."
# ///
env HOME='{home}' '{rye}' execute directive:acme/below --thread fork > /dev/null 2>&1 &
echo $! > below.pid
trap '' TERM
echo $$ > tool.pid
(setsid sh -c 'echo $$ > left.pid; exec sleep 300' < /dev/null > /dev/null 2>&1 &)
while :; do sleep 0.05; done
'''
PIDS = ('below.pid', 'tool.pid', 'left.pid')


class Silent(http.server.BaseHTTPRequestHandler):
    asked = threading.Semaphore(0)

    def do_POST(self):
        self.rfile.read(int(self.headers['content-length']))
        self.send_response(200)
        self.send_header('content-type', 'text/event-stream')
        self.end_headers()
        delta = {'choices': [{'index': 0, 'delta': {'content': 'Half of'}}]}
        self.wfile.write(f'data: {json.dumps(delta)}\n\n'.encode())
        self.wfile.flush()
        Silent.asked.release()
        # Until the other side leaves.
        self.connection.recv(1)

    def log_message(self, *_):
        pass


def is_alive(pid):
    try:
        with open(f'/proc/{pid}/stat') as file:
            return file.read().rsplit(')', 1)[1].split()[0] not in 'ZX'
    except (FileNotFoundError, ProcessLookupError):
        return False


def read_pid(path):
    for _ in range(600):
        try:
            with open(path) as file:
                return int(file.read())
        except (FileNotFoundError, ValueError):
            time.sleep(0.05)
    sys.exit(f'{path} did not come')


def main():
    rye = os.path.abspath(sys.argv[1])
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Silent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    top = tempfile.mkdtemp(dir='/var/tmp')
    os.chmod(top, 0o755)
    project, home = f'{top}/project', f'{top}/home'
    env = {'HOME': home, 'PATH': os.environ['PATH'], 'LANG': 'C.UTF-8'}
    for folder in (project, home):
        os.mkdir(folder)
    quiet = {'cwd': project, 'env': env, 'check': True, 'stdout': subprocess.DEVNULL,
             'stderr': subprocess.DEVNULL}
    subprocess.run([rye, 'init'], **quiet)
    priced = {'models': {'general': 'm'}, 'prices': {'m': {'input': 0, 'output': 0}}}
    silent = {'kind': 'openai_chat', 'base_url': f'http://127.0.0.1:{server.server_port}/v1', **priced}
    script = {'kind': 'scripted', 'turns': [{'calls': [{'name': 'acme_stays', 'arguments': {}}]}], **priced}
    may = '<execute><tool>acme.*</tool><directive>acme.below</directive></execute>'
    for path, text, space in (
            ('tools/acme/top_model.yaml', PROVIDER + json.dumps(script) + '\n', 'user'),
            ('tools/acme/below_model.yaml', PROVIDER + json.dumps(silent) + '\n', 'user'),
            ('config/rye/policy.yaml', 'sandbox_off: ["tool:**"]\n', 'user'),
            ('tools/acme/stays.sh', STAYS.format(home=home, rye=rye), 'project'),
            ('directives/acme/top.md', DIRECTIVE.format(name='top', permissions=may), 'project'),
            ('directives/acme/below.md', DIRECTIVE.format(name='below', permissions=''), 'project')):
        path = f'{home if space == "user" else project}/.ai/{path}'
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as file:
            file.write(text)
        subprocess.run([rye, 'sign', path], **quiet)
    took = []
    for _ in range(ROUNDS):
        for name in PIDS:
            if os.path.exists(f'{project}/{name}'):
                os.remove(f'{project}/{name}')
        thread = subprocess.Popen([rye, 'execute', 'directive:acme/top', '--thread', 'fork'],
                                  cwd=project, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        if not Silent.asked.acquire(timeout=60):
            sys.exit('the server was not asked')
        pids = [read_pid(f'{project}/{name}') for name in PIDS]
        listed = subprocess.run([rye, 'thread', 'list', '--json'], cwd=project, env=env, check=True,
                                capture_output=True)
        running = [row for row in json.loads(listed.stdout)['threads'] if row['thread_status'] == 'running']
        top_id = next(row['thread_id'] for row in running if row['item_id'].endswith('acme/top'))
        began = time.perf_counter()
        subprocess.run([rye, 'thread', 'cancel', top_id], **quiet)
        try:
            thread.wait(timeout=30)
        except subprocess.TimeoutExpired:
            sys.exit('the thread goes on running')
        while any(is_alive(pid) for pid in pids):
            time.sleep(0.005)
            if time.perf_counter() - began > 30:
                sys.exit(f'something goes on running: {pids}')
        took.append(time.perf_counter() - began)
    shutil.rmtree(top)
    print(f'cancelled with all below in {statistics.median(took):.2f} s, the longest {max(took):.2f} s '
          f'(goal: 1 s)')


main()
