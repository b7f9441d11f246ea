"""Two hosts, TLS between them, and a line that is cut.

    python3 tests/node/two_hosts.py <rye>

Needs root or user namespaces, `ip` and `ss` (iproute2) and `openssl`. Each host is a network
namespace, made for this process and gone with it. A person walks as README.md says, from two empty
homes to the outputs of a run; then the line is cut in the middle of a push, and of a run's events.
"""

import hashlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from fixture import Home

NODE, CALLER, ROAMED, PORT = "10.93.184.2", "10.93.184.1", "10.93.184.7", 8700

TOOL = """#!/bin/bash
# /// rye
# version = "1.0.0"
# tool_type = "tool"
# category = "acme"
# executor_id = "rye/core/runtimes/shell/script"
# description = "A tool of the caller"
# remote = {inputs = ["data/**"], outputs = ["out/**"]}
# [sandbox.fs]
# write = ["{project_path}"]
# ///
"""
SUMS = TOOL + "mkdir out\ncd data\nsha256sum * >../out/sums\n"
LINES = 60
TALKS = TOOL + f"for n in $(seq {LINES}); do echo line $n; sleep 0.1; done\n"


def sh(*words, **more):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def another_host():
    """A namespace at the other end of a line from this one: the process that holds it."""
    host = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
    own = os.readlink("/proc/self/ns/net")
    while os.readlink(f"/proc/{host.pid}/ns/net") == own:
        time.sleep(0.01)
    sh("ip", "link", "add", "name", "here", "type", "veth", "peer", "name", "there", "netns", str(host.pid))
    inside = ["nsenter", "--net", "--target", str(host.pid)]
    for way, line, address in (([], "here", CALLER), (inside, "there", NODE)):
        sh(*way, "ip", "address", "add", f"{address}/24", "dev", line)
        for up in ("lo", line):
            sh(*way, "ip", "link", "set", up, "up")
    return host, inside


def certificate(folder):
    """An authority, and a certificate of the node by it."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    (folder / "names").write_text(f"subjectAltName=IP:{NODE}\n")
    sh("openssl", "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca", cwd=folder)
    sh("openssl", "req", *key, "-keyout", "key.pem", "-out", "asked.pem", "-subj", "/CN=node", cwd=folder)
    sh("openssl", "x509", "-req", "-in", "asked.pem", "-CA", "ca.pem", "-CAkey", "ca.key",
       "-CAcreateserial", "-extfile", "names", "-out", "cert.pem", cwd=folder)


def sent():
    """Bytes that went over the line to the node."""
    row = re.search(r"here:(.*)", pathlib.Path("/proc/self/net/dev").read_text()).group(1)
    return int(row.split()[8])


def cut(inside):
    """Takes the line away, with every connection over it, and gives it back."""
    sh("ip", "link", "set", "here", "down")
    kill = ["ss", "--kill", "--tcp", "--numeric", f"( sport = :{PORT} or dport = :{PORT} )"]
    killed = [sh(*way, *kill) for way in ([], inside)]
    assert all(f":{PORT}" in side for side in killed), killed
    time.sleep(2)
    sh("ip", "link", "set", "here", "up")


def roam(_inside):
    """Gives this host another address; no word of that goes over the connections there are."""
    sh("ip", "address", "flush", "dev", "here")
    sh("ip", "address", "add", f"{ROAMED}/24", "dev", "here")


def refused(home, code, *args, status=4):
    assert home.json(*args, status=status)["code"] == code


def walk(caller, operator, node):
    """From two empty homes to a first result: the steps of README.md."""
    url = f"https://{NODE}:{PORT}"
    caller.run("init")
    refused(caller, "remote.unreachable", "remote", "add", "gpu", url, "--node", node.name, status=7)
    caller.env["SSL_CERT_FILE"] = str(operator.project.parent / "ca.pem")
    refused(caller, "remote.not_https", "remote", "add", "gpu", url.replace("https", "http"))
    refused(caller, "remote.key_changed", "remote", "add", "gpu", url, "--node", "0" * 32)
    refused(operator, "remote.listen", "serve", "--listen", f"{NODE}:0", status=7)
    told = operator.json("node", "identity")
    assert told["node"] == node.name
    key = caller.json("remote", "add", "gpu", url, "--node", told["node"])["own_key"]
    refused(caller, "remote.unknown_key", "execute", "rye/bash", "-i", "command=id", "--target", "remote:gpu")
    signer = caller.json("keys", "show")["fingerprint"]
    operator.run("trust", "add", key, "--yes")
    operator.run("node", "authorize", key, "--signers", signer, "--name", "laptop", "--yes",
                 "--scopes", "execute:tool:rye/bash,execute:tool:acme/**,objects")
    told = caller.json("execute", "rye/bash", "-i", "command=ip -brief address", "--target", "remote:gpu")
    assert told["data"]["stdout"].startswith("lo"), told
    assert caller.json("remote", "ping", "gpu")["authorized"]
    print("two homes, TLS, and a shipped tool")


def pushes(caller, inside):
    """Outputs of pushed files, though the line is cut in the middle of the push."""
    maker, sums = random.Random(1), {}
    for number in range(10):
        data = maker.randbytes(3_000_000)
        sums[f"part-{number}"] = hashlib.sha256(data).hexdigest()
        file = caller.project / f"data/part-{number}"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
    # Else it is over before it can be cut.
    sh("tc", "qdisc", "add", "dev", "here", "root", "tbf", "rate", "100mbit", "burst", "64k", "latency", "50ms")
    before, child = sent(), caller.start("execute", "tool:acme/sums", "--target", "remote:gpu", "--json")
    while sent() < before + 14_000_000:
        assert child.poll() is None, child.communicate()
        time.sleep(0.005)
    cut(inside)
    out, error = child.communicate(timeout=100)
    assert child.returncode == 0, out + error
    got = dict(reversed(row.split()) for row in (caller.project / "out/sums").read_text().splitlines())
    assert got == sums, got
    total = (sent() - before) / 1e6
    # What was there when the line broke is not sent again.
    assert total < 38, f"{total} MB were sent for 30 MB"
    print(f"a push of 30 MB goes on behind the cut: {total:.0f} MB were sent")


def tells(caller, broken, inside):
    """Each line of a run that goes on, once, though the line is broken in the middle of them."""
    run = caller.json("execute", "tool:acme/talks", "--target", "remote:gpu", "--async")["thread_id"]
    child, heard = caller.start("thread", "tail", run), []
    for line in child.stdout:
        heard.append(line.strip())
        if heard[-1] == "line 20":
            broken(inside)
    assert child.wait(60) == 0, child.stderr.read()
    said = [line for line in heard if line.startswith("line ")]
    assert said == [f"line {n}" for n in range(1, LINES + 1)], heard
    assert caller.json("thread", "wait", run)["status"] == "success"
    print(f"{LINES} lines of a run are told once each, before and behind `{broken.__name__}`")


def main(rye):
    for name in ("ip", "ss", "tc", "openssl", "unshare", "nsenter"):
        assert shutil.which(name), f"`{name}` is not here (packages iproute2, openssl, util-linux)"
    if os.environ.get("RYE_HOST_OF") != str(os.getpid()):
        # The namespace of the caller; with all below it, it goes with this process.
        as_root = [] if os.getuid() == 0 else ["--map-root-user"]
        os.environ["RYE_HOST_OF"] = str(os.getpid())
        os.execvp("unshare", ["unshare", "--net", *as_root, "--", sys.executable, *sys.argv])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("asked to end"))
    host, inside = another_host()
    try:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            folder.chmod(0o755)
            operator, caller = Home(rye, folder / "there", inside), Home(rye, folder / "here")
            certificate(folder / "there")
            tls = ("--tls-cert", "../cert.pem", "--tls-key", "../key.pem")
            with operator.node(*tls, listen=f"{NODE}:{PORT}") as node:
                walk(caller, operator, node)
                for name, text in (("sums", SUMS), ("talks", TALKS)):
                    caller.write(f".ai/tools/acme/{name}.sh", text)
                caller.run("sign", "--all")
                pushes(caller, inside)
                tells(caller, cut, inside)
                if os.environ.get("RYE_TEST") == "all":
                    # It takes half a minute until such a connection is given up.
                    tells(caller, roam, inside)
    finally:
        host.kill()
        host.wait()


if __name__ == "__main__":
    main(sys.argv[1])
