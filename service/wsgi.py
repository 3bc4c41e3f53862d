"""What gunicorn serves: ``service.wsgi:app``."""

from service.app import create_app
from service.config import Settings
from service.logs import get_logger
from service.tracing import start_tracing

settings = Settings.from_env()
# gunicorn loads this in each of its workers.
start_tracing(settings.otlp_endpoint, "api")
app = create_app(settings)
get_logger(__name__).info("settings", **settings.public())
