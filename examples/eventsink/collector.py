"""collector.py: a collector that prints the Events that it takes.

python examples/eventsink/collector.py run PORT
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Printer(BaseHTTPRequestHandler):
    """Answers a batch of CloudEvents with 204 when it is printed."""

    def do_POST(self) -> None:
        for event in json.loads(self.rfile.read(int(self.headers["Content-Length"]))):
            print(f"{event['data'].get('reason')}: {event['data'].get('note')}", flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged."""


if __name__ == "__main__":
    with HTTPServer(("127.0.0.1", int(sys.argv[2])), Printer) as server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.exit(0)
