"""Receives webhooks and accepts only what is signed: PORT=3000 WEBHOOK_SECRETS="whsec_…" python3 webhook.py"""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from fiscal_gateway import NotOurs, verify_webhook

SECRETS = os.environ["WEBHOOK_SECRETS"].split()
# In earnest a table of whole events, each as not done yet: the same one may come twice.
seen = set()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            event = verify_webhook(body, self.headers, SECRETS)
        except NotOurs as error:
            print(f"refused: {error}", flush=True)
            self.answer(400)
            return
        if event["id"] not in seen:
            print(f"event {event['type']} {event['id']}", flush=True)
        seen.add(event["id"])
        # Answer within ten seconds, once it is kept; then work on what the table has as not done.
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_args):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Receiver)
print("listening", flush=True)
server.serve_forever()
