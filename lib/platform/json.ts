import type { z } from "zod";

/** The JSON in a text, as a schema has it; null for anything else. */
export function readJson<Schema extends z.ZodType>(schema: Schema, text: string): z.infer<Schema> | null {
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null; // not JSON
  }
}
