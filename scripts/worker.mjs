import "./build.mjs";

process.env.NODE_ENV = "production";
await import("../.next/bin/worker.mjs");
