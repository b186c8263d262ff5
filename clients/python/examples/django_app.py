"""Django in one file behind Penstock: gunicorn django_app:application"""
import django
from common import SESSIONS, options
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import re_path


def user(request):
    """Without this function whoever is logged in by django.contrib.auth counts."""
    return SESSIONS.get(request.headers.get("Authorization"))


settings.configure(
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="only an example",
    MIDDLEWARE=["penstock.django.PenstockMiddleware"],
    PENSTOCK={"user": user, **options()},
)


def hello(request):
    return HttpResponse(f"hello {user(request) or ''}\n", content_type="text/plain")


urlpatterns = [re_path("", hello)]
django.setup()
application = get_wsgi_application()
