import { expect, test } from "vitest";
import { read, sourceFiles } from "@/tests/support/sources";

test("commands name operations by their ids, and no path or method", () => {
  const named = sourceFiles("scripts/homeport").flatMap((file) =>
    [...read(file).matchAll(/["`]\/api\/|method: "|\.request\(/g)].map(([text]) => `${file}: ${text}`),
  );
  expect(named).toEqual([]);
});
