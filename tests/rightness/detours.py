"""What an application makes of the path that its server hands it: one of gunicorn (WSGI), one of Daphne (ASGI)."""


def wsgi(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ["PATH_INFO"].encode("latin1")]


async def asgi(scope, receive, send):
    # `root_path` is no part of the path that a framework looks a page up by.
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": path.encode()})
