"""What gunicorn serves: ``service.wsgi:app``."""

from service.app import create_app
from service.config import Settings
from service.logs import get_logger

settings = Settings.from_env()
app = create_app(settings)
get_logger(__name__).info("settings", **settings.public())
