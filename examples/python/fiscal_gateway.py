"""A client of the fiscal receipt gateway in one file: Python 3.8 or newer and the package `cryptography`."""

import base64
import hashlib
import hmac
import http.client
import json
import random
import re
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request

from cryptography.hazmat.primitives.serialization import load_pem_private_key

ATTEMPTS = 8
# Who is to wait longer, as for a new day's quota, is asked again later by its caller.
LONGEST_PAUSE_S = 10
PENDING = ("accepted", "sending", "awaiting_payment")


class Refused(Exception):
    """The gateway's answer is a refusal. `code` is for programs; `errors` names every fault with its place in the body."""

    def __init__(self, status, problem):
        self.status = status
        self.code = problem.get("code", f"http_{status}")
        self.errors = problem.get("errors", [])
        super().__init__(f"{status} {self.code}: {problem.get('detail', '')}")


class NoAnswer(Exception):
    """A sale may have been made: keep its key, and send the same sale with the same key later."""


class FiscalGateway:
    def __init__(self, url, client_id, client_secret, key_id, private_key_pem):
        self.url = url.rstrip("/")
        self.basic = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
        self.key_id = key_id
        self.private_key = load_pem_private_key(private_key_pem, password=None)
        self.token = None
        self.token_until = 0.0

    def sell(self, sale, key):
        """The receipt, perhaps still on its way: check its status."""
        return self._call("POST", "/v1/receipts", sale, key)

    def refund(self, sale_id, refund, key):
        return self._call("POST", f"/v1/receipts/{sale_id}/refunds", refund, key)

    def wait_until_final(self, receipt, seconds=60):
        """`unknown` ends the waiting too: a person decides what follows."""
        deadline = time.monotonic() + seconds
        while receipt["status"] in PENDING and time.monotonic() < deadline:
            time.sleep(random.uniform(0.2, 0.5))
            receipt = self._call("GET", f"/v1/receipts/{receipt['id']}")
        return receipt

    def _call(self, method, path, value=None, key=None):
        """Repeats what may be repeated: reads, and writes under a key. Every attempt is signed anew."""
        body = None if value is None else json.dumps(value).encode()
        may_be_done = False
        for attempt in range(1, ATTEMPTS + 1):
            pause = random.uniform(0, min(10, 0.25 * 2**attempt))
            try:
                return self._attempt(method, path, body, key)
            except Refused as refused:
                may_be_done = may_be_done or refused.status == 408 or refused.status >= 500
                is_last = attempt == ATTEMPTS or refused.retry_after > LONGEST_PAUSE_S
                if refused.status == 401 and refused.code == "invalid_token" and not is_last:
                    self.token = None
                elif not may_repeat(refused) or is_last:
                    if key is not None and may_be_done and says_nothing(refused):
                        raise NoAnswer(f"{method} {path}") from refused
                    raise
                pause += refused.retry_after
            except (OSError, http.client.HTTPException, ValueError) as error:
                # Nothing came back, or half of it. With the key the repeat finds what was done.
                may_be_done = True
                if attempt == ATTEMPTS:
                    raise NoAnswer(f"{method} {path}") from error
            time.sleep(pause)
        raise NoAnswer(f"{method} {path}")

    def _attempt(self, method, path, body, key):
        headers = {"authorization": f"Bearer {self._access_token()}"}
        if body is not None:
            digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
            headers["content-type"] = "application/json"
            headers["content-digest"] = f"sha-256=:{digest}:"
        if key is not None:
            headers["idempotency-key"] = key
        headers.update(self._signature(method, path, headers))
        # Without it the gateway waits for the register for ten seconds.
        headers["prefer"] = "respond-async"
        return self._send(urllib.request.Request(self.url + path, data=body, headers=headers, method=method))

    def _signature(self, method, path, headers):
        url = urllib.parse.urlsplit(self.url + path)
        values = {"@method": method, "@authority": url.netloc, "@path": url.path, "@query": "?" + url.query, **headers}
        created = int(time.time())
        params = "(" + " ".join(f'"{name}"' for name in values) + ")"
        params += f';created={created};expires={created + 300};nonce="{secrets.token_urlsafe(16)}"'
        params += f';keyid="{self.key_id}";alg="ed25519";tag="fgw-v1"'
        base = "\n".join(f'"{name}": {text}' for name, text in {**values, "@signature-params": params}.items())
        signature = base64.b64encode(self.private_key.sign(base.encode())).decode()
        return {"signature-input": f"fgw={params}", "signature": f"fgw=:{signature}:"}

    def _access_token(self):
        if self.token is None or time.monotonic() > self.token_until:
            headers = {"authorization": f"Basic {self.basic}"}
            form = b"grant_type=client_credentials"
            answer = self._send(urllib.request.Request(self.url + "/oauth/token", data=form, headers=headers))
            self.token = answer["access_token"]
            self.token_until = time.monotonic() + answer["expires_in"] * 0.8
        return self.token

    @staticmethod
    def _send(request):
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            try:
                problem = json.loads(error.read())
            except ValueError:
                problem = {}
            refused = Refused(error.code, problem)
            retry_after = error.headers.get("retry-after", "")
            refused.retry_after = int(retry_after) if retry_after.isdigit() else 0
            raise refused from None


def may_repeat(refused):
    # A proxy in between may have sent the request twice (nonce_replayed): the key makes the repeat harmless.
    codes = ("idempotency_in_progress", "nonce_replayed")
    return refused.status in (408, 425, 429, 500, 502, 503, 504) or refused.code in codes


def says_nothing(refused):
    """Whether it is about who asks, or when, and says nothing about the sale: that may have been made by an attempt before."""
    return may_repeat(refused) or refused.status in (401, 403)


class NotOurs(Exception):
    """Not a webhook of the gateway, or an old one: answer with 400 and do nothing."""


def verify_webhook(body, headers, webhook_secrets, tolerance=300):
    """The event, if it is signed with one of the secrets. `body`: the bytes as they came."""
    identifier, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    # Of what `isdigit` takes, `int` refuses some: ², and thousands of digits.
    if not re.fullmatch("[0-9]{1,11}", timestamp) or abs(time.time() - int(timestamp)) > tolerance:
        raise NotOurs("too old, or from the future")
    signed = f"{identifier}.{timestamp}.".encode() + body
    for secret in webhook_secrets:
        if not re.fullmatch(r"whsec_\S+", secret):
            # With an empty key anyone could sign.
            continue
        digest = hmac.new(base64.b64decode(secret[len("whsec_") :]), signed, hashlib.sha256).digest()
        expected = "v1," + base64.b64encode(digest).decode()
        if any(hmac.compare_digest(one.encode(), expected.encode()) for one in headers.get("webhook-signature", "").split(" ")):
            return json.loads(body)
    raise NotOurs("no signature fits")
