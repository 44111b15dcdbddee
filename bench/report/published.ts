import { existsSync, readFileSync } from "node:fs";
import type { Section } from "../lib/table";
import type { About } from "./about";

/** The medians in the docs, by workload; each section with the run that it is from. */
export type Published = Record<string, Section & { about: About }>;

export const PUBLISHED_FILE = "bench/published.json";

export function readPublished(): Published {
  return existsSync(PUBLISHED_FILE) ? JSON.parse(readFileSync(PUBLISHED_FILE, "utf8")) : {};
}
