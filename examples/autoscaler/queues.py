"""queues.py: a server of queues that stands for a broker: a PUT sets the length of a queue, a GET says it.

python examples/autoscaler/queues.py run PORT
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Lengths(BaseHTTPRequestHandler):
    """The lengths of queues, in memory."""

    numbers: dict[str, int] = {}

    def do_PUT(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode("ascii", "replace")
        if not text.isdecimal():
            self.send_error(400, f"a length is a number: {text!r}")
            return
        self.numbers[self.path] = int(text)
        self.do_GET()

    def do_GET(self) -> None:
        body = json.dumps({"messages": self.numbers.get(self.path, 0)}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Requests are not logged."""


if __name__ == "__main__":
    with HTTPServer(("127.0.0.1", int(sys.argv[2])), Lengths) as server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.exit(0)
