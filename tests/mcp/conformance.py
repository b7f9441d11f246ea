"""Runs the official conformance suite against `rye mcp --http`.

    python tests/mcp/conformance.py target/debug/rye NODE SUITE

NODE is a Node.js of version 22 or later, SUITE the `dist/index.js` of the npm package
`@modelcontextprotocol/conformance`. The suite knows no token, and reads fixed addresses such as
`test://static-text`, where a page of rye is `rye://knowledge/static-text`: a door on another port adds the
one, spells the other, and changes nothing else. Each revision that rye speaks is tried with what it requires;
`conformance.yaml` and `conformance-2026-07-28.yaml` list the scenarios that do not apply.
"""

import http.client
import http.server
import pathlib
import subprocess
import sys
import threading
import urllib.parse

from fixture import PAGES, project

# What the server is told: each tool by its name, and the person at the client is asked.
SERVED = ("--expose", "tool:*", "--approve-by-elicitation")

# The revisions that rye speaks, each with the list of what does not apply.
REVISIONS = {"2025-11-25": "conformance.yaml", "2026-07-28": "conformance-2026-07-28.yaml"}

HOP = {"connection", "keep-alive", "transfer-encoding", "te", "upgrade"}


def spelled(text):
    """The text with the addresses of the fixture's pages as rye spells them."""
    for page in PAGES:
        text = text.replace(f"test://{page}", f"rye://knowledge/{page}")
    return text


def door(url, token):
    """Passes requests on with the token, and with the addresses of rye."""
    at = urllib.parse.urlsplit(url)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            body = spelled(body.decode()).encode()
            to = http.client.HTTPConnection(at.hostname, at.port, timeout=120)
            to.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in HOP | {"content-length"}:
                    to.putheader(name, spelled(value))
            to.putheader("Content-Length", str(len(body)))
            to.putheader("Authorization", f"Bearer {token}")
            to.endheaders(body)
            answer = to.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in HOP | {"content-length"}:
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            try:
                while piece := answer.read1(65536):
                    self.wfile.write(piece)
                    self.wfile.flush()
            except (OSError, http.client.HTTPException):
                # One of both sides went away.
                pass
            finally:
                to.close()

        do_GET = do_POST = do_DELETE = pass_on

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}{at.path}"


def main(rye, node, suite):
    """The suite, with what does not apply."""
    here = pathlib.Path(__file__).parent
    failed = 0
    with project(rye) as of, of.http(*SERVED) as (url, token):
        for revision, known in REVISIONS.items():
            print(f"\n# the revision {revision}", flush=True)
            command = [node, suite, "server", "--url", door(url, token), "--requirements", revision,
                       "--expected-failures", here / known]
            failed |= subprocess.run(command, cwd=of.path, timeout=300, check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
