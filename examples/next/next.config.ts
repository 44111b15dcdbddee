import type { NextConfig } from "next";

const config: NextConfig = {
  // Else Next takes the folder of a lock file further up for the app's.
  turbopack: { root: import.meta.dirname },
};

export default config;
