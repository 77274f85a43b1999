# The image that the gate runs in: the interpreter with its locked packages, git, and the program; nothing else.
# A tag while developing; the release job passes the same tag with the digest that it has looked up.
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
SHELL ["/bin/sh", "-eu", "-c"]
WORKDIR /build
# `full` adds offline language detection, embeddings, and what Bedrock and Vertex need.
ARG PACKAGES=gate
COPY requirements/bootstrap.txt requirements/${PACKAGES}.txt requirements/
# The secret is optional: a bundle of certificates, for a network with an authority of its own.
RUN --mount=type=secret,id=ca \
    if [ -s /run/secrets/ca ]; then export PIP_CERT=/run/secrets/ca SSL_CERT_FILE=/run/secrets/ca; fi; \
    # The environment gets no pip of its own, and the files of a package are not written twice.
    python3 -m pip install --quiet --no-cache-dir --target /opt/bootstrap --only-binary :all: --require-hashes \
        -r requirements/bootstrap.txt; \
    python3 -m venv --without-pip /opt/ratiba; \
    /opt/bootstrap/bin/uv pip install --quiet --no-cache --link-mode hardlink --python /opt/ratiba/bin/python \
        --no-deps --require-hashes --only-binary :all: -r "requirements/${PACKAGES}.txt"; \
    # Tests that NumPy and SciPy ship: not even compiled.
    find /opt/ratiba/lib -name tests -type d \( -path '*/numpy/*' -o -path '*/scipy/*' \) -prune -exec rm -r {} +; \
    /opt/ratiba/bin/python -m compileall -q -j 0 /opt/ratiba/lib
COPY entrypoint.py /opt/ratiba/app/
COPY ratiba_action /opt/ratiba/app/ratiba_action
RUN /opt/ratiba/bin/python -m compileall -q /opt/ratiba/app

FROM ${BASE}
# The version of git is the base image's: what is pinned is the base.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log \
    # PostgreSQL's initdb asks for the name of its user. 1001 owns the workspace on GitHub's hosted runners.
    && groupadd --gid 1001 ratiba \
    && useradd --uid 1001 --gid 1001 --create-home --shell /usr/sbin/nologin ratiba \
    # A memory file system mounted over it takes this mode; whoever owns the workspace has to be able to write there.
    && chmod 1777 /home/ratiba
COPY --from=build /opt/ratiba /opt/ratiba
ARG REVISION=""
ARG VERSION=""
LABEL org.opencontainers.image.title="Ratiba Eval Gate" \
      org.opencontainers.image.description="A merge gate for changes to conversational LLM systems" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.version="${VERSION}"
# Read by the gate: the checkout here is a job's, of which the system under test sees tracked files alone.
ENV RATIBA_CONTAINER=1
USER 1001:1001
WORKDIR /workspace
ENTRYPOINT ["/opt/ratiba/bin/python", "-I", "/opt/ratiba/app/entrypoint.py"]
