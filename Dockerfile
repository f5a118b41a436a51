# One image for the gateway (the default command), the worker and the simulator.

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
RUN node apps/launcher/build.mjs

FROM node:24-bookworm-slim
WORKDIR /app
# Inside a container the door is the published port.
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    WORKER_HOST=0.0.0.0 \
    SIMULATOR_HOST=0.0.0.0
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force
COPY --from=build /app/dist dist
COPY --from=build /app/apps/gateway/public apps/gateway/public
COPY --from=build /app/apps/simulator/public apps/simulator/public
# In the container of a gateway, its own key serves its own gateway.
RUN printf '#!/bin/sh\nTIDINGS_CHECKOUT_KEY="$API_KEY" TIDINGS_CHECKOUT_URL="http://127.0.0.1:${PORT:-3000}" exec node /app/dist/cli.js "$@"\n' > /usr/local/bin/tidings && chmod 755 /usr/local/bin/tidings
# A volume that is mounted here for the first time takes over the owner.
RUN mkdir -p .data/blobs .data/simulator && chown -R node:node .data
USER node
EXPOSE 3000 3001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "dist/apps/launcher/src/health-check.js"]
CMD ["node", "dist/gateway.js"]
