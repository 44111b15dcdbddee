import type { NextConfig } from "next";
import { EXTERNAL_PACKAGES } from "./scripts/build/external-packages.mjs";
import { hashSources } from "./scripts/build/fingerprint.mjs";

// Read by the build alone: the running service gets what the build resolved (server.ts).
const config: NextConfig = {
  poweredByHeader: false,
  generateBuildId: () => hashSources().slice(0, 20), // random otherwise
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
  serverExternalPackages: EXTERNAL_PACKAGES,
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
