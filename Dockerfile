# The portal with its Copilot CLI, as a user without privileges.
#
#   docker build -t portal --build-arg VERSION="$(git describe --tags --always)" .
#   docker run --init -p 127.0.0.1:8888:8888 -e PORTAL_TOKEN=… -v portal:/data -v "$PWD:/work" portal
#
# spec/installing.md, "A container", says how to sign in.
FROM golang:1.26-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends npm && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CI=1 make build VERSION="$VERSION"

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates curl git && rm -rf /var/lib/apt/lists/* \
	&& useradd --create-home --uid 1000 portal && install -d -o portal -g portal /data /work
COPY --from=build /src/bin/portal /src/bin/copilot /usr/local/bin/
USER portal
WORKDIR /work
# Beyond loopback the portal requires a token: PORTAL_TOKEN, or the one that it prints.
ENV PORTAL_HOST=0.0.0.0 PORTAL_DATA_DIR=/data/portal COPILOT_HOME=/data/copilot
VOLUME /data
EXPOSE 8888
# Any response will do: without the token, it is 401.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s CMD ["curl", "-sS", "-o", "/dev/null", "http://localhost:8888/health"]
ENTRYPOINT ["portal"]
