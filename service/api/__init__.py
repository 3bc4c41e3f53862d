"""The service over HTTP: a blueprint a resource, shapes in `schemas`, statuses in `problem.py`.

Views are thin: they read a request into plain values, call one use case of `service.games` and
write its plain answer as JSON. They know no rules, and no Redis."""
