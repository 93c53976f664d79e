# The image of jobledger: `docker build --tag jobledger:0.1.0 .`
#
# The base is pinned by tag only, since what a tag stands for differs by registry and is repaired over time. Who needs
# the same bytes again names it by digest, and the time by the commit:
#
#   docker buildx build --build-arg BASE=python@sha256:… --build-arg SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" \
#       --output type=image,name=jobledger:0.1.0,rewrite-timestamp=true .
#
# `deploy/image-steps.sh` runs the steps of the first stage without a container.
ARG BASE=python:3.13-slim-trixie

FROM ${BASE} AS build
ARG SOURCE_DATE_EPOCH=1767225600
ARG PREFIX=/opt/jobledger
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build

# Wheels only, and only those of the lock: nothing is compiled here, and there is nothing to compile with.
COPY requirements/cluster.txt requirements/
RUN python -m venv --without-pip "$PREFIX" && \
    python -m pip --python "$PREFIX" install --quiet --no-compile --only-binary :all: --require-hashes \
        --requirement requirements/cluster.txt

COPY pyproject.toml README.md LICENSE NOTICE ./
COPY jobledger/ jobledger/
COPY projectors/ projectors/
COPY k8s_bridge/ k8s_bridge/
COPY statemachine/ statemachine/
RUN python -m pip --python "$PREFIX" install --quiet --no-compile --no-index --no-deps --no-build-isolation . && \
    python -m pip --python "$PREFIX" uninstall --quiet --yes setuptools

# Bytecode is made here, as the file system is read-only later, and does without times, as all are set to one; what pip
# has left of it, with times, is replaced. None for the generated classes of the Kubernetes client (50 MB): they are
# loaded on demand, and no role demands them.
RUN "$PREFIX/bin/python" -m compileall -q -f -x 'kubernetes/.*client/(api|models)/[^_]' \
        --invalidation-mode unchecked-hash "$PREFIX/lib" && \
    find "$PREFIX" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
RUN mkdir state

FROM ${BASE}
LABEL org.opencontainers.image.title="jobledger" \
      org.opencontainers.image.description="Controller for distributed training jobs whose event log is the truth" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/jobledger /opt/jobledger
# Where stores are kept: a new volume there belongs to the user below.
COPY --from=build --chown=65532:65532 /build/state/ /var/lib/jobledger/
ENV PATH=/opt/jobledger/bin:$PATH
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/opt/jobledger/bin/jobledger"]
CMD ["controller"]
