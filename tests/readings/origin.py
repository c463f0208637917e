"""Python's own server, and one that splits and decodes as its users do: origin.py ROOT PORT PORT."""

import http.server
import posixpath
import sys
import threading
import urllib.parse

root = sys.argv[1]


class Plain(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *arguments):
        super().__init__(*arguments, directory=root)

    def log_message(self, *arguments):
        pass


class Split(Plain):
    """The path of `urlsplit`, decoded, then normalised."""

    def translate_path(self, path):
        path = posixpath.normpath("/" + urllib.parse.unquote(urllib.parse.urlsplit(path).path))
        return root + "/" + path.lstrip("/")


def serve(port, handler):
    http.server.ThreadingHTTPServer(("127.0.0.1", port), handler).serve_forever()


threading.Thread(target=serve, args=(int(sys.argv[2]), Plain), daemon=True).start()
serve(int(sys.argv[3]), Split)
