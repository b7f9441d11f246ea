#!/usr/bin/env python3
"""What a list of hosts costs: the same download and the same start, with it and without it.

    tests/bench/hosts.py target/release/rye [MEGABYTES]

Works in a network of its own (`unshare`, user namespaces), with a server of TLS (`openssl`) at a
public address of its loopback. Prints medians of runs that take turns, and their ratios.
"""
import fcntl
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ADDRESS, NAME = '93.184.216.34', 'files.example.org'
ROUNDS = 9


def network():
    """The loopback up, with a public address."""
    control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    fcntl.ioctl(control, 0x8914, struct.pack('16sH14s', b'lo', 0x41, bytes(14)))
    address = socket.inet_aton(ADDRESS)
    fields = struct.pack('16sH2s4s8s', b'lo:1', socket.AF_INET, bytes(2), address, bytes(8))
    fcntl.ioctl(control, 0x8916, fields)


def run(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f'{words}: {done.stdout}{done.stderr}')
    return done.stdout


def main():
    rye, megabytes = os.path.abspath(sys.argv[1]), int((sys.argv[2:] or ['512'])[0])
    network()
    top = tempfile.mkdtemp()
    os.chmod(top, 0o755)
    project, home = f'{top}/project', f'{top}/home'
    for folder in (project, home):
        os.mkdir(folder)
    with open(f'{top}/hosts', 'w') as hosts:
        hosts.write(f'127.0.0.1 localhost\n{ADDRESS} {NAME}\n')
    run('mount', '--bind', f'{top}/hosts', '/etc/hosts')
    run('openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
        '-days', '2', '-subj', f'/CN={NAME}', '-addext', f'subjectAltName=DNS:{NAME}',
        '-keyout', f'{top}/key.pem', '-out', f'{project}/ca.pem')
    with open(f'{top}/big', 'wb') as big:
        big.truncate(megabytes << 20)
    served = subprocess.Popen(
        ['openssl', 's_server', '-quiet', '-accept', f'{ADDRESS}:443', '-key', f'{top}/key.pem',
         '-cert', f'{project}/ca.pem', '-WWW'],
        cwd=top, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    env = {'HOME': home, 'PATH': os.environ['PATH'], 'LANG': 'C.UTF-8'}
    here = {'cwd': project, 'env': env}
    run(rye, 'init', **here)
    curl = f'curl -sS --cacert ca.pem -o /dev/null -w "%{{time_total}}" https://{NAME}/big'
    tools = {
        'through': (f'sandbox.net = {{hosts = ["{NAME}"]}}', curl),
        'hosts': (f'sandbox.net = {{hosts = ["{NAME}"]}}', 'true'),
        'none': ('sandbox.net = "none"', 'true'),
        'loopback': ('sandbox.net = "loopback"', 'true'),
    }
    os.makedirs(f'{project}/.ai/tools', exist_ok=True)
    for name, (sandbox, command) in tools.items():
        with open(f'{project}/.ai/tools/{name}.sh', 'w') as tool:
            tool.write(f'# /// rye\n# version = "1.0.0"\n# executor_id = "rye/core/runtimes/shell/script"\n'
                       f'# description = "measured"\n# {sandbox}\n# config.timeout = 300\n# ///\n{command}\n')
    run(rye, 'sign', '--yes', '.', **here)

    def download(tool):
        if tool is None:
            return float(run('sh', '-c', curl, **here))
        return float(run(rye, 'run', tool, **here))

    def start(tool):
        begin = time.perf_counter()
        run(rye, 'run', tool, **here)
        return time.perf_counter() - begin

    seen = {}
    for _ in range(ROUNDS):
        seen.setdefault('without a sandbox', []).append(download(None))
        seen.setdefault('through the proxy', []).append(download('through'))
    for _ in range(3 * ROUNDS):
        for tool in ('none', 'loopback', 'hosts'):
            seen.setdefault(f'start, net {tool}', []).append(start(tool))
    served.kill()
    middle = {what: statistics.median(times) for what, times in seen.items()}
    for what, seconds in middle.items():
        print(f'{what:20} {seconds * 1000:9.1f} ms')
    ratio = middle['without a sandbox'] / middle['through the proxy']
    more = (middle['start, net hosts'] - middle['start, net loopback']) * 1000
    print(f'download of {megabytes} MiB through the proxy: {ratio:.2f} x the speed without (goal 0.8)')
    print(f'start with hosts: {more:+.1f} ms beside `net: loopback` (goal +3.0)')


if os.environ.get('RYE_BENCH_INSIDE'):
    main()
else:
    os.environ['RYE_BENCH_INSIDE'] = '1'
    os.execvp('unshare', ['unshare', '-Urnm', '--', sys.executable, *sys.argv])
