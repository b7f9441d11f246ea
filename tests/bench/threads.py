#!/usr/bin/env python3
"""What the loop of a thread takes by itself, and many threads at once.

    tests/bench/threads.py target/release/rye [THREADS]

The model is a script, and each of its turns calls `directive_return` with an output of another type,
so no model and no tool takes part: what remains of a turn is rye's own. It is measured in memory,
where nothing waits for a disk, and on the disk, whose difference is what `fsync` takes. Beside it
stands `rye execute` of a native program that does nothing. Both run in turn; prints medians and minima
in milliseconds. Then so many threads (200) run at once, and each has to come to its end.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TURNS, ROUNDS = 40, 15

DIRECTIVE = '''# A thread

```xml
<directive name="go" version="1.0.0">
<metadata><description>d</description><category>acme</category><author>a</author>
<model provider="acme/{provider}"/><limits turns="100"/></metadata>
<outputs><output name="n" type="integer">a number</output></outputs>
</directive>
```

Do it.
'''
HEADER = 'version: "1.0.0"\ncategory: acme\ndescription: d\n'
NO_OP = HEADER + 'tool_type: tool\nexecutor_id: rye/core/runtimes/native/program\nconfig: {command: "true"}\n'


def provider(turns):
    call = [{'calls': [{'name': 'directive_return', 'arguments': {'n': 'x'}}], 'usage': {'input': 9}}]
    last = [{'calls': [{'name': 'directive_return', 'arguments': {'n': 7}}], 'usage': {'input': 9}}]
    block = {'kind': 'scripted', 'models': {'general': 'm'}, 'prices': {'m': {'input': 0, 'output': 0}},
             'turns': call * (turns - 1) + last}
    return HEADER + f'tool_type: provider\nprovider: {json.dumps(block)}\n'


class World:
    """A project and a home with signed items, below a folder."""

    def __init__(self, rye, below):
        self.rye, self.top = rye, tempfile.mkdtemp(dir=below)
        os.chmod(self.top, 0o755)
        self.project, self.home = f'{self.top}/project', f'{self.top}/home'
        for folder in (self.project, self.home):
            os.mkdir(folder)
        self.env = {'HOME': self.home, 'PATH': os.environ['PATH'], 'LANG': 'C.UTF-8'}
        self.run('init')
        for turns in (1, TURNS + 1):
            self.write(f'{self.home}/.ai/tools/acme/script_{turns}.yaml', provider(turns))
            text = DIRECTIVE.replace('"go"', f'"go_{turns}"').format(provider=f'script_{turns}')
            self.write(f'{self.project}/.ai/directives/acme/go_{turns}.md', text)
        self.write(f'{self.project}/.ai/tools/acme/no_op.yaml', NO_OP)
        self.run('sign', '--all', '--space', 'user', '--yes')
        self.run('sign', '--all', '--yes')

    @staticmethod
    def write(path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as file:
            file.write(text)

    def start(self, *words):
        return subprocess.Popen([self.rye, *words], cwd=self.project, env=self.env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *words):
        began = time.perf_counter()
        child = self.start(*words)
        out, error = child.communicate()
        took = time.perf_counter() - began
        if child.returncode:
            sys.exit(f'{words}: {out.decode()}{error.decode()}')
        return took * 1e3

    def thread(self, turns):
        return self.run('execute', f'directive:acme/go_{turns}', '--thread', 'fork', '--json')


def row(name, values):
    print(f'{name:58} {statistics.median(values):8.2f} ({min(values):.2f})')


def main():
    rye, many = os.path.abspath(sys.argv[1]), int((sys.argv[2:] or ['200'])[0])
    places = {'in memory': World(rye, '/dev/shm'), 'on the disk': World(rye, '/var/tmp')}
    times = {(place, kind): [] for place in places for kind in ('turn', 'no-op', 'short')}
    for _ in range(ROUNDS):
        for place, world in places.items():
            short, long = world.thread(1), world.thread(TURNS + 1)
            times[place, 'short'].append(short)
            times[place, 'turn'].append((long - short) / TURNS)
            times[place, 'no-op'].append(world.run('execute', 'tool:acme/no_op'))
    print(f'milliseconds: median (minimum), {ROUNDS} rounds')
    for place in places:
        row(f'a turn, no model and no tool, {place}', times[place, 'turn'])
        row(f'a thread of one turn, start of the program included, {place}', times[place, 'short'])
        row(f'`rye execute` of a native no-op, {place}', times[place, 'no-op'])
    turn, no_op = times['in memory', 'turn'], times['in memory', 'no-op']
    ratio = statistics.median(turn) / statistics.median(no_op), min(turn) / min(no_op)
    print(f'a turn beside the no-op: {ratio[0]:.2f} ({ratio[1]:.2f}), the goal is ≤ 1')
    synced = statistics.median(times['on the disk', 'turn']) - statistics.median(turn)
    print(f'what `fsync` takes of a turn: {synced:.2f} ms')
    world = places['on the disk']
    began = time.perf_counter()
    children = [world.start('execute', 'directive:acme/go_1', '--thread', 'fork', '--json') for _ in range(many)]
    ended = [child.communicate()[0] for child in children]
    failed = [out.decode() for child, out in zip(children, ended) if child.returncode]
    ids = {json.loads(out)['thread_id'] for out in ended if out.startswith(b'{"status":"success"')}
    print(f'{many} threads at once: {len(failed)} failed, {len(ids)} ids, '
          f'{time.perf_counter() - began:.1f} s on {os.cpu_count()} cores')
    for world in places.values():
        shutil.rmtree(world.top)
    if failed or len(ids) != many:
        sys.exit('\n'.join(failed[:3]))


if __name__ == '__main__':
    main()
