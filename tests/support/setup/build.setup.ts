import { execFileSync } from "node:child_process";

/** Builds what `npm start` runs where it is out of date: once, before the tests that start it at the same time. */
export default function setup(): void {
  execFileSync(process.execPath, ["scripts/build.mjs"], { stdio: ["ignore", "ignore", "inherit"] });
}
