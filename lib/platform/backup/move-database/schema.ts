import { z } from "zod";
import { postgresUrl } from "../../config/database";

export const NewDatabaseMove = z.strictObject({
  to: postgresUrl.describe("The URL of the PostgreSQL database. It has to be empty."),
});
export type NewDatabaseMove = z.infer<typeof NewDatabaseMove>;

const Result = z.object({
  rows: z.int().min(0),
  tables: z.int().min(0),
  resumedTables: z.int().min(0).describe("Tables that an interrupted move had copied."),
  pausedMs: z.number().min(0).describe("How long writes waited for the last changes."),
});

export const DatabaseMove = z.object({
  state: z.enum(["none", "running", "moved", "failed"]),
  to: z.string().nullable().describe("The new database, without its password."),
  step: z.enum(["copying", "indexing", "finishing"]).nullable(),
  share: z.number().min(0).max(1).describe("The share of the step that is done."),
  result: Result.nullable().describe("What was moved, in the state `moved`."),
  error: z
    .object({ code: z.string(), message: z.string() })
    .nullable()
    .describe("Why the move ended, in the state `failed`."),
});
export type DatabaseMove = z.infer<typeof DatabaseMove>;
