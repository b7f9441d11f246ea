"""What schemathesis does to its requests before they are sent; `check.py` starts it with this."""

import os

import schemathesis
from requests.auth import AuthBase

from fixture import Caller, sha256

caller = Caller(os.environ["NODE"], bytes.fromhex(os.environ["SEED"]))


class Signed(AuthBase):
    """Each request is signed as a caller does, or names the token of the operator."""

    def __call__(self, request):
        if request.path_url == "/metrics":
            request.headers["Authorization"] = "Bearer " + os.environ["TOKEN"]
            return request
        return caller(request)


schemathesis.auth.set_from_requests(Signed())


@schemathesis.hook
def before_call(context, case, kwargs):
    """Mends what a schema cannot say, where the request is meant to be a good one."""
    if not case.meta.generation.mode.is_positive:
        return
    if case.operation.label == "PUT /objects/{digest}":
        # The path is the digest of the body.
        case.path_parameters["digest"] = sha256(case.as_transport_kwargs().get("data") or b"")
    if case.operation.label == "POST /execute" and isinstance(case.body.get("timeout_ms"), float):
        # To a schema 1.0 is an integer.
        case.body["timeout_ms"] = int(case.body["timeout_ms"])
