#!/usr/bin/env python3
"""How long the answer of a detached run takes, beside the same verify without a run.

    tests/bench/async.py target/release/rye

Three commands about one tool run in turn: `rye verify` of its whole chain, a dry run (which resolves,
verifies and plans, and starts nothing) and `rye execute … --async`, which does the same, registers the
run and starts its process. The tool does nothing, and each run has ended before the next command. All
of it is measured in memory, where nothing waits for a disk, and on the disk, whose difference is what
`fsync` takes. Prints medians and minima in milliseconds, and the ratios.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 40
TOOL = ('version: "1.0.0"\ncategory: acme\ndescription: d\ntool_type: tool\n'
        'executor_id: rye/core/runtimes/native/program\nconfig: {command: "true"}\n')
VERIFY, DRY, ASYNC = '`rye verify`', 'a dry run', 'the answer of `--async`'
COMMANDS = {
    VERIFY: ('verify', 'tool:acme/no_op', '--json'),
    DRY: ('execute', 'tool:acme/no_op', '--dry-run', '--json'),
    ASYNC: ('execute', 'tool:acme/no_op', '--async', '--json'),
}


class World:
    """A project with one tool, and a home, below a folder."""

    def __init__(self, rye, below):
        self.rye, self.top = rye, tempfile.mkdtemp(dir=below)
        os.chmod(self.top, 0o755)
        self.project, home = f'{self.top}/project', f'{self.top}/home'
        for folder in (self.project, home):
            os.mkdir(folder)
        self.env = {'HOME': home, 'PATH': os.environ['PATH'], 'LANG': 'C.UTF-8'}
        self.run('init')
        os.makedirs(f'{self.project}/.ai/tools/acme', exist_ok=True)
        with open(f'{self.project}/.ai/tools/acme/no_op.yaml', 'w') as file:
            file.write(TOOL)
        self.run('sign', '--all', '--yes')

    def run(self, *words):
        """Milliseconds, and what was said."""
        began = time.perf_counter()
        child = subprocess.run([self.rye, *words], cwd=self.project, env=self.env,
                               stdin=subprocess.DEVNULL, capture_output=True)
        took = (time.perf_counter() - began) * 1e3
        if child.returncode:
            sys.exit(f'{words}: {child.stdout.decode()}{child.stderr.decode()}')
        return took, child.stdout

    def measure(self, name):
        took, said = self.run(*COMMANDS[name])
        if name == ASYNC:
            self.run('thread', 'wait', json.loads(said)['thread_id'])
        return took


def main():
    rye = os.path.abspath(sys.argv[1])
    places = {'in memory': World(rye, '/dev/shm'), 'on the disk': World(rye, '/var/tmp')}
    took = {(place, name): [] for place in places for name in COMMANDS}
    for world in places.values():
        # The first one makes the registry.
        world.measure(ASYNC)
    for _ in range(ROUNDS):
        for place, world in places.items():
            for name in COMMANDS:
                took[place, name].append(world.measure(name))
    print(f'milliseconds: median (minimum), {ROUNDS} rounds')
    for (place, name), values in took.items():
        print(f'{name + ", " + place:48} {statistics.median(values):8.2f} ({min(values):.2f})')
    for place in places:
        for beside in (VERIFY, DRY):
            ratios = [of(took[place, ASYNC]) / of(took[place, beside]) for of in (statistics.median, min)]
            print(f'{place}, beside {beside}: {ratios[0]:.2f} ({ratios[1]:.2f}), the goal is ≤ 2')
    synced = [statistics.median(took[place, ASYNC]) for place in ('on the disk', 'in memory')]
    print(f'what `fsync` takes of the answer: {synced[0] - synced[1]:.2f} ms')
    for world in places.values():
        shutil.rmtree(world.top)


if __name__ == '__main__':
    main()
