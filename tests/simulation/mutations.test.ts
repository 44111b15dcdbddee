import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import type { Mutation } from "./mutations/mutation";

const modules = import.meta.glob("./mutations/*.ts", { eager: true }) as Record<string, { mutation?: Mutation }>;
const mutations = Object.entries(modules).flatMap(([file, { mutation }]) => (mutation ? [{ file, mutation }] : []));

test("there are at least 30 mutations, one a file", () => {
  expect(mutations.length).toBeGreaterThanOrEqual(30);
  expect(mutations).toHaveLength(readdirSync(path.join(import.meta.dirname, "mutations")).length - 1);
});

test.each(mutations)(
  "$file changes one place of the service as it is",
  ({ mutation: { file, search = "", replace, sql } }) => {
    if (file === undefined) return expect(sql).toBeTruthy();
    expect(readFileSync(file, "utf8").split(search)).toHaveLength(2);
    expect(replace).not.toBe(search);
  },
);
