#!/usr/bin/env python3
"""What a list of hosts costs here and elsewhere: one start and one download, rye beside its peers.

    tests/bench/peers.py target/release/rye [MEGABYTES]

Beside rye are measured `nono` (`cargo install nono-cli`) and `srt` (`npm install -g
@anthropic-ai/sandbox-runtime`; it wants `bwrap`, `socat` and `rg`), where they are on the `PATH` or
where `NONO` and `SRT` name them; one that is missing is said and left out. Each lets `curl` reach
the same one host and no other, and each has to show that before it is measured.

Works in a network of its own (`unshare`, user namespaces), with a server of TLS (`openssl`) at a
public address of a second one, since some peers let no name lead to an address of this machine.
Whether they do is asked as well. Prints medians, and minima in brackets, of runs that take turns.
"""
import fcntl
import json
import os
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ADDRESS, OWN = '93.184.216.34', '93.184.216.35'
NAME, OTHER, LOOPBACK = 'files.example.org', 'other.example.org', 'here.example.org'
ROUNDS = 9
RUNTIME = 'executor_id = "rye/core/runtimes/shell/script"'


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, **more)
    if done.returncode:
        sys.exit(f'{words}: {done.stdout}{done.stderr}')
    return done.stdout


def serve(folder, address, namespace):
    """A server at `address`, in a network of its own or in this one."""
    server = ['openssl', 's_server', '-quiet', '-accept', f'{address}:443', '-WWW',
              '-key', f'{folder}/key.pem', '-cert', f'{folder}/project/ca.pem']
    waits = ['sh', '-c', 'read go && exec "$@"', '-', *server]
    started = subprocess.Popen(['unshare', '-n', '--', *waits] if namespace else waits, cwd=folder,
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, text=True)
    if namespace:
        own = os.readlink('/proc/self/ns/net')
        while os.readlink(f'/proc/{started.pid}/ns/net') == own:
            time.sleep(0.01)
        there = ['nsenter', '-t', str(started.pid), '-n', 'ip']
        run('ip', 'link', 'add', 'here', 'type', 'veth', 'peer', 'name', 'there',
            'netns', str(started.pid))
        for ip, address_of, name in ((['ip'], OWN, 'here'), (there, address, 'there')):
            run(*ip, 'address', 'add', f'{address_of}/24', 'dev', name)
            run(*ip, 'link', 'set', name, 'up')
    started.stdin.write('go\n')
    started.stdin.flush()
    until = time.monotonic() + 20
    while True:
        with socket.socket() as asks:
            asks.settimeout(1)
            if asks.connect_ex((address, 443)) == 0:
                return started
        if time.monotonic() > until or started.poll() is not None:
            sys.exit(f'no server at {address}')
        time.sleep(0.05)


def loopback_up():
    control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    fcntl.ioctl(control, 0x8914, struct.pack('16sH14s', b'lo', 0x41, bytes(14)))


def curl(name, file, past_proxy=False):
    """Prints the seconds that the download took."""
    past = ' --noproxy "*"' if past_proxy else ''
    return (f'curl -sS --fail --max-time 250 --cacert ca.pem -o /dev/null -w "%{{time_total}}\\n"'
            f'{past} https://{name}/{file}')


class Bare:
    """Without a sandbox."""

    def words(self, command, host):
        return ['sh', '-c', command]


class Rye:
    def __init__(self, program, here):
        self.program, self.names = program, {}
        run(program, 'init', **here)
        commands = [('true', NAME), (curl(NAME, 'big'), NAME), (curl(NAME, 'small'), NAME),
                    (curl(OTHER, 'small'), NAME), (curl(OTHER, 'small', True), NAME),
                    (curl(LOOPBACK, 'small'), LOOPBACK)]
        os.makedirs(f'{here["cwd"]}/.ai/tools', exist_ok=True)
        for at, (command, host) in enumerate(commands):
            self.names[command, host] = f'measured{at}'
            with open(f'{here["cwd"]}/.ai/tools/measured{at}.sh', 'w') as tool:
                tool.write(f'# /// rye\n# version = "1.0.0"\n# {RUNTIME}\n# description = "x"\n'
                           f'# sandbox.net = {{hosts = ["{host}"]}}\n'
                           f'# config.timeout = 280\n# ///\n{command}\n')
        run(program, 'sign', '--yes', '.', **here)

    def words(self, command, host):
        return [self.program, 'run', self.names[command, host]]


class Nono:
    def __init__(self, program, here):
        self.program = program

    def words(self, command, host):
        return [self.program, '--silent', 'run', '--read', '.', '--allow-domain', host,
                '--', 'sh', '-c', command]


class Srt:
    def __init__(self, program, here):
        self.program, self.folder = program, here['cwd']
        for host in (NAME, LOOPBACK):
            with open(f'{self.folder}/{host}.json', 'w') as settings:
                network = {'allowedDomains': [host], 'deniedDomains': []}
                files = {'denyRead': [], 'allowWrite': [], 'denyWrite': []}
                json.dump({'network': network, 'filesystem': files}, settings)

    def words(self, command, host):
        return [self.program, '--settings', f'{self.folder}/{host}.json', '-c', command]


def version(program, here):
    said = subprocess.run([program, '--version'], capture_output=True, text=True, **here)
    lines = said.stdout.split('\n')
    return lines[0].strip() or 'no version'


def main():
    rye, megabytes = os.path.abspath(sys.argv[1]), int((sys.argv[2:] or ['256'])[0])
    loopback_up()
    with tempfile.TemporaryDirectory() as top:
        measure(rye, megabytes, top)


def measure(rye, megabytes, top):
    os.chmod(top, 0o755)
    project = f'{top}/project'
    for folder in (project, f'{top}/home', f'{top}/hosts'):
        os.mkdir(folder)
    with open(f'{top}/hosts/hosts', 'w') as hosts:
        hosts.write(f'127.0.0.1 localhost {LOOPBACK}\n{ADDRESS} {NAME} {OTHER}\n')
    run('mount', '--bind', f'{top}/hosts/hosts', '/etc/hosts')
    names = ','.join(f'DNS:{name}' for name in (NAME, OTHER, LOOPBACK))
    run('openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
        '-days', '2', '-subj', f'/CN={NAME}', '-addext', f'subjectAltName={names}',
        '-keyout', f'{top}/key.pem', '-out', f'{project}/ca.pem')
    for file, size in (('big', megabytes << 20), ('small', 1)):
        with open(f'{top}/{file}', 'wb') as served:
            served.truncate(size)
    servers = [serve(top, ADDRESS, True), serve(top, '127.0.0.1', False)]
    # Of this environment no proxy and no setting of a peer.
    env = {'HOME': f'{top}/home', 'PATH': os.environ['PATH'], 'LANG': 'C.UTF-8'}
    here = {'cwd': project, 'env': env}
    try:
        compare(rye, megabytes, here)
    finally:
        for server in servers:
            server.kill()
            server.wait()
        run('umount', '/etc/hosts')


def compare(rye, megabytes, here):
    sides = {'no sandbox': Bare(), 'rye': Rye(rye, here)}
    print(f'rye: {version(rye, here)}')
    for name, peer in (('nono', Nono), ('srt', Srt)):
        program = os.environ.get(name.upper()) or shutil.which(name)
        if not program:
            print(f'{name}: not here, left out (put it on the PATH, or say {name.upper()}=PROGRAM)')
            continue
        sides[name] = peer(os.path.abspath(program), here)
        print(f'{name}: {version(program, here)}')

    def asks(name, command, host=NAME):
        words = sides[name].words(command, host)
        return subprocess.run(words, capture_output=True, text=True, timeout=300, **here)

    for name in list(sides):
        asked = {'the listed host': asks(name, curl(NAME, 'small')),
                 'another host': asks(name, curl(OTHER, 'small')),
                 'another host past the proxy': asks(name, curl(OTHER, 'small', True))}
        reached = [what for what, said in asked.items() if said.returncode == 0]
        if reached != (list(asked) if name == 'no sandbox' else ['the listed host']):
            for what, said in asked.items():
                text = (said.stdout + said.stderr)[-900:]
                print(f'{name}: {what}: status {said.returncode}: {text}')
            print(f'{name}: left out, since it does not let the listed host through and no other')
            del sides[name]
            continue
        looped = asks(name, curl(LOOPBACK, 'small'), LOOPBACK).returncode == 0
        found = 'reached' if looped else 'not reached'
        print(f'{name}: a listed name that leads to 127.0.0.1 is {found}')

    seen = {}
    for _ in range(ROUNDS):
        for name in sides:
            said = asks(name, curl(NAME, 'big'))
            if said.returncode:
                sys.exit(f'{name}: {said.stdout}{said.stderr}')
            seen.setdefault(('download', name), []).append(float(said.stdout.split()[-1]))
    for _ in range(3 * ROUNDS):
        for name in sides:
            words = sides[name].words('true', NAME)
            begin = time.perf_counter()
            run(*words, **here)
            seen.setdefault(('start', name), []).append(time.perf_counter() - begin)
    print(f'\nmilliseconds, median (minimum); download: {megabytes} MiB, by curl')
    print(f'{"":12} {"start":>20} {"download":>22} {"MiB/s":>7}  beside no sandbox')
    middle = {what: statistics.median(times) for what, times in seen.items()}
    for name in sides:
        cells = []
        for what in ('start', 'download'):
            times = seen[what, name]
            cells.append(f'{middle[what, name] * 1000:.1f} ({min(times) * 1000:.1f})')
        rate = megabytes / middle['download', name]
        ratio = middle['download', 'no sandbox'] / middle['download', name]
        print(f'{name:12} {cells[0]:>20} {cells[1]:>22} {rate:7.0f}  {ratio:.2f} x the speed')


if os.environ.get('RYE_BENCH_INSIDE'):
    main()
else:
    os.environ['RYE_BENCH_INSIDE'] = '1'
    os.execvp('unshare', ['unshare', '-Urnm', '--', sys.executable, *sys.argv])
