# Receives the notices of a verifyd and prints each once, without a library.
# WEBHOOK_SECRET=whsec_... LISTEN=9000 python3 receiver.py
import base64
import binascii
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
saved = set()  # a real receiver keeps the ids in its database


def authentic(headers, body):
    id, sent = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not id or not sent.isdecimal() or abs(time.time() - int(sent)) > 300:
        return False
    want = hmac.new(KEY, f"{id}.{sent}.".encode() + body, hashlib.sha256).digest()
    for entry in headers.get("webhook-signature", "").split(" "):
        version, _, text = entry.partition(",")
        try:
            got = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            continue
        if version == "v1" and hmac.compare_digest(got, want):
            return True
    return False


class Receiver(BaseHTTPRequestHandler):
    timeout = 15  # seconds, of a connection that sends nothing

    def do_POST(self):
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > 1 << 20:
            return self.answer(413)
        body = self.rfile.read(int(length))
        if not authentic(self.headers, body):
            return self.answer(401)
        id = self.headers["webhook-id"]
        if id not in saved:
            notice = json.loads(body)
            print(f"{id} {notice['type']} of {notice['data']['reference_id']}", flush=True)
            saved.add(id)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()

    def log_message(self, format, *args):
        pass  # a real receiver logs


host, _, port = os.environ["LISTEN"].rpartition(":")
server = HTTPServer((host or "127.0.0.1", int(port)), Receiver)
print(f"listening on {server.server_port}", file=sys.stderr, flush=True)
server.serve_forever()
