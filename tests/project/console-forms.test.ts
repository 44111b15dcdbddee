import { expect, test } from "vitest";
import { FORM_OPERATIONS } from "@/app/forms/console/operations";
import type { AnyDeclaration } from "@/lib/operation";

type Operations = Record<string, Record<string, AnyDeclaration & { id?: string }>>;
// Without a type argument: Vitest must see the call as it is, to compile this file anew when a file is added.
const modules = import.meta.glob("/lib/**/operations.ts", { eager: true }) as Record<string, Operations>;

test("every operation with a form is one of the console, by its own id", () => {
  const declared = Object.values(modules).flatMap((exported) => Object.values(exported).flatMap(Object.values));
  const withForm = declared.flatMap(({ id, form }) => (form ? [id] : []));
  const listed = FORM_OPERATIONS.map(({ operation }) => operation.id);
  expect(withForm.length).toBeGreaterThan(30);
  expect(listed.filter((id) => id !== "forgetShownSecret").sort()).toEqual(withForm.sort());
  expect(new Set(listed).size).toBe(listed.length);
});

test("every form but these requires an admin", () => {
  const others = FORM_OPERATIONS.filter(({ operation }) => operation.role !== "admin");
  expect(others.map(({ operation: { id, role } }) => [id, role])).toEqual([
    ["endAccountSessions", "support"],
    ["endAccountSession", "support"],
    ["verifyVersion", "support"],
    ["forgetShownSecret", "support"],
  ]);
});
