#!/usr/bin/env python3
"""A node under load, beside the library (p15 of the performance goals).

    tests/bench/node.py target/release/rye [SECONDS]

Signed requests for a native program that does nothing, over 8 connections, beside 8 threads of one
process that run the same item by the library on the same cores. Both run in turn, three rounds of
so many seconds each (3); the median counts. The requests are signed before they are sent. Without a
sandbox, as the library's other rows are, and with the item's own. Then `/health` and `/identity`.

Needs `wrk` (Debian) and the Python package `cryptography`.
"""
import base64
import hashlib
import json
import os
import re
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONNECTIONS, ROUNDS = 8, 3
NO_OP = '''version: "1.0.0"
tool_type: tool
executor_id: rye/core/runtimes/native/program
category: {category}
description: Does nothing
config: {{command: /bin/true}}
'''
TOLD = '''
function done(summary)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    print(string.format("RESULT %d %d %d", summary.requests, summary.duration, failed))
end
'''
# One request of the file after the other.
SIGNED = TOLD + '''
local requests, at = {}, 0
for text in io.open(os.getenv("REQUESTS"), "rb"):read("*a"):gmatch("([^%z]+)%z") do
    requests[#requests + 1] = text
end
function request()
    at = at + 1
    return requests[math.min(at, #requests)]
end
function response(status, _, body)
    if status ~= 200 then print(body) end
end
'''


class World:
    """A home with a node's items, an empty project, and a key that may ask for them."""

    def __init__(self, rye, top):
        self.rye, self.top = rye, top
        self.home, self.project = f'{top}/home', f'{top}/project'
        for folder in (self.home, self.project):
            os.mkdir(folder)
        self.env = {'HOME': self.home, 'PATH': os.environ['PATH'], 'LANG': 'C.UTF-8'}
        self.run('init')
        for category in ('bare', 'held'):
            self.write(f'tools/{category}/no_op.yaml', NO_OP.format(category=category))
        self.write('config/rye/policy.yaml', 'sandbox_off: ["tool:bare/**"]\n')
        self.run('sign', '--all', '--space', 'user', '--yes')
        self.key = Ed25519PrivateKey.generate()
        public = self.key.public_key().public_bytes_raw()
        self.name = hashlib.sha256(public).hexdigest()[:32]
        text = base64.urlsafe_b64encode(public).decode().rstrip('=')
        self.run('node', 'authorize', f'ed25519:{text}', '--name', 'bench', '--yes',
                 '--scopes', 'execute:tool:bare/**,execute:tool:held/**')
        for name, script in (('told', TOLD), ('signed', SIGNED)):
            with open(f'{top}/{name}.lua', 'w') as file:
                file.write(script)

    def write(self, path, text):
        path = f'{self.home}/.ai/{path}'
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as file:
            file.write(text)

    def run(self, *words):
        done = subprocess.run([self.rye, *words], cwd=self.project, env=self.env, capture_output=True,
                              text=True)
        if done.returncode:
            sys.exit(f'{words}: {done.stdout}{done.stderr}')
        return done.stdout

    def serve(self):
        """Starts the node."""
        self.node = subprocess.Popen(
            [self.rye, 'serve', '--listen', '127.0.0.1:0', '--max-concurrent', str(CONNECTIONS)],
            cwd=self.project, env=self.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.node.stderr:
            if line.startswith('node '):
                self.node_name = line.split()[1]
            if line.startswith('listening on '):
                self.url = line.split()[2]
                return
        sys.exit('the node ended')

    def signed(self, item):
        """The bytes of a request to run an item."""
        text, millis = secrets.token_hex(10), int(time.time() * 1000)
        run = f'{millis:012x}7{text[:3]}8{text[3:18]}'
        run = '-'.join((run[:8], run[8:12], run[12:16], run[16:20], run[20:]))
        body = json.dumps({'run': run, 'item_id': item})
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        now = int(time.time())
        covered = (f'("@method" "@target-uri" "content-digest" "rye-node");created={now};'
                   f'expires={now + 300};nonce="{secrets.token_urlsafe(16)}";keyid="{self.name}";'
                   'alg="ed25519";tag="rye-request-v1"')
        base = (f'"@method": POST\n"@target-uri": {self.url}/execute\n"content-digest": sha-256=:{digest}:\n'
                f'"rye-node": {self.node_name}\n"@signature-params": {covered}')
        signature = base64.b64encode(self.key.sign(base.encode())).decode()
        return (f'POST /execute HTTP/1.1\r\nHost: {urllib.parse.urlsplit(self.url).netloc}\r\n'
                f'Content-Length: {len(body)}\r\nContent-Digest: sha-256=:{digest}:\r\n'
                f'Rye-Node: {self.node_name}\r\nSignature-Input: s={covered}\r\n'
                f'Signature: s=:{signature}:\r\n\r\n{body}')

    def wrk(self, seconds, script, path='', **env):
        """Requests in a second; none may fail."""
        words = ['wrk', '--threads', '1', '--connections', str(CONNECTIONS), '--duration',
                 f'{seconds}s', '--script', f'{self.top}/{script}.lua', self.url + path]
        done = subprocess.run(words, env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        result = re.search(r'RESULT (\d+) (\d+) (\d+)', done.stdout)
        if result is None or int(result[3]):
            sys.exit(f'{words}: {done.stdout}{done.stderr}')
        return int(result[1]) / int(result[2]) * 1e6

    def asked(self, seconds, item, count):
        """Runs in a second that the node is asked for."""
        with open(f'{self.top}/requests', 'w') as file:
            file.write(''.join(self.signed(item) + '\0' for _ in range(count)))
        return self.wrk(seconds, 'signed', REQUESTS=f'{self.top}/requests')

    def called(self, seconds, item):
        """Runs in a second by the library."""
        profile = ['--profile', 'dev'] if '/debug/' in self.rye else []
        words = ['cargo', 'bench', '--quiet', '--locked', *profile, '--bench', 'line', '--', '--many',
                 self.home, self.project, item, str(CONNECTIONS), str(seconds)]
        done = subprocess.run(words, cwd=REPOSITORY, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True)
        if done.returncode:
            sys.exit(f'{words}: {done.stdout}{done.stderr}')
        return float(done.stdout)


def main():
    rye = os.path.abspath(sys.argv[1])
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    if not shutil.which('wrk'):
        sys.exit('`wrk` is not here: apt-get install wrk')
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        world = World(rye, top)
        world.serve()
        try:
            measure(world, seconds)
        finally:
            world.node.terminate()
            world.node.wait()


def measure(world, seconds):
    print(f'{"a second, over 8 connections":32} {"node":>9} {"library":>9} {"ratio":>6}')
    for what, item in (('no-op', 'tool:bare/no_op'), ('no-op in its sandbox', 'tool:held/no_op')):
        rounds = []
        for _ in range(ROUNDS):
            library = world.called(seconds, item)
            # More than are run in that time.
            node = world.asked(seconds, item, int(library * seconds * 4))
            rounds.append((node, library, node / library))
        node, library, ratio = (statistics.median(of) for of in zip(*rounds))
        print(f'{"POST /execute, " + what:32} {node:9.0f} {library:9.0f} {ratio:6.2f}')
    for path in ('/health', '/identity'):
        rate = statistics.median(world.wrk(seconds, 'told', path) for _ in range(ROUNDS))
        print(f'{"GET " + path:32} {rate:9.0f}')


main()
