import { expect, test } from "vitest";
import { isDatabaseUnavailable } from "@/lib/platform/database-errors";

const error = (marks: object) => Object.assign(new Error("x"), marks);

test.each([
  { code: "P1001" },
  { code: "EHOSTUNREACH" },
  { code: "57P01" },
  { code: "53100" },
  { code: "57014" },
  { code: "25P02" },
  { code: "ENOENT", syscall: "connect" },
  { cause: { originalCode: "08006" } },
  { meta: { driverAdapterError: { cause: { kind: "SocketTimeout" } } } },
  { message: "Query read timeout" },
])("%j means that the database is out of reach", (marks) => {
  expect(isDatabaseUnavailable(error(marks))).toBe(true);
});

test.each([{ code: "P2002" }, { code: "23505" }, { code: "ENOENT", syscall: "open" }, {}])("%j does not", (marks) => {
  expect(isDatabaseUnavailable(error(marks))).toBe(false);
});
