// JavaScript: for TypeScript the running service would load a compiler.
/** @type {import("next").NextConfig} */
const config = {
  poweredByHeader: false,
  // Most entries are routes, which server.ts has in its own bundle: Next need not load them.
  // Nothing reads source maps or the compiler's cache, and both take most of the build's size and a third of its time.
  experimental: {
    preloadEntriesOnStart: false,
    serverMinification: false, // which takes almost half of a build: Turbopack minifies shared code once for each route
    turbopackFileSystemCacheForBuild: false,
    turbopackSourceMaps: false,
  },
  // No page needs Next's image resizing, which fetches and computes for whoever asks.
  images: { unoptimized: true },
  // Loaded from node_modules as they are: they read files of their own, or their classes must exist once a
  // process, since the context that server.ts composes reaches into what Next has compiled.
  serverExternalPackages: [
    "@apple/app-store-server-library",
    "@electric-sql/pglite",
    "@opentelemetry/api",
    "@opentelemetry/context-async-hooks",
    "@opentelemetry/core",
    "@opentelemetry/exporter-trace-otlp-http",
    "@opentelemetry/resources",
    "@opentelemetry/sdk-trace-base",
    "@parse/node-apn",
    "@prisma/adapter-pg",
    "@prisma/schema-engine-wasm",
    "fs-native-extensions",
    "next-auth",
    "nodemailer",
    "pg",
    "pglite-prisma-adapter",
    "pino",
    "prom-client",
    "semver",
    "web-push",
  ],
  // What pages carry comes from proxy.ts; files that never change need no more than this.
  headers: async () =>
    ["/_next/static/:file*", "/icon.svg"].map((source) => ({
      source,
      headers: [{ key: "X-Content-Type-Options", value: "nosniff" }],
    })),
  // Types are checked by `npm run check`, over the tests and scripts as well.
  typescript: { ignoreBuildErrors: true },
};

export default config;
