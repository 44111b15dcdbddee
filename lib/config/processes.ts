import { availableParallelism } from "node:os";
import { z } from "zod";

const MAX_PROCESSES = 64;

/** `WEB_CONCURRENCY`: how many processes serve requests. */
export const processCount = z.string().transform((text, ctx): number | "auto" => {
  if (text.trim() === "auto") return "auto";
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= MAX_PROCESSES) return count;
  ctx.addIssue(`must be auto or a number from 1 to ${MAX_PROCESSES}`);
  return z.NEVER;
});

type Given = { WEB_CONCURRENCY: z.infer<typeof processCount>; DATABASE_URL?: string | undefined };

/** The embedded database can be opened by one process alone. */
export function processErrors({ WEB_CONCURRENCY, DATABASE_URL }: Given): string[] {
  if (DATABASE_URL || WEB_CONCURRENCY === "auto" || WEB_CONCURRENCY === 1) return [];
  return ["WEB_CONCURRENCY: several processes need PostgreSQL: set DATABASE_URL, or WEB_CONCURRENCY to 1"];
}

/** `auto`: one process for each core that the process may use; on the embedded database one. */
export function processesOf({ WEB_CONCURRENCY, DATABASE_URL }: Given): number {
  if (WEB_CONCURRENCY !== "auto") return WEB_CONCURRENCY;
  return DATABASE_URL ? Math.min(MAX_PROCESSES, availableParallelism()) : 1;
}
