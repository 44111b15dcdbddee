import { expect, test } from "vitest";
import { z } from "zod";
import { decodeFields } from "@/lib/platform/http/form-fields";
import { Time } from "@/lib/platform/storable";

const Params = z.object({ id: z.uuid().toLowerCase() });
const Body = z.strictObject({
  types: z.array(z.enum(["created", "deleted"])).min(1),
  ids: z.array(z.uuid()).default([]),
  since: Time.optional(),
  limit: z.int().max(200).default(50),
  all: z.boolean().default(false),
  note: z.string().nullish(),
});
const ID = "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11";

function decode(given: Record<string, string>, schemas: readonly z.ZodType[] = [Params, Body]) {
  const form = z.record(z.string(), z.string()).transform((fields, context) => decodeFields(schemas, fields, context));
  const { data, error } = form.safeParse(given);
  return data ?? error?.issues.map(({ path, message }) => [path.join("/"), message]);
}

test("a form has the values of a request: lists that are checked or typed, times in UTC, numbers, what is on", () => {
  const given = { id: ID.toUpperCase(), "types.deleted": "on", "types.created": "on", ids: `${ID}, ${ID}` };
  expect(decode({ ...given, since: "2026-11-22T09:00", limit: "7", all: "on", other: "x" })).toEqual({
    id: ID,
    types: ["deleted", "created"],
    ids: [ID, ID],
    since: new Date("2026-11-22T09:00:00Z"),
    limit: 7,
    all: true,
  });
});

test("fields that a form does not have are absent", () => {
  expect(decode({ id: ID, "types.deleted": "on" })).toEqual({
    id: ID,
    types: ["deleted"],
    ids: [],
    limit: 50,
    all: false,
  });
});

test.each([
  [{ "types.created": "" }, "types", "Required"],
  [{ "types.created": "", "types.renamed": "on" }, "types/0", "Must be one of created, deleted"],
  [{ ids: `${ID} x` }, "ids", "Must be a UUID"],
  [{ since: "2026-11-22T09:00:00+01:00x" }, "since", "Must be a time such as 2026-11-22T09:00"],
  [{ limit: "many" }, "limit", "Must be a number"],
  [{ limit: "201" }, "limit", "Must be at most 200"],
  [{ all: "constructor" }, "all", "Must be true or false"],
  [{ id: "x" }, "id", "Must be a UUID"],
])("%j is wrong at the field %s", (changed, field, message) => {
  const given = Object.entries({ id: ID, "types.created": "on", ...changed }).filter(([, value]) => value !== "");
  expect(decode(Object.fromEntries(given))).toEqual([[field, message]]);
});

test("a schema that takes other fields gets them as they are", () => {
  expect(decode({ id: ID, "use.1": "on" }, [Params.catchall(z.string())])).toEqual({ id: ID, "use.1": "on" });
});
