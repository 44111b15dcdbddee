/**
 * Loaded from node_modules as they are, by the pages and by the server: they read files of their own, or their classes must
 * exist once a process, since the context that server.ts composes reaches into what Next has compiled. JavaScript, because
 * the build reads it, too, and Node 20 imports no TypeScript.
 */
export const EXTERNAL_PACKAGES = [
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
  "pino",
  "prom-client",
  "semver",
  "web-push",
];
