import { expect, test } from "vitest";
import { z } from "zod";
import { fieldMessage } from "@/lib/platform/field-message";

const messageOf = (schema: z.ZodType, value: unknown) =>
  schema.safeParse(value, { error: fieldMessage }).error?.issues[0]?.message;

test.each<[string, z.ZodType, unknown]>([
  ["Required", z.string(), undefined],
  ["Must be text", z.string(), 1],
  ["Must be an integer", z.int(), 1.5],
  ["Must be a list", z.array(z.string()), "a"],
  ["Must not be empty", z.string().min(1), ""],
  ["Must be at least 2 characters long", z.string().min(2), "a"],
  ["Must be at most 80 characters long", z.string().max(80), "a".repeat(81)],
  ["Must be at least 1", z.number().min(1), 0],
  ["Must have at most 1 entry", z.array(z.string()).max(1), ["a", "b"]],
  ["Must be a UUID", z.uuid(), "1"],
  ["Must be an email address", z.email(), "a"],
  ["Must be a time such as 2027-01-31T06:00:00Z", z.iso.datetime(), "tomorrow"],
  ["Must be in the right format", z.string().regex(/a/), "b"],
  ["Must be a multiple of 0.1", z.number().multipleOf(0.1), 0.15],
  ["Must be one of a, b", z.enum(["a", "b"]), "c"],
  ["Must be a", z.literal("a"), "b"],
  ["Unknown: b", z.strictObject({}), { b: 1 }],
  ["Must have its own message", z.string().max(1, "Must have its own message"), "ab"],
])("a wrong value is described in our own words: %s", (message, schema, value) => {
  expect(messageOf(schema, value)).toBe(message);
});
