"""FastAPI behind Penstock: uvicorn --no-proxy-headers fastapi_app:app"""
from common import SESSIONS, options
from fastapi import FastAPI, Request, Response

from penstock.asgi import PenstockMiddleware


def user(scope):
    return SESSIONS.get(dict(scope["headers"]).get(b"authorization", b"").decode("latin-1"))


app = FastAPI()
app.add_middleware(PenstockMiddleware, user=user, **options())


@app.api_route("/{path:path}", methods=["GET", "POST", "HEAD"])
async def hello(request: Request):
    return Response(f"hello {user(request.scope) or ''}\n", media_type="text/plain")
